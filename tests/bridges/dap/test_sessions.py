"""The lives of debug sessions on the real debugpy: their ends, what is left, what is never sent."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.bridges.dap.manager import AttachRequest, DebugOwner, DebugSession, Declared, Stop
from app.bridges.processes.child import Child
from app.errors import ToolError
from app.states import DebugState
from tests.bridges.conftest import ENVIRONMENT, until
from tests.bridges.dap.debugging import Place, lives, open_place
from tests.bridges.dap.test_launching import ORDERS, TWO_LINES
from tests.bridges.dap.test_stops import PYTHON, refused, where
from tests.driver.debug_adapters import adapter_path, built, copy_of, line_of

SERVER = PYTHON / "server.py"


def number_in(text: str) -> int:
    """Return the number that a fixture says."""
    found = re.search(r"\d+", text)
    assert found is not None, text
    return int(found[0])


async def told_number(session: DebugSession, stop: Stop) -> int:
    """Return the number that the program says, sooner or later."""
    said = stop.output
    async with asyncio.timeout(60):
        while not re.search(r"\d+\s", said):
            said += (await session.outcome(0.2)).output
            await asyncio.sleep(0.01)  # output may come after its stop, which is answered at once
    return number_in(said)


@pytest.mark.requirement("debugger.capabilities.gate")
@pytest.mark.requirement("debugger.capabilities.custom")
async def test_what_the_adapter_did_not_advertise_is_never_sent(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        session, stop = await place.launch(place.put("two.py", TWO_LINES), runtime="python")
        for action, command, capability in (
            ("loaded_sources", "loadedSources", "supportsLoadedSourcesRequest"),
            ("read_memory", "readMemory", "supportsReadMemoryRequest"),
            ("write_memory", "writeMemory", "supportsWriteMemoryRequest"),
            ("disassemble", "disassemble", "supportsDisassembleRequest"),
            ("data_breakpoint_info", "dataBreakpointInfo", "supportsDataBreakpoints"),
            ("custom_request", "loadedSources", "supportsLoadedSourcesRequest"),
            ("custom_request", "stepBack", "supportsStepBack"),
            ("custom_request", "makeCoffee", "makeCoffee"),
        ):
            problem = await refused(session.request(action, command, {}))
            assert problem.code == "action_not_supported", (command, problem)
            assert problem.detail == {"adapter": "debugpy", "capability": capability, "action": action}
            assert action == "custom_request" or not session.supports(action)
        for command, instead in (
            ("continue", "continue"),
            ("disconnect", "disconnect"),
            ("launch", "launch"),
        ):
            problem = await refused(session.request("custom_request", command, {"threadId": 1}))
            assert problem.code == "invalid_params" and f"action {instead}" in problem.message
        told = await session.request("custom_request", "pydevdSystemInfo", {})
        assert told["python"]["version"].startswith("3.")
        assert session.supports("evaluate") and session.supports("modules")
        stop = await session.resume(seconds=60)
        assert stop.status == "exited", "the adapter is as well as before"


async def test_what_the_adapter_refuses_is_reported_in_its_words(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        session, stop = await place.launch(place.put("two.py", TWO_LINES), runtime="python")
        assert stop.frame is not None
        asking = {"expression": "undefined_name", "frameId": stop.frame["id"], "context": "watch"}
        problem = await refused(session.request("evaluate", "evaluate", asking))
        assert problem.code == "debug_request_failed" and "undefined_name" in problem.message
        problem = await refused(session.request("stack_trace", "stackTrace", {"threadId": 3 * 10**10}))
        assert problem.code == "debug_request_failed" and "no longer debugged" in problem.message
        assert session.state is DebugState.STOPPED


@pytest.mark.requirement("debugger.session.descendants")
@pytest.mark.requirement("debugger.stories.sigterm")
async def test_disconnect_ends_a_program_that_takes_no_hint(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "ignores_sigterm.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False, seconds=1)
        pid = await told_number(session, stop)
        assert lives(pid)
        assert await session.disconnect() is True
        assert not lives(pid) and session.state is DebugState.ENDED
        assert place.debugging.session(place.owner) is None
        assert [event["reason"] for event in place.events("session_ended")] == ["disconnect"]


@pytest.mark.requirement("debugger.session.descendants")
@pytest.mark.requirement("debugger.stories.forks")
async def test_what_left_the_group_of_the_program_is_ended_with_it(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "forks.py"
        await place.debugging.breakpoints(place.owner).set_line(program, line_of(program, "forked"))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        pid = await told_number(session, stop)
        assert stop.reason == "breakpoint" and lives(pid)
        assert await session.disconnect() is True
        await until(lambda: not lives(pid))


async def test_a_program_that_is_let_go_lives_until_its_run_ends(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "never_stops.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False, seconds=1)
        pid = await told_number(session, stop)
        assert await session.disconnect(terminate=False) is False
        assert lives(pid) and place.debugging.session(place.owner) is None
        again, stop = await place.launch(program, runtime="python")
        assert stop.reason == "entry" and lives(pid)
        await place.debugging.end_run("ses_1")
        assert not lives(pid) and again.state is DebugState.ENDED


async def test_an_adapter_that_does_not_let_go_says_that_the_program_is_gone(tmp_path: Path) -> None:
    adapter_path("gdb")
    gdb = Declared(runtime="c", adapter=("gdb", "--interpreter=dap"))
    async with open_place(tmp_path, copy_of("c", tmp_path), declared=[gdb]) as place:
        program = await asyncio.to_thread(built, place.root / "never_stops.c")
        session, stop = await place.launch(program, runtime="c", stop_on_entry=False, seconds=2)
        pid = await told_number(session, stop)
        assert await session.disconnect(terminate=False) is not lives(pid)


@pytest.mark.requirement("debugger.session.run_end")
@pytest.mark.requirement("debugger.session.end")
async def test_the_end_of_the_run_the_session_and_the_daemon(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        child = DebugOwner("ses_1", "main/child", "prj_1", place.root)
        other = DebugOwner("ses_2", "main", "prj_1", place.root)
        await place.debugging.breakpoints(place.owner).set_line(program, 2)
        (one, _), (two, _), (three, _) = await asyncio.gather(
            place.launch(program, runtime="python"),
            place.launch(program, runtime="python", owner=child),
            place.launch(program, runtime="python", owner=other),
        )
        waiting = asyncio.create_task(refused(two.resume(seconds=60)))
        await until(lambda: two.state is not DebugState.STOPPED or waiting.done())
        await place.debugging.end_run("ses_1", "main/child")
        assert (one.state, two.state) == (DebugState.STOPPED, DebugState.ENDED)
        waiting.cancel()
        await place.debugging.end_run("ses_1")
        assert one.state is DebugState.ENDED
        assert "run" in (await refused(one.resume(seconds=1))).message
        assert len(await place.debugging.breakpoints(place.owner).listed()) == 1
        await place.debugging.end_session("ses_1")
        assert await place.debugging.breakpoints(place.owner).listed() == ()
        assert three.state is DebugState.STOPPED
        await place.debugging.aclose()
        problem = await place.refused_launch(program, runtime="python")
        assert problem.code == "dap_session_ended" and "shutting down" in problem.message
        reasons = {event["debug_session_id"]: event["reason"] for event in place.events("session_ended")}
        assert (reasons[one.id], reasons[three.id]) == ("run_ended", "daemon_shutdown")


@asynccontextmanager
async def a_server(place: Place) -> AsyncIterator[tuple[Child, int, int]]:
    """Run the server with debugpy in it; gives the process, the port for debuggers and its own."""
    adapter = "import debugpy, runpy, sys; print('debug', debugpy.listen(('127.0.0.1', 0))[1], flush=True); "
    code = adapter + f"runpy.run_path({str(SERVER)!r}, run_name='__main__')"
    child = await place.children.start(
        [sys.executable, "-c", code], owner="test", cwd=place.root, env=ENVIRONMENT, stderr="null"
    )
    async with child:
        assert child.stdout is not None
        ports = [number_in((await child.stdout.readline()).decode()) for _ in range(2)]
        yield child, ports[0], ports[1]


async def asked(port: int, line: str) -> str:
    """Return what the server answers to a line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{line}\n".encode())
    answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return answer.decode().strip()


@pytest.mark.requirement("debugger.session.detach")
@pytest.mark.requirement("debugger.stories.server")
async def test_a_server_is_attached_to_and_goes_on_afterwards(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place, a_server(place) as (child, debug, port):
        breakpoints = place.debugging.breakpoints(place.owner)
        line = line_of(SERVER, "answer")
        await breakpoints.set_line(SERVER, line)
        for _ in range(2):
            request = AttachRequest("python", host="127.0.0.1", port=debug)
            session, stop = await place.debugging.begin(place.owner, request, seconds=60)
            assert (stop.status, stop.timed_out) == ("running", False)
            asking = asyncio.create_task(asked(port, "hello"))
            await until(lambda now=session: now.state is DebugState.STOPPED)  # type: ignore[misc]
            stop = await session.resume(seconds=60)
            assert (stop.reason, where(stop)) == ("breakpoint", ("handle", line))
            assert stop.frame is not None
            told = await session.request(
                "evaluate", "evaluate", {"expression": "text", "frameId": stop.frame["id"]}
            )
            assert told["result"] == "'hello'"
            assert await session.disconnect() is False
            assert await asyncio.wait_for(asking, 30) == "5"
            assert child.exit_code is None
            assert await asked(port, "again") == "5"


async def test_a_server_is_ended_by_disconnect_when_that_is_asked_for(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place, a_server(place) as (child, debug, _):
        request = AttachRequest("python", host="127.0.0.1", port=debug)
        session, _ = await place.debugging.begin(place.owner, request, seconds=60)
        assert await session.disconnect(terminate=True) is True
        assert await child.has_ended(30)


async def test_nobody_listens_where_a_program_is_to_be_attached_to(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        request = AttachRequest("python", host="127.0.0.1", port=9)
        with pytest.raises(ToolError) as caught:
            await place.debugging.begin(place.owner, request, seconds=60)
        assert caught.value.code == "debug_launch_failed" and "127.0.0.1:9" in caught.value.message
        assert place.debugging.session(place.owner) is None


async def test_the_program_is_killed_from_outside(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        program = PYTHON / "never_stops.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False, seconds=1)
        os.kill(await told_number(session, stop), signal.SIGKILL)
        await until(lambda: session.state in (DebugState.EXITED, DebugState.ENDED))
        stop = await session.step("over", seconds=1)
        assert stop.status == "exited" and stop.exit_code not in (0, None)


@pytest.mark.requirement("debugger.session.random")
async def test_sessions_that_end_at_any_moment_leave_nothing(tmp_path: Path) -> None:
    async with open_place(tmp_path, PYTHON) as place:
        before = set(os.listdir("/proc/self/fd"))

        async def one(number: int) -> None:
            owner = DebugOwner("ses_1", f"main/{number}", "prj_1", PYTHON)
            await place.debugging.breakpoints(owner).set_line(ORDERS, line_of(ORDERS, "price"))
            working = asyncio.create_task(work(owner))
            await asyncio.sleep(0.15 * number)
            if number % 3 == 0:
                working.cancel()
            elif number % 3 == 1:
                await place.debugging.end_run("ses_1", owner.agent_path)
            elif (session := place.debugging.session(owner)) is not None:
                await session.disconnect()
            await asyncio.gather(working, return_exceptions=True)
            await place.debugging.end_run("ses_1", owner.agent_path)

        async def work(owner: DebugOwner) -> None:
            session, _ = await place.launch(ORDERS, runtime="python", owner=owner)
            while (await session.resume(seconds=5)).status == "stopped":
                await session.step("over", seconds=5)

        for number in range(0, 15, 3):
            await asyncio.gather(*(one(number + at) for at in range(3)))
        await until(lambda: len(set(os.listdir("/proc/self/fd"))) <= len(before) + 2)
