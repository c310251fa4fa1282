"""Whole stories on TypeScript programs that Bun runs, by js-debug: lines, variables, an exception, a child
process, a running server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.driver.debug_adapters import adapter_path, copy_of, line_of
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives
from tests.driver.ports import steady_port
from tests.tools.debug.targets import asked, listening

RUN = {"runtime": "bun", "stop_on_entry": False}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    """A project of the Bun fixture programs."""
    adapter_path("bun")
    async with debug_desk(tmp_path, copy_of("bun", tmp_path)) as opened:
        yield opened


async def names(desk: DebugDesk, scope: str) -> set[str]:
    """Return the names in the scopes of a kind, where the program stands."""
    return {one["name"] for one in (await desk.debug("variables", scope=scope))["variables"]}


@pytest.mark.requirement("debugger.order.before")
@pytest.mark.parametrize("above", ["", "\n", "\n\n", "// One.\n\ninterface None {}\n"])
async def test_breakpoints_before_the_launch_are_met_wherever_lines_move_to(
    desk: DebugDesk, above: str
) -> None:
    """What Bun runs has no empty lines, comments and types: there each line is another."""
    text = (
        f"{above}const one: number = 1;\nconst two = one + 1;\nconst three = two + 1;\nconsole.log(three);\n"
    )
    desk.put("lines.ts", text)
    wanted = [number for number, line in enumerate(text.splitlines(), 1) if "two" in line or "(three" in line]
    for line in wanted:
        await desk.debug("set_breakpoint", path="lines.ts", line=line)
    met = []
    found = await desk.debug("launch", script="lines.ts", **RUN)
    while found["status"] == "stopped":
        met.append(found["location"]["line"])
        found = await desk.debug("continue")
    assert met == wanted
    assert "3" in found["output"]


LINES = "// None.\nconst one = 1;\nconst two = one + 1;\nconsole.log(two);\n"
REQUIRES = (
    'const fs = require("node:fs");\nconst one = 1;\nconst two = one + 1;\nconsole.log(two, typeof fs);\n'
)
EXPORTS = "const one = 1;\nconst two = one + 1;\nmodule.exports = { two };\nconsole.log(two);\n"


@pytest.mark.requirement("debugger.order.before", "debugger.real.js-debug")
@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("lines.ts", LINES, 3),
        ("command.ts", f"#!/usr/bin/env bun\n{LINES}", 3),
        ("lines.tsx", LINES, 4),
        ("requires.ts", REQUIRES, 2),
        ("exports.ts", EXPORTS, 2),
        ("exports.cts", EXPORTS, 2),
        ("lines.js", LINES.replace("// None.\n", ""), 2),
        ("exports.cjs", EXPORTS, 2),
    ],
)
async def test_the_stop_on_entry_comes_before_the_breakpoints_of_the_program(
    desk: DebugDesk, name: str, text: str, place: int
) -> None:
    """Bun binds one breakpoint at a place, and js-debug has one of its own at the beginning of the file."""
    desk.put(name, text)
    await desk.debug("set_breakpoint", path=name, line=place)
    found = await desk.debug("launch", runtime="bun", script=name)
    assert (found["stopped_reason"], found["location"]["line"]) == ("entry", 1), found
    assert "breakpoint_id" not in found
    [listed] = (await desk.debug("list_breakpoints"))["breakpoints"]
    assert (listed["line"], listed["verified"]) == (place, True)
    found = await desk.debug("continue")
    assert (found["location"]["line"], found["breakpoint_id"]) == (place, 1), found
    found = await desk.debug("continue")
    assert (found["status"], "2" in found["output"]) == ("exited", True), found


@pytest.mark.requirement("debugger.order.before")
async def test_a_breakpoint_on_the_first_line_is_the_stop_on_entry(desk: DebugDesk) -> None:
    desk.put("lines.ts", "const one: number = 1;\nconst two = one + 1;\nconsole.log(two);\n")
    await desk.debug("set_breakpoint", path="lines.ts", line=1)
    await desk.debug("set_breakpoint", path="lines.ts", line=3)
    found = await desk.debug("launch", runtime="bun", script="lines.ts")
    assert (found["stopped_reason"], found["breakpoint_id"]) == ("breakpoint", 1)
    found = await desk.debug("continue")
    assert (found["location"]["line"], found["breakpoint_id"]) == (3, 2)
    await desk.debug("disconnect")
    await desk.debug("set_breakpoint", path="lines.ts", line=1, condition="false")
    found = await desk.debug("launch", runtime="bun", script="lines.ts")
    assert (found["stopped_reason"], found["location"]["line"]) == ("entry", 1)
    found = await desk.debug("continue")
    assert (found["location"]["line"], found["breakpoint_id"]) == (3, 2)


@pytest.mark.requirement("debugger.order.before")
async def test_breakpoints_in_a_class_are_met_though_bun_moves_it(desk: DebugDesk) -> None:
    desk.put(
        "classes.ts",
        "class Counter {\n  count: number;\n"
        "  constructor(readonly first: number) {\n    this.count = first;\n  }\n"
        "  next(): number {\n    return this.count + 1;\n  }\n}\nconsole.log(new Counter(1).next());\n",
    )
    for line in (4, 7, 10):
        await desk.debug("set_breakpoint", path="classes.ts", line=line)
    found, met = await desk.debug("launch", script="classes.ts", **RUN), []
    while found["status"] == "stopped":
        met.append(found["location"]["line"])
        found = await desk.debug("continue")
    assert met == [10, 4, 7]


@pytest.mark.requirement("debugger.tool.steps")
async def test_from_the_entry_steps_go_through_the_source_only(desk: DebugDesk) -> None:
    desk.put("steps.ts", "// None.\n\nconst one: number = 1;\nconst two = one + 1;\nconsole.log(two);\n")
    found = await desk.debug("launch", runtime="bun", script="steps.ts")
    assert (found["stopped_reason"], found["location"]["line"]) == ("entry", 1)
    seen = []
    while (found := await desk.debug("step_over"))["status"] == "stopped":
        seen.append(found["location"]["line"])
    assert [line for line in seen if line > 1] == [3, 4, 5]
    assert len(seen) <= 4, seen


@pytest.mark.requirement("debugger.variables.scopes", "debugger.stop.answer")
async def test_what_a_function_declares_is_local_and_what_is_around_it_closure(desk: DebugDesk) -> None:
    """Bun calls all of these scopes closures."""
    await desk.debug("set_breakpoint", path="orders.ts", line=line_of(desk.root / "orders.ts", "loop"))
    found = await desk.debug("launch", script="orders.ts", **RUN)
    changed = {one["name"]: one["value"] for one in found["changed"]}
    assert (changed["i"], changed["price"], changed["total"]) == ("0", "10", "0")
    found = await desk.debug("continue")
    assert {"name": "total", "value": "10", "was": "0", "type": "number"} in found["changed"]
    assert {"amounts", "discount", "i", "many", "price", "total", "user"} <= await names(desk, "local")
    [city] = (await desk.debug("variables", expand="user.address", filter="city"))["variables"]
    assert city["value"] == "'Lisbon'"
    assert await desk.value("currency + total") == "'EUR10'"


@pytest.mark.requirement("debugger.variables.scopes")
async def test_a_named_function_around_another_is_its_closure(desk: DebugDesk) -> None:
    desk.put(
        "nested.ts",
        "function outer(word: string): number {\n"
        "  function inner(count: number): number {\n"
        "    const length = word.length * count;\n"
        "    return length; // stop: inner\n"
        "  }\n"
        "  return inner(2);\n"
        "}\nconsole.log(outer('four'));\n",
    )
    await desk.debug("set_breakpoint", path="nested.ts", line=line_of(desk.root / "nested.ts", "inner"))
    found = await desk.debug("launch", script="nested.ts", **RUN)
    assert {"name": "length", "value": "8", "type": "number"} in found["changed"]
    local, closure = await names(desk, "local"), await names(desk, "closure")
    assert {"count", "length"} <= local and "word" not in local
    assert "word" in closure and "length" not in closure


@pytest.mark.requirement("debugger.capabilities.gate", "debugger.capabilities.overrides")
async def test_memory_that_js_debug_would_read_as_empty_is_refused(desk: DebugDesk) -> None:
    await desk.debug("launch", runtime="bun", script="orders.ts")
    read = await desk.refused("read_memory", memory_reference="0x10", count=4)
    written = await desk.refused("write_memory", memory_reference="0x10", data="AAAA")
    assert [one.code for one in (read, written)] == ["action_not_supported"] * 2
    assert read.detail["capability"] == "supportsReadMemoryRequest"
    assert written.detail["capability"] == "supportsWriteMemoryRequest"


@pytest.mark.requirement("debugger.real.js-debug")
async def test_an_exception_that_ends_the_program_stops_where_it_is_thrown(desk: DebugDesk) -> None:
    found = await desk.debug("launch", script="orders.ts", args=["throw"], **RUN)
    assert found["stopped_reason"] == "exception"
    assert found["location"]["line"] == line_of(desk.root / "orders.ts", "throw")
    assert await desk.local("total") == "550"
    found = await desk.debug("continue")
    assert found["status"] == "exited"
    assert "error: no such order" in found["output"]


async def test_a_condition_is_met_after_an_await(desk: DebugDesk) -> None:
    line = line_of(desk.root / "async_stack.ts", "price")
    await desk.debug("set_breakpoint", path="async_stack.ts", line=line, condition="name === 'pear'")
    found = await desk.debug("launch", script="async_stack.ts", **RUN)
    assert found["location"]["line"] == line
    found = await desk.debug("step_over")
    assert "price.toFixed" in found["location"]["source_preview"]
    assert await desk.local("price") == "undefined"
    found = await desk.debug("continue")
    assert found["status"] == "exited"
    assert "failed: undefined is not an object" in found["output"]


async def test_a_child_process_runs_on_beside_the_debugger(desk: DebugDesk) -> None:
    for mark in ("child", "parent"):
        line = line_of(desk.root / "child_process.ts", mark)
        await desk.debug("set_breakpoint", path="child_process.ts", line=line)
    found = await desk.debug("launch", script="child_process.ts", **RUN)
    assert found["location"]["line"] == line
    assert "from the child" in await desk.local("answer")
    assert (await desk.debug("continue"))["status"] == "exited"


@pytest.mark.requirement("debugger.stories.server", "debugger.session.detach")
async def test_a_running_server_is_attached_to_looked_at_and_left_running(desk: DebugDesk) -> None:
    port = steady_port()
    command = [str(adapter_path("bun")), "--preload", "./inspector.ts", "server.ts", str(port)]
    async with listening(*command, cwd=desk.root) as (server, serving):
        found = await desk.debug("attach", runtime="bun", host="127.0.0.1", port=port)
        assert found["status"] == "running"
        line = line_of(desk.root / "server.ts", "answer")
        await desk.debug("set_breakpoint", path="server.ts", line=line)
        asking = asyncio.create_task(asked(serving, "five!"))
        found = await desk.next_stop()
        assert found["location"]["line"] == line
        assert await desk.local("line") == "'five!'"
        assert (await desk.debug("continue", timeout=300))["timed_out"]
        assert await asking == "5"
        assert (await desk.debug("disconnect"))["debuggee_terminated"] is False
        assert await asked(serving, "four") == "4"
        assert server.returncode is None


@pytest.mark.requirement("debugger.stories.endless", "debugger.session.descendants")
async def test_a_program_that_never_stops_is_paused_and_gone_after_disconnect(desk: DebugDesk) -> None:
    found = await desk.debug("launch", script="never_stops.ts", timeout=3_000, **RUN)
    assert found["timed_out"]
    line = line_of(desk.root / "never_stops.ts", "loop")
    await desk.debug("pause")
    await desk.debug("set_breakpoint", path="never_stops.ts", line=line, hit_count=3)
    found = await desk.debug("continue")
    assert found["location"]["line"] == line
    assert int(await desk.value("rounds")) > 0
    running = int(await desk.value("process.pid"))
    assert lives(running)
    await desk.debug("disconnect")
    await gone(running)
