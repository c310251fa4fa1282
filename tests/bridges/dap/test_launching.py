"""How sessions begin, on the real debugpy: entry, breakpoints set before, failures, terminals, children."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from app.bridges.dap.manager import DebugOwner, Declared
from app.bridges.processes.child import Child
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.states import DebugState
from tests.bridges.conftest import until
from tests.bridges.dap.debugging import open_place
from tests.driver.debug_adapters import FIXTURES, adapter_path, copy_of, line_of

ORDERS = FIXTURES / "python" / "orders.py"
TWO_LINES = "first = 1\nsecond = first + 1\nprint(second)\n"


@pytest.mark.requirement("debugger.order.handshake")
@pytest.mark.requirement("debugger.order.late")
async def test_a_program_stops_on_entry(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        session, stop = await place.launch(program, runtime="python")
        assert (stop.status, stop.reason, stop.timed_out) == ("stopped", "entry", False)
        assert stop.frame is not None and stop.frame["line"] == 1
        assert stop.frame["source"]["path"] == str(program)
        assert session.state is DebugState.STOPPED and session.current_thread == stop.thread_id
        assert session.id.startswith("dap_") and session.adapter == "debugpy"
        assert place.debugging.session(place.owner) is session
        assert place.events("session_started") == [
            {
                "debug_session_id": session.id,
                "runtime": "python",
                "script": "./two.py",
                "caller": "main",
            }
        ]


@pytest.mark.requirement("debugger.order.before")
async def test_breakpoints_set_before_launch_are_kept_and_bound(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        breakpoints = place.debugging.breakpoints(place.owner)
        early = await breakpoints.set_line(program, 3)
        assert not early.verified and early.message is not None and "no program" in early.message
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert (stop.status, stop.reason, stop.breakpoint_ids) == ("stopped", "breakpoint", (early.id,))
        assert stop.frame is not None and stop.frame["line"] == 3
        (listed,) = await breakpoints.listed()
        assert listed.verified and listed.actual_line == 3 and listed.message is None
        assert place.events("breakpoint_hit") == [
            {"debug_session_id": session.id, "breakpoint_id": early.id, "path": "./two.py", "line": 3}
        ]


@pytest.mark.requirement("debugger.order.early")
async def test_an_adapter_that_answers_the_launch_before_it_is_initialized(tmp_path: Path) -> None:
    adapter_path("bash-dap")
    async with open_place(tmp_path, copy_of("bash", tmp_path)) as place:
        program = place.root / "orders.sh"
        line = line_of(program, "price")
        one = await place.debugging.breakpoints(place.owner).set_line(program, line)
        session, stop = await place.launch(program, runtime="bash", stop_on_entry=False)
        assert (stop.reason, stop.breakpoint_ids) == ("breakpoint", (one.id,)), stop
        assert stop.frame is not None and (stop.frame["name"], stop.frame["line"]) == ("price_of", line)
        await place.debugging.breakpoints(place.owner).remove_line(program, line)
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code) == ("exited", 0) and "owes 550" in stop.output


READS_LATE = """#!{python}
import time
from bash_dap import adapter

pump = adapter.Adapter.pump

def late(self, stream, category):
    time.sleep(1.5)
    pump(self, stream, category)

adapter.Adapter.pump = late
adapter.main()
"""


async def test_what_an_adapter_reads_after_the_end_of_the_program_is_output_of_it(tmp_path: Path) -> None:
    """As the threads of bash's adapter may do on a busy machine."""
    python = adapter_path("bash-dap").read_text().partition("\n")[0].removeprefix("#!")
    adapter = tmp_path / "bash-dap"
    adapter.write_text(READS_LATE.format(python=python))
    adapter.chmod(0o755)
    declared = [Declared(runtime="bash", adapter=(str(adapter),))]
    async with open_place(tmp_path, declared=declared) as place:
        program = place.put("two.sh", "echo one\necho two >&2\n")
        _, stop = await place.launch(program, runtime="bash", stop_on_entry=False)
        assert (stop.status, stop.exit_code, sorted(stop.output.split())) == ("exited", 0, ["one", "two"])


@pytest.mark.requirement("debugger.order.handshake")
@pytest.mark.parametrize("stop_on_entry", [True, False])
async def test_a_program_that_is_over_at_once(tmp_path: Path, stop_on_entry: bool) -> None:
    async with open_place(tmp_path, FIXTURES / "python") as place:
        program = FIXTURES / "python" / "exits_at_once.py"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=stop_on_entry)
        if stop_on_entry:
            assert stop.reason == "entry"
            stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code) == ("exited", 7)
        assert session.state is DebugState.EXITED


@pytest.mark.requirement("debugger.order.error")
async def test_what_the_adapter_refuses_to_launch_is_reported_in_its_words(tmp_path: Path) -> None:
    entry = Declared(runtime="python", launch={"console": "nowhere"})
    async with open_place(tmp_path, declared=[entry]) as place:
        problem = await place.refused_launch(place.put("two.py", TWO_LINES), runtime="python")
        assert problem.code == "debug_launch_failed"
        assert "must be one of" in problem.message and "debugpy" in problem.message
        assert place.debugging.session(place.owner) is None
        assert place.events("session_started") == [] == place.events("session_ended")


@pytest.mark.requirement("debugger.failure.launch")
async def test_an_adapter_that_cannot_run_is_reported_with_its_last_words(tmp_path: Path) -> None:
    broken = (sys.executable, "-c", "import sys; sys.exit('it wants to be left alone')")
    entry = Declared(runtime="broken", adapter=broken)
    async with open_place(tmp_path, declared=[entry]) as place:
        problem = await place.refused_launch(place.put("two.py", TWO_LINES), runtime="broken")
        assert problem.code == "debug_launch_failed"
        assert "left alone" in problem.message and "exit code 1" in problem.message


async def test_a_runtime_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        problem = await place.refused_launch(place.put("two.py", TWO_LINES), runtime="cobol")
        assert problem.code == "runtime_not_supported" and "python" in problem.detail["runtimes"]


async def test_a_program_that_does_not_compile_says_where(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        session, stop = await place.launch(
            place.put("bad.py", "good = 1\nbad =\n"), runtime="python", stop_on_entry=False
        )
        said = stop.output
        if stop.status == "stopped":
            assert stop.reason == "exception" and stop.description is not None
            stop = await session.resume(seconds=60)
            said += stop.output
        assert stop.status == "exited" and stop.exit_code == 1
        assert "SyntaxError" in said and "line 2" in said


@pytest.mark.requirement("debugger.session.one")
async def test_one_session_for_each_agent_and_agents_beside_each_other(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        other = DebugOwner("ses_1", "main/other", "prj_1", place.root)
        (first, _), (second, _) = await asyncio.gather(
            place.launch(program, runtime="python"), place.launch(program, runtime="python", owner=other)
        )
        assert first.id != second.id
        problem = await place.refused_launch(program, runtime="python")
        assert problem.code == "dap_session_active" and problem.detail["debug_session_id"] == first.id
        assert "disconnect" in problem.message
        assert await first.disconnect() is True
        assert second.state is DebugState.STOPPED
        again, _ = await place.launch(program, runtime="python")
        assert place.debugging.session(place.owner) is again


@pytest.mark.requirement("debugger.session.one")
async def test_of_two_launches_at_once_one_is_refused(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        both = await asyncio.gather(
            *(place.launch(program, runtime="python") for _ in range(2)), return_exceptions=True
        )
        refused = [one for one in both if isinstance(one, ToolError)]
        assert [one.code for one in refused] == ["dap_session_active"]


@pytest.mark.requirement("debugger.breakpoints.restart")
async def test_an_exited_program_is_launched_again_with_its_breakpoints(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        one = await place.debugging.breakpoints(place.owner).set_line(program, 2)
        for _ in range(2):
            session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
            assert stop.breakpoint_ids == (one.id,)
            stop = await session.resume(seconds=60)
            assert (stop.status, stop.exit_code, stop.output) == ("exited", 0, "2\n")
        assert [event["reason"] for event in place.events("session_ended")] == ["exited", "exited"]


async def test_a_launch_that_is_called_off_leaves_nothing(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        for number in range(8):
            launching = asyncio.create_task(place.launch(program, runtime="python"))
            await asyncio.sleep(0.12 * number)
            launching.cancel()
            try:
                session, _ = await launching
            except asyncio.CancelledError:
                assert place.debugging.session(place.owner) is None
            else:
                await session.disconnect()
        _, stop = await place.launch(program, runtime="python")
        assert stop.reason == "entry"


@pytest.mark.requirement("debugger.session.run_end")
async def test_a_run_that_ends_while_a_program_is_launched_ends_that(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        launching = asyncio.create_task(place.refused_launch(program, runtime="python"))
        await until(lambda: place.debugging.session(place.owner) is not None)
        await place.debugging.end_run("ses_1")
        problem = await launching
        assert problem.code == "dap_session_ended" and "run" in problem.message
        assert place.debugging.session(place.owner) is None


@pytest.mark.requirement("debugger.session.run_end", "debugger.session.one")
async def test_a_run_that_ends_before_its_session_is_made_launches_nothing(tmp_path: Path) -> None:
    """And what the next run launches waits for that."""
    async with open_place(tmp_path) as place:
        program = place.put("two.py", TWO_LINES)
        launching = asyncio.create_task(place.refused_launch(program, runtime="python"))
        await asyncio.sleep(0)  # it is looking for its adapter
        assert place.debugging.session(place.owner) is None and not launching.done()
        await place.debugging.end_run("ses_1")
        session, stop = await place.launch(program, runtime="python")
        assert stop.reason == "entry" and place.debugging.session(place.owner) is session
        problem = await launching
        assert problem.code == "dap_session_ended" and "run" in problem.message
        assert len(place.events("session_started")) == 1


class InTerminal:
    """A program without a terminal: what the adapter asks for is what matters here."""

    def __init__(self, child: Child, argv: Sequence[str], cwd: Path) -> None:
        self.child = child
        self.argv = argv
        self.cwd = cwd
        self.closed = False

    @property
    def pid(self) -> int | None:
        return self.child.pid

    def pass_on_output(self) -> None:
        pass  # it goes to nobody

    async def aclose(self) -> None:
        self.closed = True
        await self.child.aclose()


class OwnTerminals:
    def __init__(self) -> None:
        self.programs: list[InTerminal] = []

    async def run(
        self,
        owner: DebugOwner,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        received: Callable[[str], None],
        children: ChildStarter,
    ) -> InTerminal:
        child = await children.start(
            argv, owner=owner.session_id, cwd=cwd, env=env, stdout="null", stderr="null"
        )
        self.programs.append(InTerminal(child, argv, cwd))
        received("in a terminal\n")
        return self.programs[-1]


@pytest.mark.requirement("debugger.order.terminal")
async def test_a_program_that_wants_a_terminal_gets_one(tmp_path: Path) -> None:
    entry = Declared(runtime="python", launch={"console": "integratedTerminal"})
    terminals = OwnTerminals()
    async with open_place(tmp_path, declared=[entry], terminals=terminals) as place:
        program = place.put("two.py", TWO_LINES)
        session, stop = await place.launch(program, runtime="python")
        assert stop.reason == "entry" and stop.output == "in a terminal\n"
        (in_terminal,) = terminals.programs
        assert in_terminal.cwd == place.root and str(program) in in_terminal.argv
        assert in_terminal.child.exit_code is None
        assert await session.disconnect() is True
        assert in_terminal.closed and in_terminal.child.is_gone


@pytest.mark.requirement("debugger.order.terminal")
async def test_without_terminals_the_adapter_does_not_ask_for_one(tmp_path: Path) -> None:
    entry = Declared(runtime="python", launch={"console": "integratedTerminal"})
    async with open_place(tmp_path, declared=[entry]) as place:
        problem = await place.refused_launch(place.put("two.py", TWO_LINES), runtime="python")
        assert problem.code == "debug_launch_failed"


@pytest.mark.requirement("debugger.order.children")
async def test_a_child_process_is_debugged_in_the_same_session(tmp_path: Path) -> None:
    async with open_place(tmp_path, FIXTURES / "python") as place:
        program = FIXTURES / "python" / "child_process.py"
        breakpoints = place.debugging.breakpoints(place.owner)
        in_child = await breakpoints.set_line(program, line_of(program, "child"))
        in_parent = await breakpoints.set_line(program, line_of(program, "parent"))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert stop.breakpoint_ids == (in_child.id,), stop
        trace = await session.request("stack_trace", "stackTrace", {"threadId": stop.thread_id})
        frame = trace["stackFrames"][0]
        assert frame["name"] == "child" and frame["id"] > 10_000_000_000
        scopes = (await session.request("scopes", "scopes", {"frameId": frame["id"]}))["scopes"]
        reference = scopes[0]["variablesReference"]
        found = await session.request("variables", "variables", {"variablesReference": reference})
        assert "'from the child'" in [one["value"] for one in found["variables"]]
        threads = (await session.request("threads", "threads", {}))["threads"]
        assert len({one["id"] for one in threads}) == len(threads) == 2

        stop = await session.resume(seconds=60)
        assert stop.breakpoint_ids == (in_parent.id,) and stop.thread_id == 1, stop
        stop = await session.resume(seconds=60)
        assert (stop.status, stop.exit_code) == ("exited", 0)
        assert "parent heard: from the child" in stop.output
