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
    "js-debug": Subject(
        runtime="node",
        script="orders.js",
        endless="never_stops.js",
        function="priceOf",
        pointer="globalThis.bytes = new Uint8Array([7, 0, 0, 0])",
        number="bytes[0] + 256 * bytes[1]",
        custom=("getPerformance", {}),
        target=by_port("node", "--inspect=127.0.0.1:{port}", "never_stops.js"),
        exit_code=None,
    ),
    "rdbg": Subject(
        runtime="ruby",
        script="orders.rb",
        endless="never_stops.rb",
        written="rounds = 0\nloop do\n  rounds += 1\n  sleep 0.001\nend\n",
        target=by_port(
            *("rdbg3.1", "--open", "--host", "127.0.0.1", "--port", "{port}", "--nonstop", "never_stops.rb")
        ),
    ),
    "bash-dap": Subject(
        runtime="bash",
        script="orders.sh",
        endless="never_stops.sh",
        written="rounds=0\nwhile true; do\n  rounds=$((rounds + 1))\n  sleep 0.01\ndone\n",
        word="$total",
    ),
    "perl": Subject(
        runtime="perl",
        script="orders.pl",
        endless="never_stops.pl",
        written="my $rounds = 0;\nwhile (1) {\n    $rounds++;\n    select(undef, undef, undef, 0.001);\n}\n",
        word="$total",
        local="$total",
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
    "lldb-dap": NO_SOURCES,
    "codelldb": {**NO_SOURCES, **NO_CUSTOM},
    "gdb": NO_DATA,
    "delve": {**NO_DATA, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM},
    "rdbg": {
        **SCRIPTS,
        **NO_MEMORY,
        **NO_MODULES,
        **NO_SOURCES,
        **NO_CUSTOM,
        "remove_breakpoint": "rdbg goes on stopping there until the program is launched again.",
    },
    "bash-dap": {**SCRIPTS, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM, **NO_ATTACH},
    "perl": {
        **SCRIPTS,
        **NO_MEMORY,
        **NO_MODULES,
        **NO_CUSTOM,
        **NO_ATTACH,
        "step_out": without("stepOut"),
    },
    "java": {**SCRIPTS, **NO_MEMORY, **NO_MODULES, **NO_SOURCES, **NO_CUSTOM},
}
"""What does not work, by the adapter's name; every other action works."""

EVERYTHING = frozenset(ACTIONS)


def works_with(name: str) -> set[str]:
    """Return the actions that work with an adapter, by its cells."""
    return set(EVERYTHING - CELLS[name].keys())


@pytest.mark.requirement(
    "R5.matrix.cells",
    "R5.tool.instructions",
    "R5.real.js-debug",
    "R5.real.rdbg",
    "R5.real.bash",
    "R5.real.perl",
)
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
