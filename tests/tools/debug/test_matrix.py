"""Every action on every adapter: what works, and with which error the others answer, as data.

Where a lock file chooses the adapter's release, a cell that changes is a failure, also when it changes for
the better: then the table, or what the documents say, is to be put right. An adapter of the system has any
release: there a cell is what the adapter said it could do when it was started.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.bridges.dap.capabilities import needed_for, request_of
from app.bridges.dap.manager import Declared
from app.tools.debug.parameters import ACTIONS
from tests.driver.debug_adapters import INSTALLED, ROOT, adapter_path, find_adapter
from tests.driver.debug_desk import debug_desk
from tests.tools.debug.every_action import KEPT, WORKS, Subject, Walk, project_of
from tests.tools.debug.every_breakpoint import KINDS, BreakpointWalk
from tests.tools.debug.targets import by_port, by_process

PYTHON = sys.executable
BUN = str(INSTALLED / "bin" / "bun")

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
        arguments=("--interpreter=dap", "--nx", "{script}"),
    ),
    "codelldb": Subject(
        runtime="c",
        script="orders.c",
        endless="never_stops.c",
        pointer="/nat &total",
        target=by_process("./never_stops"),
        arguments=(),
    ),
    "js-debug": Subject(
        runtime="node",
        script="orders.js",
        endless="never_stops.js",
        function="priceOf",
        third="i === 2",
        pointer="globalThis.bytes = new Uint8Array([7, 0, 0, 0])",
        number="bytes[0] + 256 * bytes[1]",
        custom=("getPerformance", {}),
        target=by_port("node", "--inspect=127.0.0.1:{port}", "never_stops.js"),
        exit_code=None,
    ),
    "bun": Subject(
        runtime="bun",
        script="orders.ts",
        endless="never_stops.ts",
        function="priceOf",
        third="i === 2",
        custom=("getPerformance", {}),
        target=by_port(BUN, "--preload", "./inspector.ts", "never_stops.ts", "{port}"),
        exit_code=None,
    ),
    "rdbg": Subject(
        runtime="ruby",
        script="orders.rb",
        endless="never_stops.rb",
        written="rounds = 0\nloop do\n  rounds += 1\n  sleep 0.001\nend\n",
        target=by_port(
            *(str(find_adapter("rdbg")), "--open", "--host", "127.0.0.1", "--port", "{port}"),
            *("--nonstop", "never_stops.rb"),
        ),
    ),
    "bash-dap": Subject(
        runtime="bash",
        script="orders.sh",
        endless="never_stops.sh",
        written="rounds=0\nwhile true; do\n  rounds=$((rounds + 1))\n  sleep 0.01\ndone\n",
        word="$total",
        round="$i",
        third='[ "$i" = 2 ]',
        logged="$i",
    ),
    "perl": Subject(
        runtime="perl",
        script="orders.pl",
        endless="never_stops.pl",
        written="my $rounds = 0;\nwhile (1) {\n    $rounds++;\n    select(undef, undef, undef, 0.001);\n}\n",
        word="$total",
        local="$total",
        named="main::price_of",
        round="$i",
        third="$i == 2",
    ),
    "java": Subject(
        runtime="java",
        script="Orders.java",
        endless="NeverStops.java",
        written="public class NeverStops {\n    public static void main(String[] args) throws Exception {\n"
        "        for (long rounds = 0; ; rounds++)\n            Thread.sleep(1);\n    }\n}\n",
        function="priceOf",
        target=by_port(
            "java",
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{port}",
            "NeverStops",
        ),
        arguments=("packages/adapter-java/java/JdiDapServer.java", "--port", "{port}"),
        build=("javac", "-g", "Orders.java", "NeverStops.java"),
    ),
    "delve": Subject(
        runtime="go",
        script="main.go",
        endless="forever/main.go",
        pointer="&total",
        function="priceOf",
        named="main.priceOf",
        target=by_process("forever/main", source="forever/main.go"),
    ),
}
"""By the adapter's name."""

NONE_THERE = "breakpoint_not_found"


def without(capability: str) -> str:
    """Return the cell of an action that an adapter does not offer."""
    return f"action_not_supported: {capability}"


NO_INSTRUCTIONS = {
    "set_instruction_breakpoint": without("supportsInstructionBreakpoints"),
    "remove_instruction_breakpoint": NONE_THERE,
}
NO_DATA = {
    "data_breakpoint_info": without("supportsDataBreakpoints"),
    "set_data_breakpoint": without("supportsDataBreakpoints"),
    "remove_data_breakpoint": NONE_THERE,
}
NO_ASSIGNMENT = {"set_variable": without("supportsSetVariable")}
NO_DISASSEMBLY = {"disassemble": without("supportsDisassembleRequest")}
NO_MEMORY = {
    "read_memory": without("supportsReadMemoryRequest"),
    "write_memory": without("supportsWriteMemoryRequest"),
}
NO_MODULES = {"modules": without("supportsModulesRequest")}
NO_SOURCES = {"loaded_sources": without("supportsLoadedSourcesRequest")}
NO_CUSTOM = {"custom_request": without("adapterInfo")}
NO_ATTACH = {"attach": without("attach by port")}
SCRIPTS = {**NO_INSTRUCTIONS, **NO_DATA, **NO_DISASSEMBLY}

CELLS: Mapping[str, Mapping[str, str]] = {
    "debugpy": {**SCRIPTS, **NO_MEMORY, **NO_SOURCES},
    "js-debug": {**SCRIPTS, **NO_MODULES},
    "bun": {**SCRIPTS, **NO_ASSIGNMENT, **NO_MEMORY, **NO_MODULES},
    "lldb-dap": NO_SOURCES,
    "codelldb": {**NO_SOURCES, **NO_CUSTOM},
    "gdb": NO_DATA,
    "delve": {**NO_DATA, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM},
    "rdbg": {**SCRIPTS, **NO_ASSIGNMENT, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM},
    "bash-dap": {
        **SCRIPTS,
        **NO_ASSIGNMENT,
        **NO_MEMORY,
        **NO_MODULES,
        **NO_SOURCES,
        **NO_CUSTOM,
        **NO_ATTACH,
    },
    "perl": {
        **SCRIPTS,
        **NO_ASSIGNMENT,
        **NO_MEMORY,
        **NO_MODULES,
        **NO_CUSTOM,
        **NO_ATTACH,
        "step_out": without("stepOut"),
    },
    "java": {**SCRIPTS, **NO_ASSIGNMENT, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM},
}
"""What does not work, by the adapter's name; every other action works."""

NO_COUNTS = {"hit_count": without("supportsHitConditionalBreakpoints")}
NO_LOGS = {"log_message": without("supportsLogPoints")}
NO_FUNCTIONS = {"function": without("supportsFunctionBreakpoints")}

KINDS_CELLS: Mapping[str, Mapping[str, str]] = {
    "debugpy": {},
    "js-debug": NO_FUNCTIONS,
    "bun": NO_FUNCTIONS,
    "lldb-dap": {},
    "codelldb": {},
    "gdb": {},
    "delve": {},
    "rdbg": {**NO_COUNTS, **NO_LOGS, **NO_FUNCTIONS},
    "bash-dap": {**NO_COUNTS, **NO_LOGS},
    "perl": {**NO_COUNTS, **NO_LOGS},
    "java": {**NO_COUNTS, **NO_LOGS},
}
"""What does not work of the kinds of breakpoints, by the adapter's name."""

OF_THE_SYSTEM = frozenset({"lldb-dap", "delve", "rdbg", "perl", "java"})
"""Adapters, or what they run on, of whatever release the system has."""

EVERYTHING = frozenset(ACTIONS)


def works_with(name: str) -> set[str]:
    """Return the actions that work with an adapter, by its cells."""
    return set(EVERYTHING - CELLS[name].keys())


@pytest.mark.requirement(
    "fresh_machine.probed",
    "debugger.matrix.cells",
    "debugger.tool.instructions",
    "debugger.real.js-debug",
    "debugger.real.rdbg",
    "debugger.real.bash",
    "debugger.real.perl",
)
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_action_does_what_it_did(name: str, tmp_path: Path) -> None:
    async with at_work(name, tmp_path) as walk:
        seen = await walk.everything()
    assert set(seen) == EVERYTHING
    expected = {**dict.fromkeys(ACTIONS, WORKS), **CELLS[name]}
    if name in OF_THE_SYSTEM:
        expected = as_offered(expected, walk.offers)
        if seen["remove_breakpoint"] == KEPT:
            expected["remove_breakpoint"] = KEPT
    compare(seen, expected, walk.why)


@pytest.mark.requirement(
    "debugger.matrix.cells", "debugger.capabilities.hits", "debugger.capabilities.breakpoints"
)
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_kind_of_breakpoint_stops_as_it_did(name: str, tmp_path: Path) -> None:
    async with at_work(name, tmp_path) as walk:
        program, _ = await walk.built()
        breakpoints = BreakpointWalk(walk, program)
        seen = await breakpoints.everything()
    expected = {**dict.fromkeys(KINDS, WORKS), **KINDS_CELLS[name]}
    if name in OF_THE_SYSTEM:
        expected = {kind: without(lacks) if lacks else WORKS for kind, lacks in breakpoints.lacks.items()}
    compare(seen, expected, breakpoints.why)


def as_offered(cells: Mapping[str, str], offers: Mapping[str, bool]) -> dict[str, str]:
    """Return the cells of an adapter that says what it can do."""
    found = dict(cells)
    for action, offered in offers.items():
        request, other = request_of(action), action.replace("set_", "remove_")
        if request is None or offered == (cells[action] == WORKS):
            continue
        found[action] = WORKS if offered else without(needed_for(request))
        if other != action and other in cells:
            found[other] = WORKS if offered else NONE_THERE
    return found


@asynccontextmanager
async def at_work(name: str, base: Path) -> AsyncIterator[Walk]:
    """Open a desk whose programs are debugged by one adapter."""
    subject, program = SUBJECTS[name], adapter_path(name)
    declared = []
    if subject.arguments is not None:
        declared = [Declared(runtime=subject.runtime, adapter=(str(program), *subject.arguments))]
    async with debug_desk(base, project_of(subject, base), declared=declared) as desk:
        yield Walk(desk, subject)


def compare(seen: Mapping[str, str], expected: Mapping[str, str], why: Mapping[str, str]) -> None:
    """Fail with every cell that has changed."""
    changed = [
        f"{cell}: {expected[cell]} -> {seen[cell]} ({why.get(cell)})"
        for cell in expected
        if seen[cell] != expected[cell]
    ]
    assert not changed, "\n".join(changed)


@pytest.mark.requirement("debugger.matrix.all")
def test_each_of_the_actions_works_with_a_real_adapter() -> None:
    assert len(EVERYTHING) == len(ACTIONS)
    assert works_with("lldb-dap") == EVERYTHING - {"loaded_sources"}
    assert "loaded_sources" in works_with("gdb")


def test_every_adapter_has_its_cells() -> None:
    assert CELLS.keys() == KINDS_CELLS.keys() == SUBJECTS.keys()
    for name, cells in CELLS.items():
        assert cells.keys() <= EVERYTHING
        assert KINDS_CELLS[name].keys() <= set(KINDS)
        assert WORKS not in {*cells.values(), *KINDS_CELLS[name].values()}


def test_the_documents_say_what_works_with_which() -> None:
    text = (ROOT / "docs" / "debugging.md").read_text()
    head, _, *rows = re.findall(
        r"^\|.*\|$", text.split("## What works with which")[1].split("\n## ")[0], re.M
    )
    names = [cell.strip().lower() for cell in head.strip("|").split("|")][1:]
    assert set(names) == {name.lower() for name in SUBJECTS}
    told: dict[str, set[str]] = {name: set() for name in names}
    for row in rows:
        actions, *cells = row.strip("|").split("|")
        for name, cell in zip(names, cells, strict=True):
            if cell.strip() != "yes":
                told[name] |= set(re.findall(r"`(\w+)`", actions))
    known = {name.lower(): {*CELLS[name], *KINDS_CELLS[name]} for name in SUBJECTS}
    assert told == known
