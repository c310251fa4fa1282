"""What a model is told when an adapter answers nonsense: always something, never too much of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.dap.manager import DebugLimits, Declared
from tests.driver.debug_adapters import ROOT
from tests.driver.debug_desk import DebugDesk, debug_desk
from tests.driver.loop_watch import LongestTurn

HOSTILE = ROOT / "tests" / "fakes" / "hostile_debug_adapter.py"
CAPABILITIES = (
    "supportsModulesRequest",
    "supportsLoadedSourcesRequest",
    "supportsDisassembleRequest",
    "supportsReadMemoryRequest",
    "supportsWriteMemoryRequest",
    "supportsDataBreakpoints",
    "supportsInstructionBreakpoints",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsSetVariable",
    "supportsExceptionInfoRequest",
)
KINDS = ("mixed", "objects", "far", "deep", "null", "number", "string", "list", "empty", "long", "many")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("stack_trace", {}),
    ("threads", {}),
    ("scopes", {}),
    ("variables", {}),
    ("variables", {"scope": "global"}),
    ("variables", {"expand": "user.name"}),
    ("variables", {"filter": "n"}),
    ("evaluate", {"expression": "line"}),
    ("evaluate", {"expression": "line", "context": "repl"}),
    ("set_breakpoint", {"path": "program.hostile", "line": 3}),
    ("set_breakpoint", {"path": "program.hostile", "line": 5, "condition": "x > 1"}),
    ("list_breakpoints", {}),
    ("set_instruction_breakpoint", {"instruction_reference": "0x1000"}),
    ("remove_instruction_breakpoint", {"instruction_reference": "0x1000"}),
    ("data_breakpoint_info", {"name": "line"}),
    ("set_data_breakpoint", {"data_id": "line", "access_type": "write"}),
    ("remove_data_breakpoint", {"data_id": "line"}),
    ("disassemble", {"memory_reference": "0x1000", "instruction_count": 5}),
    ("read_memory", {"memory_reference": "0x1000", "count": 16}),
    ("write_memory", {"memory_reference": "0x1000", "data": "AAAA"}),
    ("modules", {}),
    ("loaded_sources", {}),
    ("step_over", {}),
    ("step_into", {}),
    ("continue", {}),
    ("remove_breakpoint", {"path": "program.hostile", "line": 5}),
    ("step_out", {}),
    ("disconnect", {}),
)
MOST = 120_000
"""How many characters of nonsense a model may be told at most."""


@asynccontextmanager
async def nonsense(base: Path, *arguments: str) -> AsyncIterator[DebugDesk]:
    async with claiming(base, *arguments, capabilities=CAPABILITIES) as desk:
        yield desk


@asynccontextmanager
async def claiming(base: Path, *arguments: str, capabilities: Sequence[str]) -> AsyncIterator[DebugDesk]:
    claims = [word for name in capabilities for word in ("--claim", name)]
    log = str(base / "adapter.log")
    adapter = (sys.executable, "-I", str(HOSTILE), "--log", log, *claims, *arguments)
    declared = [Declared(runtime="hostile", adapter=adapter)]
    limits = DebugLimits(request_seconds=5, frame_seconds=2, disconnect_seconds=1)
    async with debug_desk(base, declared=declared, limits=limits) as desk:
        (desk.root / "program.hostile").write_text(
            "print one\nnothing\nprint three\nnothing\nnothing\nexit 3\n"
        )
        yield desk


async def told(desk: DebugDesk, action: str, params: dict[str, Any]) -> str:
    """Return what the model is told, which is an answer or a reason."""
    envelope = await desk.answer(action, **params)
    text = envelope.model_text()
    if envelope.type == "error" and "frame_id" not in text:
        assert envelope.code not in (None, "internal_error", "invalid_params"), (action, params, text)
    assert 0 < len(text) < MOST, (action, params, len(text))
    text.encode()
    return text


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize("kind", KINDS)
async def test_nonsense_is_answered_within_bounds(tmp_path: Path, kind: str) -> None:
    async with nonsense(tmp_path, "--wrong-types", "all", "--wrong", kind) as desk, asyncio.timeout(60):
        await told(desk, "launch", {"runtime": "hostile", "script": "program.hostile"})
        for action, params in CALLS:
            await told(desk, action, params)


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize(
    "way", [("--odd-refusals",), ("--wrong-events",), ("--wrong-capabilities",), ("--huge", "3000")]
)
async def test_odd_ways_are_answered_within_bounds(tmp_path: Path, way: tuple[str, ...]) -> None:
    async with nonsense(tmp_path, *way) as desk, asyncio.timeout(60):
        await told(desk, "launch", {"runtime": "hostile", "script": "program.hostile"})
        for action, params in CALLS:
            await told(desk, action, params)


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize(
    "way",
    [
        ("--huge", "3000"),
        ("--wrong-types", "all", "--wrong", "many"),
        ("--wrong-types", "all", "--wrong", "long"),
    ],
)
async def test_much_nonsense_lets_others_have_the_loop(tmp_path: Path, way: tuple[str, ...]) -> None:
    async with nonsense(tmp_path, *way) as desk, asyncio.timeout(60):
        await told(desk, "launch", {"runtime": "hostile", "script": "program.hostile"})
        for action, params in CALLS[:12]:
            longest = LongestTurn()
            await told(desk, action, params)
            assert longest.stop() < 1.0, (action, params)


@pytest.mark.requirement("debugger.capabilities.gate")
@pytest.mark.parametrize("lacks", ["supportsDataBreakpoints", "supportsDataBreakpointBytes", None])
async def test_an_address_is_sent_only_to_an_adapter_that_takes_it(tmp_path: Path, lacks: str | None) -> None:
    claimed = {*CAPABILITIES, "supportsDataBreakpointBytes"} - {lacks}
    async with claiming(tmp_path, capabilities=sorted(claimed)) as desk:
        await desk.debug("launch", runtime="hostile", script="program.hostile")
        envelope = await desk.answer("data_breakpoint_info", name="0x7ffe10", count=8)
        asked = [
            one["message"]["arguments"]
            for one in map(orjson.loads, (tmp_path / "adapter.log").read_bytes().splitlines())
            if one.get("message", {}).get("command") == "dataBreakpointInfo"
        ]
        if lacks is None:
            assert [(one["name"], one["bytes"], one["asAddress"]) for one in asked] == [("0x7ffe10", 8, True)]
        else:
            assert (envelope.code, asked) == ("action_not_supported", []), envelope
            assert envelope.detail["capability"] == lacks and lacks in envelope.error_text
            assert envelope.detail["adapter"] in envelope.error_text


@pytest.mark.requirement("fresh_machine.probed")
async def test_a_stop_at_a_removed_breakpoint_says_so_and_so_does_the_next_removal(tmp_path: Path) -> None:
    async with claiming(tmp_path, "--keeps-breakpoints", capabilities=()) as desk, asyncio.timeout(60):
        for line in (3, 5):
            await desk.debug("set_breakpoint", path="program.hostile", line=line)
        await desk.debug("launch", runtime="hostile", script="program.hostile")
        gone = await desk.debug("remove_breakpoint", path="program.hostile", line=3)
        assert "note" not in gone
        stopped = await desk.debug("continue")
        assert stopped["location"]["line"] == 3
        assert "The breakpoint here was removed" in stopped["note"]
        assert "until the program is launched again" in stopped["note"]
        gone = await desk.debug("remove_breakpoint", path="program.hostile", line=5)
        assert "has stopped at a removed breakpoint before" in gone["note"]
        await desk.debug("set_breakpoint", path="program.hostile", line=5)
        stopped = await desk.debug("continue")
        assert stopped["location"]["line"] == 5
        assert "note" not in stopped
