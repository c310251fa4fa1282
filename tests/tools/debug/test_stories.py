"""Whole stories on Python programs: what an agent does with the debugger, call by call."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.debug_adapters import ROOT, copy_of, line_of, python_program
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives
from tests.driver.ports import steady_port
from tests.tools.debug.targets import asked, listening

RUN = {"runtime": "python", "stop_on_entry": False}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    """A project of the Python fixture programs."""
    async with debug_desk(tmp_path, copy_of("python", tmp_path)) as opened:
        yield opened


async def at_mark(desk: DebugDesk, script: str, mark: str, **params: Any) -> Any:
    """Launch a script with a breakpoint at a mark, and return the answer of the stop there."""
    line = line_of(desk.root / script, mark)
    await desk.debug("set_breakpoint", path=script, line=line)
    found = await desk.debug("launch", script=script, **RUN, **params)
    assert found["status"] == "stopped", found
    assert found["location"]["line"] == line
    return found


@pytest.mark.requirement("debugger.stories.demo")
async def test_the_bug_of_the_demo_package_is_found_and_mended(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    shutil.copytree(ROOT / "examples" / "demo", root)
    async with debug_desk(tmp_path, root) as desk:
        text = (root / "bakery" / "discounts.py").read_text().splitlines()
        decision = next(number for number, line in enumerate(text, 1) if "if basket.pieces()" in line)
        await desk.debug("set_breakpoint", path="bakery/discounts.py", line=decision)
        start = {"script": "bakery/__main__.py", "args": ["roll=12"], "env": {"PYTHONPATH": "."}, **RUN}
        found = await desk.debug("launch", **start)
        assert found["stopped_reason"] == "breakpoint"
        assert found["location"]["path"] == "./bakery/discounts.py"
        assert found["location"]["source_preview"].strip() == "if basket.pieces() >= DOZEN:"

        # A dozen rolls are in the basket, and it counts one piece.
        inside = (await desk.debug("variables", expand="basket._pieces"))["variables"]
        assert ("basket._pieces['roll']", "12") in {(one["name"], one["value"]) for one in inside}
        assert await desk.value("basket.pieces()") == "1"
        names = [frame["name"] for frame in (await desk.debug("stack_trace"))["frames"]]
        assert names[:3] == ["discount", "receipt", "main"]

        # Inside of it: what is counted are kinds, not pieces.
        found = await desk.debug("step_into")
        assert found["location"]["function"] == "pieces"
        assert found["location"]["source_preview"].strip() == "return len(self._pieces)"
        assert await desk.value("len(self._pieces)") == "1"
        assert await desk.value("sum(self._pieces.values())") == "12"
        found = await desk.debug("step_out")
        assert found["location"]["function"] == "discount"
        found = await desk.debug("step_over")
        assert found["location"]["source_preview"].strip() == "return 0"
        assert (await desk.debug("disconnect"))["debuggee_terminated"]

        # Mended, the same breakpoint shows it right.
        await desk.ok("file.read", path="bakery/basket.py")
        await desk.ok(
            "edit.text",
            path="bakery/basket.py",
            old_string="return len(self._pieces)",
            new_string="return sum(self._pieces.values())",
        )
        await desk.debug("launch", **start)
        assert await desk.value("basket.pieces()") == "12"
        found = await desk.debug("step_over")
        assert "percent_of" in found["location"]["source_preview"]
        while found["status"] == "stopped":
            found = await desk.debug("continue")
        assert found["exit_code"] == 0
        assert "dozen discount" in found["output"]


@pytest.mark.requirement("debugger.stories.threads")
async def test_each_thread_is_seen_where_it_stands(desk: DebugDesk) -> None:
    found = await at_mark(desk, "threads.py", "worker")
    threads = (await desk.debug("threads"))["threads"]
    workers = {one["id"]: one["name"] for one in threads if one["name"].startswith("worker")}
    assert sorted(workers.values()) == ["worker 0", "worker 1", "worker 2"]
    numbers = set()
    for thread, name in workers.items():
        frames = (await desk.debug("stack_trace", thread_id=thread))["frames"]
        assert "work" in {frame["name"] for frame in frames}, name
        if thread == found["thread_id"]:
            numbers.add(await desk.local("number"))
    assert numbers < {"0", "1", "2"}
    await desk.debug("remove_breakpoint", path="threads.py", line=found["location"]["line"])
    while found["status"] == "stopped":  # other workers may have come to the breakpoint before
        found = await desk.debug("continue")
    assert found["exit_code"] == 0
    assert "done [0, 1, 2]" in found["output"]


@pytest.mark.requirement("debugger.stories.child")
async def test_a_child_process_stops_at_a_breakpoint_of_its_own(desk: DebugDesk) -> None:
    found = await at_mark(desk, "child_process.py", "child")
    assert await desk.local("secret") == "'from the child'"
    line = line_of(desk.root / "child_process.py", "parent")
    await desk.debug("set_breakpoint", path="child_process.py", line=line)
    found = await desk.debug("continue")
    assert found["location"]["line"] == line
    assert "'from the child" in await desk.value("answer.stdout")
    found = await desk.debug("continue")
    assert found["exit_code"] == 0
    assert "parent heard: from the child" in found["output"]


@pytest.mark.requirement("debugger.stories.server", "debugger.tool.attach", "debugger.session.detach")
async def test_a_running_server_is_attached_to_looked_at_and_left_running(desk: DebugDesk) -> None:
    debug_port = steady_port()
    command = [str(python_program()), "-m", "debugpy", "--listen", f"127.0.0.1:{debug_port}", "server.py"]
    async with listening(*command, cwd=desk.root) as (server, port):
        found = await desk.debug("attach", runtime="python", host="127.0.0.1", port=debug_port)
        assert found["status"] == "running"
        assert "timed_out" not in found
        line = line_of(desk.root / "server.py", "answer")
        set_there = await desk.debug(
            "set_breakpoint", path="server.py", line=line, condition="len(text) == 5"
        )
        assert set_there["verified"]
        assert await asked(port, "four") == "4"
        asking = asyncio.create_task(asked(port, "five!"))
        found = await desk.next_stop()
        assert found["location"]["line"] == line
        assert await desk.local("text") == "'five!'"
        await desk.debug("evaluate", expression="text = 'changed'", context="repl")
        assert (await desk.debug("continue", timeout=300))["timed_out"]
        assert await asking == "7"
        left = await desk.debug("disconnect")
        assert left["debuggee_terminated"] is False
        assert await asked(port, "five!") == "5"  # no debugger stops it any more
        assert server.returncode is None


async def test_a_server_can_be_attached_to_again(desk: DebugDesk) -> None:
    debug_port = steady_port()
    command = [str(python_program()), "-m", "debugpy", "--listen", f"127.0.0.1:{debug_port}", "server.py"]
    async with listening(*command, cwd=desk.root) as (_server, port):
        line = line_of(desk.root / "server.py", "answer")
        await desk.debug("set_breakpoint", path="server.py", line=line)
        for _ in range(2):
            await desk.debug("attach", runtime="python", host="127.0.0.1", port=debug_port)
            asking = asyncio.create_task(asked(port, "hello"))
            assert (await desk.next_stop())["location"]["line"] == line
            await desk.debug("disconnect")
            assert await asking == "5"


@pytest.mark.requirement("debugger.stories.sigterm", "debugger.session.descendants")
async def test_a_program_that_ignores_every_hint_is_gone_after_disconnect(desk: DebugDesk) -> None:
    await at_mark(desk, "ignores_sigterm.py", "loop")
    deaf = int(await desk.local("process"))  # its output may come after the stop
    assert lives(deaf)
    assert (await desk.debug("disconnect"))["debuggee_terminated"]
    await gone(deaf)


@pytest.mark.requirement("debugger.stories.forks", "debugger.session.descendants")
async def test_a_child_with_a_session_of_its_own_is_gone_after_disconnect(desk: DebugDesk) -> None:
    await at_mark(desk, "forks.py", "forked")
    child = int(await desk.local("child"))
    assert lives(child)
    await desk.debug("disconnect")
    await gone(child)


@pytest.mark.requirement("debugger.stories.flood", "debugger.stop.output", "debugger.stop.progress")
async def test_of_a_flood_of_output_the_end_is_reported(desk: DebugDesk) -> None:
    found = await at_mark(desk, "floods_output.py", "end", timeout=120_000)
    assert found["truncated"]
    assert len(found["output"]) < 64_000
    ended = await desk.debug("continue")
    assert ended["exit_code"] == 0
    # The adapter passes output on more slowly than it is written: its end may come after the stop.
    told = found["output"] + ended.get("output", "")
    assert told.endswith("the last line\n")
    assert len(told) < 2 * 64_000
    assert 0 < sum(map(len, desk.ports.shown)) < 2_000_000  # of 16 MiB


@pytest.mark.requirement("debugger.stories.exits")
@pytest.mark.parametrize("stop_on_entry", [False, True])
async def test_a_program_that_exits_at_once_has_exited(desk: DebugDesk, stop_on_entry: bool) -> None:
    found = await desk.debug(
        "launch", runtime="python", script="exits_at_once.py", stop_on_entry=stop_on_entry
    )
    if stop_on_entry:
        assert found["stopped_reason"] == "entry"
        found = await desk.debug("continue")
    assert found["status"] == "exited"
    assert found["exit_code"] == 7
    again = await desk.debug("continue")
    assert (again["status"], again["exit_code"]) == ("exited", 7)
    assert (await desk.refused("variables")).code == "not_stopped"
    await desk.debug("launch", runtime="python", script="exits_at_once.py")  # needs no disconnect before
    await desk.debug("disconnect")


@pytest.mark.requirement("debugger.stories.endless", "debugger.stop.timeout")
async def test_a_program_that_never_stops_is_paused(desk: DebugDesk) -> None:
    found = await desk.debug("launch", script="never_stops.py", timeout=5_000, **RUN)
    assert found["status"] == "running"
    assert found["timed_out"]
    assert (await desk.refused("variables")).code == "not_stopped"
    assert (await desk.refused("continue")).code == "not_stopped"
    found = await desk.debug("pause")
    assert found["status"] == "stopped"
    assert found["stopped_reason"] == "pause"
    top = next(frame for frame in (await desk.debug("stack_trace"))["frames"] if frame.get("path"))
    rounds = int(await desk.local("rounds", frame_id=top["id"]))
    running = int(await desk.local("process", frame_id=top["id"]))
    assert rounds > 0 and lives(running)
    assert (await desk.refused("pause")).code == "not_running"
    assert (await desk.debug("continue", timeout=300))["timed_out"]
    await desk.debug("pause")
    assert int(await desk.local("rounds", frame_id=top["id"])) > rounds
    await desk.debug("disconnect")
    await gone(running)
