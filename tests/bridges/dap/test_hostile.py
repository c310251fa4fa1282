"""Debug adapters that crash, hang, lie and flood: each ends in an answer, and nothing is left of any."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import DebugSession, Stop
from app.errors import ToolError
from app.states import DebugState
from tests.bridges.conftest import until
from tests.bridges.dap.debugging import QUICK, Place, hostile_place, lives
from tests.driver.loop_watch import LongestTurn

Open = Callable[..., AbstractAsyncContextManager[Place]]
INSPECTIONS = (
    ("stack_trace", "stackTrace", {"threadId": 1}),
    ("threads", "threads", {}),
    ("scopes", "scopes", {"frameId": 1000}),
    ("variables", "variables", {"variablesReference": 1}),
    ("evaluate", "evaluate", {"expression": "line", "frameId": 1000, "context": "watch"}),
)
SOON = 30.0
"""Within how many seconds all of a hostile story is over, on a slow machine too."""


@pytest.fixture
def hostile(tmp_path: Path) -> Open:
    def opened(*arguments: str, **given: Any) -> AbstractAsyncContextManager[Place]:
        return hostile_place(tmp_path, *arguments, **given)

    return opened


async def refused(work: Awaitable[Any]) -> ToolError:
    try:
        result = await work
    except ToolError as problem:
        return problem
    raise AssertionError(f"it was answered: {result}")


async def begun(place: Place, **given: Any) -> DebugSession:
    session, stop = await place.launch(place.root / "program.hostile", **given)
    assert (stop.status, stop.reason) == ("stopped", "entry"), stop
    return session


async def whole_story(place: Place) -> Stop:
    """Stop on entry, at a breakpoint and after a step, look around at each, and go to the end."""
    program = place.root / "program.hostile"
    session = await begun(place)
    assert session.state is DebugState.STOPPED
    breakpoint_ = await place.debugging.breakpoints(place.owner).set_line(program, 3)
    assert breakpoint_.verified and breakpoint_.actual_line == 3
    stop = await session.resume(seconds=SOON)
    assert (stop.status, stop.reason, stop.thread_id) == ("stopped", "breakpoint", 1), stop
    assert stop.frame is not None and stop.frame["line"] == 3
    for action, command, arguments in INSPECTIONS:
        assert await session.request(action, command, arguments)
    stop = await session.step("over", seconds=SOON)
    assert (stop.status, stop.reason) == ("stopped", "step"), stop
    assert "three" in stop.output
    body = await session.request("evaluate", "evaluate", {"expression": "line", "frameId": 1000})
    assert body["result"] == "4"
    stop = await session.resume(seconds=SOON)
    assert (stop.status, stop.exit_code) == ("exited", 3), stop
    return stop


@pytest.mark.parametrize(
    "way",
    [
        (),
        ("--zero", "--bare"),
        ("--duplicate",),
        ("--early-initialized",),
        ("--early-launch",),
        ("--early-initialized", "--early-launch"),
        ("--stops", "5"),
        ("--stop-for-ever", "3000"),
        ("--vague-stops",),
        ("--wrong-events",),
        ("--wrong-capabilities",),
        ("--unknown-requests",),
        ("--flood-requests", "300"),
        ("--terminal", "true"),
        ("--child-sessions", "100"),
        ("--odd-refusals",),
        ("--stderr-bytes", "3000000"),
        ("--delay", "launch=0.3", "--delay", "setBreakpoints=0.2", "--delay", "continue=0.2"),
        ("--delay", "configurationDone=0.3"),
        ("--refuse", "setExceptionBreakpoints=no", "--refuse", "threads=no"),
    ],
    ids=lambda way: " ".join(way) or "good",
)
@pytest.mark.requirement("debugger.peer.tolerant")
async def test_odd_ways_do_not_matter(hostile: Open, way: tuple[str, ...]) -> None:
    async with hostile(*way) as place, asyncio.timeout(SOON):
        if "threads=no" in way:
            session = await begun(place)
            assert (await session.resume(seconds=SOON)).exit_code == 3
        else:
            await whole_story(place)


@pytest.mark.requirement("debugger.failure.launch")
@pytest.mark.parametrize(
    ("way", "words"),
    [
        (("--crash-at-start",), "cannot start: something is missing"),
        (("--crash-at", "initialize"), "the adapter has crashed"),
        (("--crash-at", "launch"), "the adapter has crashed"),
        (("--crash-at", "configurationDone"), "the adapter has crashed"),
        (("--crash-at", "configurationDone", "--early-launch"), "the adapter has crashed"),
        (("--crash-at", "launch", "--half-answer"), "exit code 3"),
        (("--never-answer", "initialize"), "initialize"),
        (("--hang-at", "initialize", "--deaf"), "initialize"),
        (("--hang-at", "launch", "--no-initialized"), "launch"),
        (("--no-initialized",), "launch"),
        (("--never-answer", "configurationDone"), "launch"),
        (("--launch-error", "there is no such program"), "there is no such program"),
        (("--refuse", "initialize=not today"), "not today"),
        (("--refuse", "launch=not today"), "not today"),
        (("--refuse", "configurationDone=not today"), "not today"),
        (("--garbage-at", "initialize", "--garbage", "text"), "does not keep to the protocol"),
        (("--garbage-at", "initialize", "--garbage", "binary"), "does not keep to the protocol"),
        (("--garbage-at", "launch", "--garbage", "endless"), "does not keep to the protocol"),
        (("--garbage-at", "launch", "--garbage", "huge"), "does not keep to the protocol"),
        (("--close-input", "initialize", "--deaf"), "launch"),
        (("--stop-reading", "initialize", "--deaf"), "launch"),
    ],
    ids=lambda way: " ".join(way) if isinstance(way, tuple) else "",
)
async def test_a_launch_that_fails_says_why_and_leaves_nothing(
    hostile: Open, way: tuple[str, ...], words: str
) -> None:
    limits = QUICK
    if words in ("initialize", "launch"):  # it has begun by the time that this runs out, and so has its child
        limits = replace(QUICK, **{f"{words}_seconds": 4.0})
    async with hostile(*way, "--children", "1", limits=limits) as place, asyncio.timeout(SOON):
        problem = await place.refused_launch(place.root / "program.hostile")
        assert problem.code == "debug_launch_failed", problem
        assert words in problem.message, problem.message
        assert len(place.pids()) == 2 and not any(lives(pid) for pid in place.pids())
        session = place.debugging.session(place.owner)
        assert session is None or session.state is DebugState.ENDED
        again = await place.refused_launch(place.root / "program.hostile")
        assert again.code == "debug_launch_failed"


@pytest.mark.requirement("debugger.failure.crash")
@pytest.mark.parametrize("half", [(), ("--half-answer",)], ids=["", "half"])
@pytest.mark.parametrize(
    "command", ["stackTrace", "variables", "evaluate", "setBreakpoints", "continue", "next", "threads"]
)
async def test_a_crash_ends_the_session_and_launch_works_again(
    hostile: Open, command: str, half: tuple[str, ...]
) -> None:
    way = ("--crash-at", command, "--crash-times", "1", "--children", "2", *half)
    async with hostile(*way) as place, asyncio.timeout(SOON):
        program = place.root / "program.hostile"
        session, _ = await place.launch(program)
        for _ in range(3):  # some are asked by the launch itself
            problem = None
            try:
                await place.debugging.breakpoints(place.owner).set_line(program, 4)
                for action, asked, arguments in INSPECTIONS:
                    await session.request(action, asked, arguments)
                await session.step("over", seconds=SOON)
                await session.resume(seconds=SOON)
            except ToolError as one:
                problem = one
            if problem is None or problem.code == "dap_session_ended":
                break
        assert session.state is DebugState.ENDED
        problem = await refused(session.resume(seconds=SOON))
        assert problem.code == "dap_session_ended" and "launch" in problem.message, problem
        await until(lambda: not any(lives(pid) for pid in place.pids()))
        await until(lambda: bool(place.events("session_ended")))
        assert [one["reason"] for one in place.events("session_ended")] == ["crash"]
        session = await begun(place)
        stop = await session.resume(seconds=SOON)
        # The breakpoint was kept, wherever the crash came.
        assert (stop.status, stop.frame and stop.frame["line"]) == ("stopped", 4), stop


@pytest.mark.requirement("debugger.failure.crash")
async def test_a_crash_while_the_program_runs_ends_the_wait(hostile: Open) -> None:
    async with hostile("--crash-after", "2") as place, asyncio.timeout(SOON):
        place.put("program.hostile", "loop\n")
        session = await begun(place)
        began = time.monotonic()
        problem = await refused(session.resume(seconds=60))
        assert problem.code == "dap_session_ended" and "has crashed" in problem.message, problem
        assert time.monotonic() - began < SOON
        assert session.state is DebugState.ENDED


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize("command", ["stackTrace", "scopes", "variables", "evaluate", "threads"])
async def test_a_request_without_an_answer_is_given_up(hostile: Open, command: str) -> None:
    limits = replace(QUICK, request_seconds=3, frame_seconds=0.3)
    way = ("--never-answer", command, "--deaf")
    async with hostile(*way, limits=limits) as place, asyncio.timeout(SOON):
        session = await begun(place)
        for action, asked, arguments in INSPECTIONS:
            if asked == command:
                problem = await refused(session.request(action, asked, arguments))
                assert problem.code == "debug_timeout" and command in problem.message, problem
            else:
                assert await session.request(action, asked, arguments)
        stop = await session.resume(seconds=SOON)
        assert (stop.status, stop.exit_code) == ("exited", 3)


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize("command", ["continue", "next", "pause", "setBreakpoints"])
async def test_what_moves_the_program_and_is_not_answered_is_given_up(hostile: Open, command: str) -> None:
    limits = replace(QUICK, request_seconds=2, frame_seconds=0.3)
    way = ("--hang-at", command, "--deaf", "--children", "1")
    async with hostile(*way, limits=limits) as place, asyncio.timeout(SOON):
        place.put("program.hostile", "nothing\nloop\n")
        session = await begun(place)
        try:
            await place.debugging.breakpoints(place.owner).set_line(place.root / "program.hostile", 2)
            await session.step("over", seconds=1)
            await session.resume(seconds=1)
            await session.pause(seconds=1)
        except ToolError as problem:
            assert problem.code in ("debug_timeout", "not_running", "not_stopped"), problem
        began = time.monotonic()
        assert await session.disconnect(terminate=True) is True
        assert time.monotonic() - began < SOON
        assert session.state is DebugState.ENDED and not any(lives(pid) for pid in place.pids())


@pytest.mark.requirement("debugger.hostile.answers")
@pytest.mark.parametrize(
    "kind",
    ["mixed", "objects", "far", "deep", "null", "number", "string", "list", "empty", "long", "many"],
)
async def test_answers_of_any_shape_do_no_harm(hostile: Open, kind: str) -> None:
    async with hostile("--wrong-types", "all", "--wrong", kind) as place, asyncio.timeout(4 * SOON):
        program = place.root / "program.hostile"
        breakpoints = place.debugging.breakpoints(place.owner)
        early = await breakpoints.set_line(program, 3)
        session, stop = await place.launch(program)
        assert (stop.status, stop.reason) == ("stopped", "entry"), stop
        for action, command, arguments in INSPECTIONS:
            assert isinstance(await session.request(action, command, arguments), dict)
        late = await breakpoints.set_line(program, 5)
        assert early.id != late.id
        assert [one.id for one in await breakpoints.listed()] == [early.id, late.id]
        stop = await session.resume(seconds=SOON)
        assert (stop.status, stop.reason) == ("stopped", "breakpoint"), stop
        stop = await session.step("over", seconds=SOON)
        assert stop.status == "stopped", stop
        assert await session.disconnect(terminate=True) is True


@pytest.mark.requirement("debugger.stop.once")
async def test_stopped_events_without_end_do_not_keep_the_program(hostile: Open) -> None:
    async with hostile("--stops", "3", "--stop-for-ever", "5000") as place, asyncio.timeout(4 * SOON):
        session = await begun(place)
        for _ in range(20):
            stop = await session.step("over", seconds=SOON)
            if stop.status == "exited":
                break
            # Some are told so late that they are as good as the next stop.
            assert (stop.status, stop.reason) in (("stopped", "step"), ("stopped", "again")), stop
        assert (stop.status, stop.exit_code) == ("exited", 3), stop


@pytest.mark.requirement("debugger.stop.timeout")
async def test_a_stop_that_is_never_reported_is_a_program_that_runs(hostile: Open) -> None:
    async with hostile("--no-stops", "--exit", "never", "--deaf") as place, asyncio.timeout(SOON):
        session, stop = await place.launch(place.root / "program.hostile", seconds=0.5)
        assert (stop.status, stop.timed_out) == ("running", True)
        assert session.state is DebugState.RUNNING
        assert (await refused(session.resume(seconds=1))).code == "not_stopped"
        assert await session.disconnect(terminate=True) is True


@pytest.mark.parametrize("half", ["exited", "terminated"])
async def test_half_of_an_end_is_an_end(hostile: Open, half: str) -> None:
    async with hostile("--half-end", half) as place, asyncio.timeout(SOON):
        session = await begun(place)
        stop = await session.resume(seconds=SOON)
        assert stop.status == "exited" and stop.exit_code == (3 if half == "exited" else None), stop
        assert session.state is DebugState.EXITED


async def test_an_end_that_is_not_reported_is_a_program_that_runs(hostile: Open) -> None:
    async with hostile("--silent-end") as place, asyncio.timeout(SOON):
        session = await begun(place)
        stop = await session.resume(seconds=0.5)
        said = stop.output
        while "three" not in said:  # on a busy machine it says nothing in half a second
            assert (stop.status, stop.timed_out) == ("running", True)
            stop = await session.outcome(0.5)
            said += stop.output
        assert (stop.status, stop.timed_out) == ("running", True)


@pytest.mark.requirement("debugger.stop.output")
@pytest.mark.parametrize("way", [("--flood", "100000"), ("--flood-bytes", "50000000")])
async def test_a_flood_of_output_is_bounded_and_lets_others_have_the_loop(
    hostile: Open, way: tuple[str, ...]
) -> None:
    async with hostile(*way) as place, asyncio.timeout(100):
        session = await begun(place)
        longest = LongestTurn()
        stop = await session.resume(seconds=90)
        assert (stop.status, stop.exit_code) == ("exited", 3), stop
        assert stop.output_truncated and len(stop.output) < 40_000
        assert "five" in stop.output[-100:]
        assert longest.stop() < 0.5


@pytest.mark.requirement("debugger.stop.output")
async def test_output_without_end_can_be_paused(hostile: Open) -> None:
    async with hostile("--endless-output") as place, asyncio.timeout(90):
        session = await begun(place)
        stop = await session.resume(seconds=0.5)
        assert (stop.status, stop.timed_out) == ("running", True)
        stop = await session.pause(seconds=20)
        assert (stop.status, stop.reason) == ("stopped", "pause"), stop
        while not stop.output_truncated:  # on a busy machine little is written in half a second
            await session.resume(seconds=0.5)
            stop = await session.pause(seconds=20)
        assert len(stop.output) < 40_000


@pytest.mark.requirement("debugger.hostile.answers")
async def test_huge_variables_are_taken(hostile: Open) -> None:
    async with hostile("--huge", "3000") as place, asyncio.timeout(60):
        session = await begun(place)
        body = await session.request("variables", "variables", {"variablesReference": 1})
        assert len(body["variables"]) == 3002


@pytest.mark.requirement("debugger.session.descendants")
@pytest.mark.parametrize(
    "way",
    [
        (),
        ("--exit", "late", "--exit-seconds", "60"),
        ("--exit", "never"),
        ("--exit", "crash"),
        ("--never-answer", "disconnect"),
        ("--hang-at", "disconnect"),
        ("--crash-at", "disconnect"),
        ("--garbage-at", "disconnect"),
        ("--stop-reading", "configurationDone"),
        ("--no-mark", "--exit", "never"),
    ],
    ids=lambda way: " ".join(way) or "good",
)
async def test_however_an_adapter_takes_its_end_all_of_it_is_gone(
    hostile: Open, way: tuple[str, ...]
) -> None:
    async with hostile(*way, "--deaf", "--children", "3") as place, asyncio.timeout(SOON):
        session = await begun(place)
        assert len(place.pids()) == 4 and all(lives(pid) for pid in place.pids())
        began = time.monotonic()
        assert await session.disconnect(terminate=True) is True
        assert time.monotonic() - began < SOON
        assert not any(lives(pid) for pid in place.pids())
        assert [one["reason"] for one in place.events("session_ended")] == ["disconnect"]
        problem = await refused(session.request("threads", "threads", {}))
        assert problem.code == "dap_session_ended"
        assert await begun(place)


@pytest.mark.requirement("debugger.session.end")
@pytest.mark.parametrize("moment", ["initialize", "launch", "configurationDone", "stackTrace", "continue"])
async def test_closing_at_any_moment_ends_every_wait_and_leaves_nothing(hostile: Open, moment: str) -> None:
    async with hostile("--hang-at", moment, "--deaf", "--children", "2") as place, asyncio.timeout(SOON):

        async def work() -> None:
            session, _ = await place.launch(place.root / "program.hostile", seconds=30)
            await session.request("stack_trace", "stackTrace", {"threadId": 1})
            await session.resume(seconds=30)

        working = asyncio.create_task(refused(work()))
        await until(lambda: bool(place.received(moment)))
        await place.debugging.end_run("ses_1")
        problem = await working
        assert problem.code in ("dap_session_ended", "debug_launch_failed", "debug_timeout"), problem
        assert not any(lives(pid) for pid in place.pids())


@pytest.mark.requirement("debugger.session.end")
@pytest.mark.parametrize("moment", ["initialize", "launch", "configurationDone", "stackTrace"])
async def test_a_launch_whose_caller_is_gone_leaves_nothing(hostile: Open, moment: str) -> None:
    async with hostile("--hang-at", moment, "--deaf", "--children", "2") as place, asyncio.timeout(SOON):
        launching = asyncio.create_task(place.launch(place.root / "program.hostile"))
        await until(lambda: bool(place.received(moment)))
        launching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await launching
        await until(lambda: not any(lives(pid) for pid in place.pids()))
        session = place.debugging.session(place.owner)
        assert session is None or session.state is DebugState.ENDED
