"""Waiting for stops on the real debugpy: what stopped, what did not in time, the end, the output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import Stop
from app.bridges.dap.output import Output
from app.bridges.dap.stops import Standing, stop_event
from app.errors import Conflict, ToolError
from app.states import DEBUG_MOVES, DebugState, move
from tests.bridges.conftest import until
from tests.bridges.dap.debugging import command_of, open_place
from tests.bridges.dap.test_launching import ORDERS, TWO_LINES
from tests.driver.debug_adapters import FIXTURES, line_of

PYTHON = FIXTURES / "python"
LATE = """import os, time
while not os.path.exists("go"):
    time.sleep(0.01)
after = 2
print("after", flush=True)
"""
WAITS = """import os, time
while not os.path.exists("go"):
    time.sleep(0.01)
print("it may go on")
"""
RAISES = """def divide(dividend, divisor):
    return dividend / divisor


print("about to divide")
divide(1, 0)
"""


async def refused(asking: Awaitable[Any]) -> ToolError:
    """Return the error that something awaited raises."""
    with pytest.raises(ToolError) as caught:
        await asking
    return caught.value


def adapter_process() -> int:
    """Return the process of the session's adapter."""
    children = [pid for pid in own_children() if b"debugpy" in command_of(pid)]
    assert len(children) == 1, children
    return children[0]


def own_children() -> list[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(word) for word in path.read_text().split()]


def where(stop: Stop) -> tuple[str, int]:
    """Return the function and the line at which the program stands."""
    assert stop.frame is not None, stop
    return stop.frame["name"], stop.frame["line"]


@pytest.mark.requirement("debugger.state.table")
def test_the_moves_between_states() -> None:
    legal = {(one, other) for one, others in DEBUG_MOVES.items() for other in others}
    for one in DebugState:
        for other in DebugState:
            if (one, other) in legal:
                assert move(one, other) is other
            else:
                with pytest.raises(Conflict):
                    move(one, other)
    assert DEBUG_MOVES[DebugState.ENDED] == frozenset()
    assert all(DebugState.ENDED in DEBUG_MOVES[one] for one in DebugState if one is not DebugState.ENDED)


@pytest.mark.requirement("debugger.stop.waits")
async def test_continue_and_steps_wait_for_the_stop(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(ORDERS, line_of(ORDERS, "price"))
        session, stop = await place.launch(ORDERS, runtime="python", stop_on_entry=False)
        line = line_of(ORDERS, "price")
        assert (stop.reason, where(stop)) == ("breakpoint", ("price_of", line))
        stop = await session.step("over", seconds=60)
        assert (stop.status, stop.reason, where(stop)) == ("stopped", "step", ("price_of", line + 1))
        stop = await session.step("out", seconds=60)
        assert where(stop)[0] == "main"
        stop = await session.resume(seconds=60)
        assert stop.breakpoint_ids == (one.id,) and session.stop is stop
        await breakpoints.remove_line(ORDERS, line)
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code) == ("exited", 0)


@pytest.mark.requirement("debugger.stop.timeout")
@pytest.mark.requirement("debugger.state.actions")
async def test_a_wait_that_runs_out_leaves_the_program_running(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "never_stops.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False, seconds=1)
        assert (stop.status, stop.timed_out) == ("running", True)
        assert session.state is DebugState.RUNNING
        for asking in (
            session.resume(seconds=1),
            session.step("over", seconds=1),
            session.request("stack_trace", "stackTrace", {"threadId": 1}),
            session.request("evaluate", "evaluate", {"expression": "1"}),
        ):
            problem = await refused(asking)
            assert problem.code == "not_stopped" and problem.detail["state"] == "running"
            assert "pause" in problem.message
        stop = await session.pause(seconds=60)
        assert (stop.status, stop.reason, stop.timed_out) == ("stopped", "pause", False)
        problem = await refused(session.pause(seconds=1))
        assert problem.code == "not_running" and "continue" in problem.message
        stop = await session.resume(seconds=0.3)
        assert (stop.status, stop.timed_out) == ("running", True)
        assert await session.disconnect() is True
        problem = await refused(session.resume(seconds=1))
        assert problem.code == "dap_session_ended" and "launch" in problem.message


@pytest.mark.requirement("debugger.stop.timeout")
async def test_a_stop_after_the_wait_is_reported_by_the_next_continue(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("late.py", LATE)
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(program, 4)
        session, _ = await place.launch(program, runtime="python")
        stop = await session.resume(seconds=0.1)
        assert stop.timed_out
        place.put("go", "")
        await until(lambda: session.state is DebugState.STOPPED)
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.breakpoint_ids, where(stop)[1]) == ("stopped", (one.id,), 4)
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.output) == ("exited", "after\n")
        assert [event["breakpoint_id"] for event in place.events("breakpoint_hit")] == [one.id]


@pytest.mark.requirement("debugger.audit.events")
@pytest.mark.parametrize("action", ["launch", "continue"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_an_unreported_stop_is_recorded_when_it_comes(
    tmp_path: Path, action: str, at_once: bool
) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("waits.py", WAITS)
        one = await place.debugging.breakpoints(place.owner).set_line(program, 4)
        entry = action == "continue"
        session, stop = await place.launch(
            program, runtime="python", stop_on_entry=entry, seconds=60 if entry else 0.1
        )
        if entry:
            stop = await session.resume(seconds=0.1)
        assert stop.timed_out and not place.events("breakpoint_hit")
        place.put("go", "")
        await until(lambda: session.state is DebugState.STOPPED)
        if not at_once:
            await until(lambda: bool(place.events("breakpoint_hit")))
        await place.debugging.end_run(place.owner.session_id, place.owner.agent_path)
        hit = {"breakpoint_id": one.id, "path": "./waits.py", "line": 4}
        assert [(event, data) for event, _, data in place.audited][1:] == [
            ("debug.breakpoint_hit", {"debug_session_id": session.id, **hit}),
            ("debug.session_ended", {"debug_session_id": session.id, "reason": "run_ended"}),
        ]


async def test_a_stop_that_was_looked_at_is_not_reported_again(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("late.py", LATE)
        await place.debugging.breakpoints(place.owner).set_line(program, 4)
        session, _ = await place.launch(program, runtime="python")
        assert (await session.resume(seconds=0.1)).timed_out
        place.put("go", "")
        await until(lambda: session.state is DebugState.STOPPED)
        await session.request("stack_trace", "stackTrace", {"threadId": session.current_thread})
        assert session.stop.reason == "breakpoint" and len(place.events("breakpoint_hit")) == 1
        stop = await session.resume(seconds=60)
        assert stop.status == "exited" and len(place.events("breakpoint_hit")) == 1


async def test_a_caller_that_is_called_off_leaves_the_program_running(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("late.py", LATE)
        await place.debugging.breakpoints(place.owner).set_line(program, 5)
        session, _ = await place.launch(program, runtime="python")
        waiting = asyncio.create_task(session.resume(seconds=60))
        await until(lambda: session.state is DebugState.RUNNING)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        place.put("go", "")
        await until(lambda: session.state is DebugState.STOPPED)
        assert where(await session.resume(seconds=60))[1] == 5


async def test_of_two_that_continue_at_once_one_is_refused(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        session, _ = await place.launch(program, runtime="python")
        both = await asyncio.gather(
            *(session.step("over", seconds=60) for _ in range(2)), return_exceptions=True
        )
        told = [one.reason for one in both if isinstance(one, Stop)]
        codes = [one.code for one in both if isinstance(one, ToolError)]
        assert (told, codes) == (["step"], ["not_stopped"])
        assert where(session.stop)[1] == 2


async def test_a_program_that_dies_of_an_exception_stops_where_it_was_raised(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        session, stop = await place.launch(
            place.put("raises.py", RAISES), runtime="python", stop_on_entry=False
        )
        assert (stop.reason, where(stop)) == ("exception", ("divide", 2))
        assert stop.text is not None and "ZeroDivisionError" in stop.text
        said = stop.output  # the adapter may report it after the stop
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code) == ("exited", 1)
        assert (said + stop.output).startswith("about to divide\n") and "ZeroDivisionError" in stop.output


@pytest.mark.requirement("debugger.stories.threads")
async def test_threads_stop_and_step_one_by_one(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "threads.py"
        line = line_of(program, "worker")
        breakpoints = place.debugging.breakpoints(place.owner)
        await breakpoints.set_line(program, line)
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert where(stop) == ("work", line)
        threads = (await session.request("threads", "threads", {}))["threads"]
        assert {"worker 0", "worker 1", "worker 2"} <= {one["name"] for one in threads}
        assert stop.thread_id in {one["id"] for one in threads}
        for one in threads:
            body = await session.request("stack_trace", "stackTrace", {"threadId": one["id"], "levels": 1})
            assert len(body["stackFrames"]) == 1
        first = stop.thread_id
        stop = await session.step("over", first, seconds=60)
        assert (stop.reason, stop.thread_id, where(stop)) == ("step", first, ("work", line + 1))
        await breakpoints.remove_line(program, line)
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code, stop.output) == ("exited", 0, "done [0, 1, 2]\n")


@pytest.mark.requirement("debugger.state.actions")
async def test_after_the_end_of_the_program_each_action_says_so(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES + "raise SystemExit(9)\n")
        session, _ = await place.launch(program, runtime="python")
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code, stop.output) == ("exited", 9, "2\n")
        for again in (session.resume(seconds=1), session.step("in", seconds=1), session.pause(seconds=1)):
            stop = await again
            assert (stop.status, stop.exit_code) == ("exited", 9)
        problem = await refused(session.request("stack_trace", "stackTrace", {"threadId": 1}))
        assert problem.code == "not_stopped" and problem.detail["state"] == "exited"
        assert "launch" in problem.message
        assert place.debugging.session(place.owner) is session
        assert await session.disconnect() is True
        assert place.debugging.session(place.owner) is None
        assert [event["reason"] for event in place.events("session_ended")] == ["exited"]


@pytest.mark.requirement("debugger.failure.crash")
@pytest.mark.parametrize("waits", [True, False])
async def test_the_death_of_the_adapter_ends_the_session(tmp_path: Path, waits: bool) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "never_stops.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=True)
        waiting = asyncio.create_task(refused(session.resume(seconds=60))) if waits else None
        await until(lambda: session.state is (DebugState.RUNNING if waits else DebugState.STOPPED))
        os.kill(adapter_process(), signal.SIGKILL)
        await until(lambda: session.state is DebugState.ENDED)
        if waiting is not None:
            problem = await waiting
            assert problem.code == "dap_session_ended" and "launch" in problem.message
        for asking in (
            session.request("threads", "threads", {}),
            session.resume(seconds=1),
            session.pause(seconds=1),
        ):
            assert (await refused(asking)).code == "dap_session_ended"
        await until(lambda: bool(place.events("session_ended")))
        assert [event["reason"] for event in place.events("session_ended")] == ["crash"]
        await until(lambda: not [pid for pid in own_children() if b"debugpy" in command_of(pid)])
        again, stop = await place.launch(program, runtime="python")
        assert stop.reason == "entry" and again.id != session.id


@pytest.mark.requirement("debugger.stop.output")
@pytest.mark.requirement("debugger.stories.flood")
async def test_a_flood_of_output_is_bounded_by_its_end(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "floods_output.py"
        await place.debugging.breakpoints(place.owner).set_line(program, line_of(program, "end"))
        pieces: list[str] = []

        async def progress(text: str) -> None:
            pieces.append(text)

        session, _ = await place.launch(program, runtime="python")
        stop = await session.resume(seconds=60, progress=progress)
        assert stop.reason == "breakpoint" and stop.output_truncated
        assert "left out" in stop.output and len(stop.output) < 40_000
        end = await session.resume(seconds=60)
        assert (stop.output + end.output).endswith("the last line\n")
        assert pieces and max(map(len, pieces)) <= 16_000


@pytest.mark.requirement("debugger.stop.progress")
async def test_output_is_reported_while_the_program_runs(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("talks.py", f"print('early', flush=True)\n{LATE}")
        session, _ = await place.launch(program, runtime="python")
        told: list[tuple[str, DebugState]] = []

        async def progress(text: str) -> None:
            told.append((text, session.state))
            place.put("go", "")

        stop = await session.resume(seconds=60, progress=progress)
        assert stop.output == "early\nafter\n"
        assert told[0][0].startswith("early") and told[0][1] is DebugState.RUNNING
        assert "".join(text for text, _ in told) == "early\nafter\n"


@pytest.mark.requirement("debugger.stop.output")
def test_output_keeps_its_beginning_and_its_end() -> None:
    output = Output(head=10, tail=20)
    output.event({"output": "telemetry", "category": "telemetry"})
    output.event({"output": 7})
    assert output.take() == ("", False)
    for number in range(100):
        output.event({"output": f"{number:02d}\n", "category": "stdout"})
    text, truncated = output.take()
    assert truncated and text.startswith("00\n01\n02\n0") and text.endswith("97\n98\n99\n")
    assert "272 characters are left out" in text
    output.add("x" * 1000)
    text, truncated = output.take()
    assert truncated and len(text) < 100 and "970 characters" in text
    output.add("short")
    assert output.take() == ("short", False) and output.take() == ("", False)


@pytest.mark.requirement("debugger.stop.once")
def test_the_most_telling_event_counts() -> None:
    standing = Standing()
    standing.add(stop_event({"reason": "pause", "threadId": 3}))
    standing.add(stop_event({"reason": "exception", "threadId": 4, "preserveFocusHint": True}))
    standing.add(stop_event({"reason": "breakpoint", "threadId": 2, "hitBreakpointIds": [5, "6", 5, True]}))
    standing.add(stop_event({"reason": "step", "threadId": 1, "hitBreakpointIds": "7"}))
    assert (standing.best.reason, standing.best.thread, standing.hits()) == ("breakpoint", 2, (5,))
    nothing = stop_event({"reason": [], "threadId": "1", "text": {}, "hitBreakpointIds": {}})
    assert (nothing.reason, nothing.thread, nothing.text, nothing.hits) == ("unknown", None, None, ())
