"""The real language servers that tests drive, where `.ci/language-servers` has put them.

A server that could not be had on this machine skips the test that asks for it; in CI that is a failure.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import orjson
import pytest

from app.bridges.lsp.manager import ServerLimits
from tests.driver.machine import TOOLS, Lack, starts

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = (ROOT / ".language-servers").resolve()  # a cage has the real names of folders only
FIXTURES = ROOT / "tests" / "fixtures" / "code"

PATIENT = ServerLimits(
    initialize_seconds=180.0,
    request_seconds=180.0,
    start_seconds=300.0,
    wait_seconds=180.0,
    load_seconds=300.0,
)
"""Real servers start and load as slowly as the machine lets them: what is too long is for pytest to tell."""

VUE_3 = INSTALLED / "vue3" / "node_modules"
"""The server of Vue of release 3 with what it needs, and Vue itself."""
_OWN = INSTALLED / "bin"
_NPM = INSTALLED / "npm" / "node_modules" / ".bin"
_TYPESCRIPT_7 = INSTALLED / "typescript7" / "node_modules" / ".bin"
_PLACES: dict[str, tuple[Path, ...]] = {
    "pyright": (_NPM / "pyright-langserver",),
    "basedpyright": (ROOT / ".venv" / "bin" / "basedpyright-langserver",),
    "typescript-language-server": (_NPM / "typescript-language-server",),
    "typescript-7": (_TYPESCRIPT_7 / "tsc",),
    "gopls": (_OWN / "gopls",),
    "rust-analyzer": (_OWN / "rust-analyzer",),
    "clangd": (),
    "bash": (_NPM / "bash-language-server",),
    "yaml": (_NPM / "yaml-language-server",),
    "json": (_NPM / "vscode-json-language-server",),
    "css": (_NPM / "vscode-css-language-server",),
    "html": (_NPM / "vscode-html-language-server",),
    "svelte": (_NPM / "svelteserver",),
    "php": (_NPM / "intelephense",),
    "vue": (_NPM / "vue-language-server",),
    "sql": (_OWN / "sqruff",),
    "vue-3": (VUE_3 / ".bin" / "vue-language-server",),
}
_ARGUMENTS = {
    "gopls": (),
    "rust-analyzer": (),
    "typescript-7": ("--lsp", "--stdio"),
    "bash": ("start",),
    "sql": ("lsp",),
}
_CLANGD = (
    "clangd",
    "clangd-19",
    "clangd-20",
    "clangd-18",
    "clangd-17",
    "clangd-16",
    "clangd-15",
    "clangd-14",
)

SERVERS = tuple(_PLACES)


def find_server(name: str) -> Path | None:
    """Return the program of one of `SERVERS`, absolute, or None where it is not installed."""
    places = _PLACES[name]
    if name == "clangd":
        places = tuple(Path(found) for program in _CLANGD if (found := shutil.which(program)))
    return next((place for place in places if starts(str(place), "--version")), None)


def server_path(name: str) -> Path:
    """Return the program of one of `SERVERS`, absolute; skips the test where it is not installed."""
    found = find_server(name)
    if found is None:
        pytest.skip(str(Lack(f"the language server {name}", "it does not start here", TOOLS)))
    return found


def server_command(name: str) -> tuple[str, ...]:
    """Return the program and the arguments with which it speaks over its standard streams."""
    return (str(server_path(name)), *_arguments(name))


def server_environment(home: Path, *, path: tuple[Path, ...] = ()) -> dict[str, str]:
    """Return the environment for a daemon or a server in tests: all servers on the PATH, nothing of the
    network, and the caches below `home` (made). Folders of `path` go first on the PATH."""
    home.mkdir(parents=True, exist_ok=True)
    folders = (*path, _OWN, _NPM, *(Path(entry) for entry in os.defpath.split(os.pathsep) if entry))
    usual = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))
    return {
        "PATH": os.pathsep.join(str(folder) for folder in dict.fromkeys((*folders, *usual))),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "CARGO_HOME": str(home / ".cargo"),
        "CARGO_NET_OFFLINE": "true",
        "GOCACHE": str(home / ".cache" / "go-build"),
        "GOPATH": str(home / "go"),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "CGO_ENABLED": "0",
    }


def copy_of(language: str, to: Path, *, name: str | None = None) -> Path:
    """Copy the fixture project of one language (a folder of tests/fixtures/code) and return its root,
    the folder `name` in `to`, which does not exist yet."""
    root = to / (name or language)
    shutil.copytree(FIXTURES / language, root, symlinks=True)
    flags = root / "compile_flags.txt"
    if flags.exists():
        # clangd indexes the files that this names, by absolute paths.
        words = ["c++", *flags.read_text().split(), "-c"]
        entries = [
            {"directory": str(root), "file": str(file), "arguments": [*words, str(file)]}
            for file in sorted(root.glob("src/*.cpp"))
        ]
        (root / "compile_commands.json").write_bytes(orjson.dumps(entries))
    return root


def _arguments(name: str) -> tuple[str, ...]:
    return () if name == "clangd" else _ARGUMENTS.get(name, ("--stdio",))
