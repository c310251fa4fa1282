"""The real debug adapters that tests drive, where `.ci/debug-adapters` has put them, and the small programs
that they debug.

An adapter that could not be had on this machine skips the test that asks for it; in CI that is a failure.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.bridges.dap.manager import DebugLimits
from tests.driver.machine import TOOLS, Lack, starts

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".debug-adapters"
FIXTURES = ROOT / "tests" / "fixtures" / "debug"

PATIENT = DebugLimits(
    launch_seconds=110.0, initialize_seconds=100.0, request_seconds=100.0, frame_seconds=60.0
)
"""For real adapters, on machines however slow."""

_OWN = INSTALLED / "bin"
_COMPILERS = ROOT / ".language-servers" / "bin"
_SYSTEM = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "debugpy": (str(ROOT / ".venv" / "bin" / "python"),),
    "js-debug": (str(_OWN / "js-debug-adapter"),),
    "bun": (str(_OWN / "bun"),),
    "lldb-dap": ("lldb-dap-22", "lldb-dap"),
    "codelldb": (str(_OWN / "codelldb"),),
    "gdb": (str(_OWN / "gdb"),),
    "delve": (str(_OWN / "dlv"),),
    "rdbg": ("rdbg", "rdbg3.1", "rdbg3.3"),
    "bash-dap": (str(_OWN / "bash-dap"),),
    "perl": ("perl",),
    "java": (str(_OWN / "mcp-debugger"),),
}
_PERL_HAS_IT = ("perl", "-e", 'exit !grep { -e "$_/Perl/LanguageServer.pm" } @INC')
_BUILDS: dict[str, tuple[str, ...]] = {
    ".c": ("gcc", "-g", "-O0", "-pthread"),
    ".cpp": ("g++", "-g", "-O0", "-pthread"),
    ".rs": ("rustc", "-g", "-C", "opt-level=0"),
    ".go": ("go", "build", "-gcflags", "all=-N -l"),
}

ADAPTERS = tuple(_PROGRAMS)
"""The adapters by name; `bun` is the runtime, which js-debug debugs."""

PORTS = re.compile(r"(?:listening|running|deaf|child) (\d+)")
"""What a fixture program says of its port, or of its own or its child's process id."""


def find_adapter(name: str) -> Path | None:
    """Return the program of one of `ADAPTERS`, absolute, or None where it is not installed."""
    there = (path for each in _PROGRAMS[name] if (path := shutil.which(each)))
    found = next((Path(path) for path in there if starts(path, "--help")), None)
    if name == "bun" and find_adapter("js-debug") is None:
        return None
    if name == "perl" and found and subprocess.run(_PERL_HAS_IT, check=False).returncode:
        return None
    return found


def adapter_path(name: str) -> Path:
    """Return the program of one of `ADAPTERS`, absolute; skips the test where it is not installed."""
    found = find_adapter(name)
    if found is None:
        pytest.skip(str(Lack(f"the debug adapter {name}", "it does not start here", TOOLS)))
    return found


def runner_packages() -> Path:
    """Return the folder of packages that has the test runners vitest and jest; skips the test where they are
    not installed."""
    found = INSTALLED / "runners" / "node_modules"
    if not all((found / name / "package.json").is_file() for name in ("vitest", "jest")):
        pytest.skip(str(Lack("the test runners vitest and jest", "not installed", TOOLS)))
    return found


def put_runners(root: Path) -> None:
    """Give a project the packages of the runners in its own folder, where a cage shows them."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # on another file system
            shutil.copy2(source, target)

    shutil.copytree(runner_packages(), root / "node_modules", symlinks=True, copy_function=link)


def debug_environment(home: Path, *, path: tuple[Path, ...] = ()) -> dict[str, str]:
    """Return the environment for a daemon or an adapter in tests: every adapter on the PATH, nothing of the
    network, and HOME the folder `home` (made). Folders of `path` go first on the PATH. What Go has compiled
    is kept from test to test: its standard library, built to be debugged, takes long."""
    home.mkdir(parents=True, exist_ok=True)
    folders = (*path, _OWN, _COMPILERS, *_SYSTEM)
    return {
        "PATH": os.pathsep.join(str(folder) for folder in dict.fromkeys(folders)),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "GOCACHE": str(INSTALLED / "go-build"),
        "GOPATH": str(home / "go"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "CGO_ENABLED": "0",
    }


def copy_of(runtime: str, to: Path, *, name: str | None = None) -> Path:
    """Copy the fixture programs of one runtime (a folder of tests/fixtures/debug) and return their folder,
    `name` in `to`, which does not exist yet."""
    root = to / (name or runtime)
    shutil.copytree(FIXTURES / runtime, root, symlinks=True)
    return root


def line_of(path: Path, mark: str) -> int:
    """Return the line, counted from 1, of the file that has `stop: MARK` in a comment."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(rf"stop: {mark}\b", line))


def built(source: Path, *flags: str) -> Path:
    """Compile a source file (C, C++, Rust; Go by its folder's main.go) to be debugged and return the program,
    beside it; skips the test where the compiler is absent."""
    command = _BUILDS[source.suffix]
    environment = debug_environment(source.parent)
    compiler = shutil.which(command[0], path=environment["PATH"])
    if compiler is None:
        pytest.skip(str(Lack(f"the compiler {command[0]}", "not installed", TOOLS)))
    program = source.with_suffix("")
    what = "." if source.suffix == ".go" else str(source)
    words = [compiler, *command[1:], *flags, "-o", str(program), what]
    subprocess.run(words, cwd=source.parent, env=environment, check=True, capture_output=True, timeout=300)
    return program


@functools.cache
def warm_go(home: Path) -> None:
    """Compile Go's standard library to be debugged, so that the first launch of a test does not wait."""
    built(copy_of("go", home, name="warm") / "main.go")


def python_program() -> Path:
    """Return the interpreter that runs the tests, which has debugpy."""
    return Path(sys.executable)
