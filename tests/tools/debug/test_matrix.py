"""Every action on every adapter: what works, and with which error the others answer, as data.

A cell that changes is a failure, also when it changes for the better: then the table, or what the
documents say, is to be put right.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.bridges.dap.manager import Declared
from app.tools.debug.parameters import ACTIONS
from tests.debug_adapters import adapter_path
from tests.tools.debug.debug_desk import debug_desk
from tests.tools.debug.every_action import WORKS, Subject, Walk, project_of
from tests.tools.debug.targets import by_port, by_process

PYTHON = sys.executable

SUBJECTS: Mapping[str, Subject] = {
    "debugpy": Subject(
        runtime="python",
        script="orders.py",
        endless="never_stops.py",
        custom=("pydevdSystemInfo", {}),
        target=by_port(PYTHON, "-m", "debugpy", "--listen", "127.0.0.1:{port}", "never_stops.py"),
    ),
    "lldb-dap": Subject(
        runtime="c",
        script="orders.c",
        endless="never_stops.c",
        pointer="&total",
        custom=("compileUnits", {"moduleId": "orders"}),
        target=by_process("./never_stops"),
    ),
    "gdb": Subject(
        runtime="c",
        script="orders.c",
        endless="never_stops.c",
        pointer="&total",
        custom=("loadedSources", {}),
        target=by_process("./never_stops"),
        arguments=("--interpreter=dap", "--quiet", "--nx"),
    ),
    "codelldb": Subject(
        runtime="c",
        script="orders.c",
        endless="never_stops.c",
        pointer="/nat &total",
        target=by_process("./never_stops"),
        arguments=(),
    ),
    "delve": Subject(
        runtime="go",
        script="main.go",
        endless="forever/main.go",
        pointer="&total",
        function="priceOf",
        target=by_process("forever/main", source="forever/main.go"),
    ),
}
"""By the adapter's name."""

NONE_THERE = "breakpoint_not_found"


def without(capability: str) -> str:
    """Return the cell of an action that an adapter does not offer."""
    return f"action_not_supported: {capability}"


CELLS: Mapping[str, Mapping[str, str]] = {
    "codelldb": {
        "loaded_sources": without("supportsLoadedSourcesRequest"),
        "custom_request": without("adapterInfo"),
    },
    "delve": {
        "data_breakpoint_info": without("supportsDataBreakpoints"),
        "set_data_breakpoint": without("supportsDataBreakpoints"),
        "remove_data_breakpoint": NONE_THERE,
        "read_memory": without("supportsReadMemoryRequest"),
        "write_memory": without("supportsWriteMemoryRequest"),
        "modules": without("supportsModulesRequest"),
        "loaded_sources": without("supportsLoadedSourcesRequest"),
        "custom_request": without("adapterInfo"),
    },
    "lldb-dap": {"loaded_sources": without("supportsLoadedSourcesRequest")},
    "gdb": {
        "data_breakpoint_info": without("supportsDataBreakpoints"),
        "set_data_breakpoint": without("supportsDataBreakpoints"),
        "remove_data_breakpoint": NONE_THERE,
    },
    "debugpy": {
        "set_instruction_breakpoint": without("supportsInstructionBreakpoints"),
        "remove_instruction_breakpoint": NONE_THERE,
        "data_breakpoint_info": without("supportsDataBreakpoints"),
        "set_data_breakpoint": without("supportsDataBreakpoints"),
        "remove_data_breakpoint": NONE_THERE,
        "disassemble": without("supportsDisassembleRequest"),
        "read_memory": without("supportsReadMemoryRequest"),
        "write_memory": without("supportsWriteMemoryRequest"),
        "loaded_sources": without("supportsLoadedSourcesRequest"),
    },
}


EVERYTHING = frozenset(ACTIONS)


def works_with(name: str) -> set[str]:
    """Return the actions that work with an adapter, by its cells."""
    return set(EVERYTHING - CELLS[name].keys())


@pytest.mark.requirement("R5.matrix.cells")
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_action_does_what_it_did(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]
    program = adapter_path(name)
    declared = []
    if subject.arguments is not None:
        declared = [Declared(runtime=subject.runtime, adapter=(str(program), *subject.arguments))]
    async with debug_desk(tmp_path, project_of(subject, tmp_path), declared=declared) as desk:
        walk = Walk(desk, subject)
        seen = await walk.everything()
    assert set(seen) == set(ACTIONS)
    expected = {**dict.fromkeys(ACTIONS, WORKS), **CELLS[name]}
    changed = {
        action: f"{expected[action]} -> {seen[action]} ({walk.why.get(action)})"
        for action in ACTIONS
        if seen[action] != expected[action]
    }
    assert not changed, "\n".join(f"{action}: {text}" for action, text in changed.items())


@pytest.mark.requirement("R5.matrix.all")
def test_each_of_the_actions_works_with_a_real_adapter() -> None:
    assert len(EVERYTHING) == 27
    assert works_with("lldb-dap") == EVERYTHING - {"loaded_sources"}
    assert "loaded_sources" in works_with("gdb")


def test_every_adapter_has_its_cells() -> None:
    assert CELLS.keys() == SUBJECTS.keys()
    for cells in CELLS.values():
        assert cells.keys() <= EVERYTHING
        assert WORKS not in cells.values()
