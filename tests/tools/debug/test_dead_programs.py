"""Programs that are dead before they can be debugged: the answer comes at once, with their last output.

An adapter that waits for such a program would answer after a minute, and without it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import DebugLimits, Declared
from app.tools.contract.call import ToolEnvelope
from tests.driver.debug_adapters import adapter_path, built
from tests.driver.debug_desk import DebugDesk, debug_desk

LIMITS = DebugLimits(launch_seconds=50)
"""Less than a minute, and more than any of these programs needs."""
WORDS = "there is nothing to run here"
RUN = {"stop_on_entry": False, "exceptions": "none"}


def script(path: Path, code: int) -> None:
    """Put an interpreter that ends at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{WORDS}'\nexit {code}\n")
    path.chmod(0o755)


def without_library(path: Path) -> None:
    """Put a program one of whose shared libraries is gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    library = path.with_name("libgone.so")
    library.with_suffix(".c").write_text("int gone(void) { return 0; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", library, library.with_suffix(".c")], check=True, capture_output=True
    )
    source = path.with_suffix(".c")
    source.write_text("int gone(void);\nint main(void) {\n  return gone();\n}\n")
    made = built(source, f"-L{path.parent}", "-Wl,--no-as-needed", str(library))
    made.rename(path)
    library.unlink()


def without_standard_library(path: Path) -> None:
    """Put the interpreter of an environment whose Python has been removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nPYTHONHOME=/nowhere exec {sys.executable} "$@"\n')
    path.chmod(0o755)


def killed(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nkill -9 $$\n")
    path.chmod(0o755)


BROKEN: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "exits-at-once": (partial(script, code=3), 3, WORDS),
    "killed": (killed, 137, ""),
    "missing-library": (without_library, 127, "libgone.so"),
    "broken-venv": (without_standard_library, 1, "encodings"),
}


def exit_code(failed: ToolEnvelope) -> Any:
    assert failed.detail is not None
    return failed.detail["exit_code"]


@asynccontextmanager
async def desk_of(tmp_path: Path, *declared: Declared) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path, declared=declared, limits=LIMITS) as desk:
        desk.put("app.py", "print('never run')\n")
        yield desk


@pytest.mark.requirement("debugger.failure.dead")
@pytest.mark.parametrize(("put", "code", "words"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("action", ["launch", "why"])
async def test_an_interpreter_of_python_that_dies_at_its_start(
    tmp_path: Path, action: str, put: Callable[[Path], None], code: int, words: str
) -> None:
    async with desk_of(tmp_path) as desk:
        put(desk.root / ".venv" / "bin" / "python")
        call: dict[str, Any] = {"runtime": "python", "script": "app.py", **RUN}
        if action == "why":
            call = {"command": "python app.py"}
        failed = await desk.refused(action, **call, timeout=100_000)
        assert (failed.code, exit_code(failed)) == ("debug_launch_failed", code), failed
        text = failed.model_text()
        assert words in text and f"ended before it could be debugged (exit code {code})" in text
        assert desk.debuggers.active == 0


@pytest.mark.requirement("debugger.failure.dead")
async def test_a_program_of_python_that_dies_after_its_launcher(tmp_path: Path) -> None:
    """The launcher runs without the interpreter's own options."""
    async with desk_of(tmp_path) as desk:
        failed = await desk.refused("why", command="python -Z app.py", timeout=100_000)
        assert (failed.code, exit_code(failed)) == ("debug_launch_failed", 2), failed
        assert "nknown option" in failed.model_text() and "never run" not in failed.model_text()
        assert (await desk.debug("launch", runtime="python", script="app.py", **RUN))["exit_code"] == 0


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.failure.dead")
async def test_likewise_in_a_cage(tmp_path: Path) -> None:
    async with desk_of(tmp_path) as desk:
        script(desk.root / "tools" / "python", 3)
    async with debug_desk(
        tmp_path / "caged",
        desk.root,
        declared=[Declared(runtime="python", command=("tools/python",))],
        limits=LIMITS,
    ) as opened:
        caged = opened.caged(("ro", "."), capabilities=["exec"])
        assert isinstance(caged, DebugDesk)
        failed = await caged.refused("launch", runtime="python", script="app.py", **RUN, timeout=100_000)
        assert (failed.code, exit_code(failed)) == ("debug_launch_failed", 3), failed
        assert WORDS in failed.model_text()


@pytest.mark.requirement("debugger.failure.dead")
@pytest.mark.parametrize(
    ("adapter", "runtime", "name"),
    [
        ("js-debug", "node", "app.js"),
        ("bun", "bun", "app.ts"),
        ("rdbg", "ruby", "app.rb"),
        ("bash-dap", "bash", "app.sh"),
    ],
    ids=["node", "bun", "ruby", "bash"],
)
async def test_other_interpreters_that_die_at_their_start(
    tmp_path: Path, adapter: str, runtime: str, name: str
) -> None:
    adapter_path(adapter)
    async with desk_of(tmp_path, Declared(runtime=runtime, command=("tools/broken",))) as desk:
        script(desk.root / "tools" / "broken", 3)
        desk.put(name, "1\n")
        answer = await desk.answer(
            "launch", runtime=runtime, script=name, stop_on_entry=False, timeout=100_000
        )
        text = answer.model_text()
        assert WORDS in text, text
        assert desk.debuggers.active == 0 or answer.data["status"] == "exited", text


@pytest.mark.requirement("debugger.failure.dead")
@pytest.mark.parametrize(
    ("adapter", "runtime"),
    [("lldb-dap", "c"), ("codelldb", "c"), ("gdb", "c"), ("delve", "go")],
    ids=["lldb-dap", "codelldb", "gdb", "delve"],
)
async def test_built_programs_that_die_before_their_first_line(
    tmp_path: Path, adapter: str, runtime: str
) -> None:
    program = adapter_path(adapter)
    options = {"gdb": ("--interpreter=dap", "--nx", "{script}"), "codelldb": ()}
    declared = (
        [Declared(runtime=runtime, adapter=(str(program), *options[adapter]))] if adapter in options else []
    )
    async with desk_of(tmp_path, *declared) as desk:
        without_library(desk.root / "app")
        answer = await desk.answer("launch", runtime=runtime, script="app", **RUN, timeout=100_000)
        text = answer.model_text()
        assert "127" in text and "libgone.so" in text, text
