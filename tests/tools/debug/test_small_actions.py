"""Input, assignment, conditions and lines: what makes single actions of `debug` do what is expected."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import Declared
from app.bridges.dap.program_input import ProgramInput
from app.tools.debug.imported_names import imported_names
from tests.driver.debug_adapters import adapter_path, built
from tests.driver.debug_desk import DebugDesk, debug_desk
from tests.tools.debug.targets import by_process

C_READER = r"""#include <stdio.h>
int main(void) {
  char s[9];
  s[fread(s, 1, 8, stdin)] = 0;
  printf("\"%s\"\n", s);
  return 0;
}
"""
NODE_READER = """const fs = require("fs");
let text = fs.readFileSync(0, "utf8");
console.log(JSON.stringify(text));
"""
READER = {
    "python": (
        "reader.py",
        "import os, sys\nfrom json import dumps\n\ntext = sys.stdin.read()\nprint(dumps(text))\n",
    ),
    "node": ("reader.js", NODE_READER),
    "c": ("reader.c", C_READER),
}
CAGE: dict[str, Any] = {"capabilities": ["exec", "shell"]}
QUIET = {"stop_on_entry": False}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path) as opened:
        for name, text in READER.values():
            opened.put(name, text)
        yield opened


@pytest.mark.requirement("debugger.launch.input")
@pytest.mark.parametrize(
    ("runtime", "adapter"), [("python", "debugpy"), ("node", "js-debug"), ("c", "lldb-dap")]
)
async def test_a_program_reads_its_input(
    desk: DebugDesk, runtime: str, adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter_path(adapter)
    kept, keep = [], ProgramInput.keep

    async def noted(self: ProgramInput, text: str) -> str:
        kept.append(Path(path := await keep(self, text)))
        assert kept[0].read_text() == "one two"
        return path

    monkeypatch.setattr(ProgramInput, "keep", noted)
    script = READER[runtime][0]
    if runtime == "c":
        script = built(desk.root / script).name
    ended = await desk.debug("launch", runtime=runtime, script=script, input="one two", **QUIET)
    assert (ended["status"], ended["output"]) == ("exited", '"one two"\n')
    await desk.debug("disconnect")
    assert len(kept) == 1 and not kept[0].exists()


@pytest.mark.requirement("debugger.launch.input")
async def test_gdb_gives_input_and_what_cannot_is_refused(tmp_path: Path) -> None:
    command = (str(adapter_path("gdb")), "--interpreter=dap", "--quiet", "--nx")
    for name, options in (("gives", ("{gdb_options}", "{script}")), ("refuses", ("{script}",))):
        declared = [Declared(runtime="c", adapter=(*command, *options))]
        async with debug_desk(tmp_path / name, declared=declared) as desk:
            desk.put(*READER["c"])
            script = built(desk.root / "reader.c").name
            answer = await desk.answer("launch", runtime="c", script=script, input="one", **QUIET)
            if name == "gives":
                assert answer.data["output"] == '"one"\n'
            else:
                assert answer.code == "action_not_supported" and "file" in answer.error_text


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.launch.input", "debugger.launch.folder", "debugger.set_variable")
async def test_a_caged_launch_finds_its_folder_and_gets_its_input(desk: DebugDesk) -> None:
    desk.put("src/app/tell.py", "import os, sys\nx = sys.stdin.read()\nprint(os.getcwd(), x)\n")
    caged = desk.caged(("ro", "src"), **CAGE)
    refused = await caged.refused("launch", runtime="python", script="src/app/tell.py", cwd=".")
    assert refused.code == "capability_denied"
    await caged.debug("set_breakpoint", path="src/app/tell.py", line=3, condition="x")
    stopped = await caged.debug("launch", runtime="python", script="src/app/tell.py", input="in", **QUIET)
    assert [one["name"] for one in stopped["changed"]] == ["x"]
    await caged.debug("set_variable", name="x", value="'out'")
    ended = await caged.debug("continue")
    assert ended["output"] == f"{desk.root / 'src'} out\n"


@pytest.mark.requirement("debugger.changed.imports", "debugger.set_variable")
async def test_imports_are_no_changes_and_a_variable_gets_another_value(desk: DebugDesk) -> None:
    await desk.debug("launch", runtime="python", script="reader.py", input="one")
    for line in (2, 4):
        found = await desk.debug("step_over")
        assert found["location"]["line"] == line and "changed" not in found
    found = await desk.debug("step_over")
    assert [one["name"] for one in found["changed"]] == ["text"]
    assert await desk.debug("set_variable", name="text", value="[1, 2]") == {
        "result": "[1, 2]", "was": "'one'", "type": "list", "expandable": True
    }  # fmt: skip
    await desk.debug("set_variable", name="text[1]", value="'b'")
    assert (await desk.refused("set_variable", name="txet", value="1")).detail["closest"] == ["text"]
    assert (await desk.refused("set_variable", name="text", value="1 +")).code == "invalid_params"
    same = await desk.debug("set_variable", name="text[0]", value="1  # as it was")
    assert (same["result"], same["was"]) == ("1", "1") and "note" not in same
    failed = await desk.refused("set_variable", name="text", value="1 / 0")
    assert failed.code == "debug_request_failed" and "ZeroDivisionError" in failed.error_text
    kept = await desk.debug("evaluate", expression="[one for one in vars(sys) if 'kaged' in one]")
    assert kept["result"] == "[]"
    ended = await desk.debug("continue")
    assert (ended["output"], ended["exit_code"]) == ('[1, "b"]\n', 0)


def test_the_names_that_imports_bind() -> None:
    python = "import os.path, json as j\nfrom a import (b,\n  c as d)\nx = 1\n"
    assert imported_names(python, ".py") == {"os", "j", "b", "d"}
    script = (
        "import a, { b as c, d } from 'm';\nimport * as e from \"n\";\nconst f = require('f');\n"
        "const { g, h: i } = require('g');\nconst x = g(1);\n"
    )
    found = imported_names(script, ".ts")
    assert {"a", "c", "d", "e", "f", "g", "i"} <= found and not found & {"x", "b", "h"}
    assert imported_names("import os", ".go") == imported_names("def (", ".py") == frozenset()


@pytest.mark.requirement("debugger.breakpoint.line", "debugger.breakpoint.condition")
async def test_lines_and_conditions_are_checked_when_they_are_set(desk: DebugDesk) -> None:
    desk.put("main.go", "package main\n\nfunc main() {\n\tprintln(1)\n}\n")
    refused = await desk.refused("set_breakpoint", path="reader.py", line=6)
    assert refused.code == "invalid_params" and "5 lines" in refused.detail["fields"]["line"]
    for path, wrong, right in (
        ("reader.py", "text ==", "text == 'a' and len(text) > 1"),
        ("reader.js", "text === === 1", "text?.length === 2 && !done"),
        ("main.go", "x = = 1", "x.y[2] == 1 || len(s) > 3"),
        ("reader.c", "(s[0]", "p->next != 0 && *s == 'a'"),
    ):
        refused = await desk.refused("set_breakpoint", path=path, line=3, condition=wrong)
        assert list(refused.detail["fields"]) == ["condition"], path
        made = await desk.debug("set_breakpoint", path=path, line=3, condition=right)
        assert made["condition"] == right
    assert len((await desk.debug("list_breakpoints"))["breakpoints"]) == 4


@pytest.mark.requirement("debugger.attach.pid")
async def test_a_python_program_is_attached_to_by_its_process(desk: DebugDesk) -> None:
    """debugpy brings itself into the program by gdb."""
    adapter_path("gdb")
    desk.put(
        "turns.py",
        "import time\nprint('running', flush=True)\nrounds = 0\nwhile True:\n    rounds += 1\n"
        "    time.sleep(0.01)\n",
    )
    async with AsyncExitStack() as stack:
        target = await by_process(sys.executable, "turns.py")(desk.root, stack)
        begun = await desk.debug("attach", runtime="python", **target.where)
        assert begun["status"] == "running"
        stopped = await desk.debug("pause")
        assert stopped["location"]["path"] == "./turns.py"
        assert int(await desk.value("rounds")) > 0
        left = await desk.debug("disconnect")
        assert left["debuggee_terminated"] is False and await target.runs()
