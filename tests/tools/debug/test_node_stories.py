"""Whole stories on Node programs, by js-debug: an asynchronous stack, a child process, a running server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.driver.debug_adapters import adapter_path, copy_of, debug_environment, line_of
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives
from tests.driver.ports import steady_port
from tests.tools.debug.targets import asked, listening

RUN = {"runtime": "node", "stop_on_entry": False}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    """A project of the Node fixture programs."""
    adapter_path("js-debug")
    async with debug_desk(tmp_path, copy_of("node", tmp_path)) as opened:
        yield opened


@pytest.mark.requirement("debugger.stories.node", "debugger.real.js-debug")
async def test_the_stack_goes_back_beyond_what_was_awaited(desk: DebugDesk) -> None:
    line = line_of(desk.root / "async_stack.js", "price")
    await desk.debug("set_breakpoint", path="async_stack.js", line=line, condition="name === 'pear'")
    found = await desk.debug("launch", script="async_stack.js", **RUN)
    assert (found["status"], found["location"]["line"]) == ("stopped", line)
    assert await desk.local("name") == "'pear'"  # not the apple, which came first

    frames = (await desk.debug("stack_trace"))["frames"]
    names = [frame["name"].rpartition(".")[2] for frame in frames if not frame.get("label")]
    awaited = [frame for frame in frames if frame.get("label")]
    assert awaited, frames
    assert names[:3] == ["readPrice", "receipt", "main"]
    waiting = next(frame for frame in frames if frame["name"].endswith("receipt"))
    text = (desk.root / "async_stack.js").read_text().splitlines()
    assert "await readPrice" in text[waiting["line"] - 1]

    # There is no pear in the list, and what fails is the line after.
    found = await desk.debug("step_over")
    assert "price.toFixed" in found["location"]["source_preview"]
    assert await desk.local("price") == "undefined"
    found = await desk.debug("continue")
    assert found["status"] == "exited"
    assert "failed: Cannot read properties of undefined (reading 'toFixed')" in found["output"]


@pytest.mark.requirement("debugger.stories.child", "debugger.order.children")
async def test_a_child_process_stops_at_a_breakpoint_of_its_own(desk: DebugDesk) -> None:
    child, parent = (line_of(desk.root / "child_process.js", mark) for mark in ("child", "parent"))
    await desk.debug("set_breakpoint", path="child_process.js", line=child)
    await desk.debug("set_breakpoint", path="child_process.js", line=parent)
    found = await desk.debug("launch", script="child_process.js", **RUN)
    assert found["location"]["line"] == child
    assert await desk.local("secret") == "'from the child'"
    found = await desk.debug("continue")
    assert found["location"]["line"] == parent
    assert "from the child" in await desk.local("answer")
    found = await desk.debug("continue")
    assert found["status"] == "exited"
    assert "parent heard: from the child" in found["output"]


@pytest.mark.requirement("debugger.stories.server", "debugger.session.detach")
async def test_a_running_server_is_attached_to_looked_at_and_left_running(desk: DebugDesk) -> None:
    node = re.search(r"[^:]*", debug_environment(desk.base / "home")["PATH"])
    assert node is not None
    port = steady_port()
    command = [f"{node[0]}/node", f"--inspect=127.0.0.1:{port}", "server.js"]
    async with listening(*command, cwd=desk.root) as (server, serving):
        found = await desk.debug("attach", runtime="node", host="127.0.0.1", port=port)
        assert found["status"] == "running"
        line = line_of(desk.root / "server.js", "answer")
        await desk.debug("set_breakpoint", path="server.js", line=line)
        asking = asyncio.create_task(asked(serving, "five!"))
        found = await desk.next_stop()
        assert found["location"]["line"] == line
        assert await desk.local("line") == "'five!'"
        assert (await desk.debug("continue", timeout=300))["timed_out"]
        assert await asking == "5"
        assert (await desk.debug("disconnect"))["debuggee_terminated"] is False
        assert await asked(serving, "four") == "4"
        assert server.returncode is None


async def test_a_program_that_never_stops_is_paused(desk: DebugDesk) -> None:
    found = await desk.debug("launch", script="never_stops.js", timeout=2_000, **RUN)
    assert found["timed_out"]
    line = line_of(desk.root / "never_stops.js", "loop")
    await desk.debug("pause")
    await desk.debug("set_breakpoint", path="never_stops.js", line=line, hit_count=3)
    first = int(await desk.value("rounds")) if (await desk.debug("continue"))["status"] == "stopped" else 0
    assert first > 0
    running = int(await desk.value("process.pid"))
    assert lives(running)
    await desk.debug("disconnect")
    await gone(running)


@pytest.mark.requirement("debugger.stop.answer", "debugger.order.before")
async def test_breakpoints_from_before_and_after_the_launch_are_distinguished(desk: DebugDesk) -> None:
    """js-debug numbers both from one on."""
    desk.put("lines.js", "let a = 1;\na = 2;\na = 3;\na = 4;\na = 5;\nconsole.log(a);\n")
    await desk.debug("set_breakpoint", path="lines.js", line=2)
    found = await desk.debug("launch", runtime="node", script="lines.js")
    assert found["stopped_reason"] == "entry"
    for _ in range(2):  # js-debug answers nothing the second time
        found = await desk.debug("set_breakpoint", path="lines.js", line=4)
        assert (found["breakpoint_id"], found["verified"]) == (2, True)
    listed = (await desk.debug("list_breakpoints"))["breakpoints"]
    assert [(one["line"], one["actual_line"]) for one in listed] == [(2, 2), (4, 4)]
    met = []
    while (found := await desk.debug("continue"))["status"] == "stopped":
        met.append((found["location"]["line"], found["breakpoint_id"]))
    assert met == [(2, 1), (4, 2)]
