"""However and whenever a debug session ends, nothing of it is left; what was attached to runs on."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import DEVNULL

import pytest

from app.bridges.dap.manager import AttachRequest, DebugOwner, DebugSession, Stop
from app.bridges.processes import proc
from app.errors import ToolError
from tests.bridges.conftest import children_of, descriptors, started_from_here, until
from tests.bridges.dap.deaf_programs import DEAF
from tests.bridges.dap.debugging import Place, lives, open_place
from tests.driver.debug_adapters import ROOT, adapter_path, built, copy_of
from tests.driver.rounds import rounds

SESSIONS = rounds(6, 190)
AT_A_TIME = 3
DAEMONS = rounds(2, 10)
ENDED = ("dap_session_ended", "not_stopped", "not_running", "debug_launch_failed", "debug_request_failed")


def pids_in(output: str) -> list[int]:
    """Return the processes that a program has told of, each whole: output comes in parts."""
    return [int(pid) for pid in re.findall(r"(?:deaf|child|running) (\d+)\s", output)]


def living(mark: set[int]) -> set[int]:
    return {pid for pid in mark if lives(pid)}


async def deaf_at_work(place: Place, name: str) -> tuple[DebugSession, set[int]]:
    """Launch the deaf program of an adapter, and return every process there is because of that."""
    before = started_from_here()
    session, stop = await place.launch(
        await asyncio.to_thread(DEAF[name].program, place.root),
        runtime=DEAF[name].runtime,
        stop_on_entry=False,
        seconds=0.2,
    )
    output = stop.output
    async with asyncio.timeout(60):
        while len(pids_in(output)) < 2:
            assert stop.status == "running", stop
            stop = await session.outcome(0.2)
            output += stop.output
    # A program that is just being loaded shows no environment.
    await until(lambda: set(pids_in(output)) <= started_from_here() - before)
    found = started_from_here() - before
    assert place.debugging.session(place.owner) is session
    return session, found


@pytest.fixture(params=DEAF)
async def deaf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Place, str]]:
    """A project for the deaf program of one adapter."""
    name = request.param
    async with open_place(tmp_path, declared=DEAF[name].declared(name)) as place:
        yield place, name


@pytest.mark.requirement("debugger.session.descendants")
async def test_disconnect_ends_a_program_that_takes_no_hint_and_its_children(deaf: tuple[Place, str]) -> None:
    place, name = deaf
    session, processes = await deaf_at_work(place, name)
    async with asyncio.timeout(30):
        assert await session.disconnect() is True
    assert not living(processes)
    assert [one["reason"] for one in place.events("session_ended")] == ["disconnect"]


@pytest.mark.requirement("debugger.session.run_end")
async def test_the_end_of_the_run_ends_it_too(deaf: tuple[Place, str]) -> None:
    place, name = deaf
    _, processes = await deaf_at_work(place, name)
    async with asyncio.timeout(30):
        await place.debugging.end_run("ses_1")
    assert not living(processes)
    assert [one["reason"] for one in place.events("session_ended")] == ["run_ended"]


@pytest.mark.requirement("debugger.failure.crash")
async def test_an_adapter_that_is_killed_takes_the_program_with_it(deaf: tuple[Place, str]) -> None:
    place, name = deaf
    session, processes = await deaf_at_work(place, name)
    adapters = children_of(os.getpid()).keys() & processes
    assert adapters
    for pid in adapters:
        os.kill(pid, signal.SIGKILL)
    seen = "exited"
    async with asyncio.timeout(30):
        try:
            while (await session.outcome(5)).status != "exited":
                pass
        except ToolError as problem:
            seen = problem.code
    # rdbg is a part of the program, so that this was the end of the program itself.
    assert seen == ("exited" if name == "rdbg" else "dap_session_ended")
    await until(lambda: not living(processes) and bool(place.events("session_ended")))
    reason = "exited" if name == "rdbg" else "crash"
    assert [one["reason"] for one in place.events("session_ended")] == [reason]


class Stress:
    """Sessions that are begun and ended at random points, by several agents at a time."""

    def __init__(self, place: Place, chance: random.Random) -> None:
        self.place = place
        self.chance = chance
        self.ways: dict[str, int] = {}
        self.programs = [
            place.root / f"{name}.py"
            for name in ("never_stops", "orders", "ignores_sigterm", "forks", "threads", "exits_at_once")
        ]

    async def agent(self, number: int, sessions: int) -> None:
        owner = DebugOwner("ses_1", f"main.{number}", "prj_1", self.place.root)
        for turn in range(sessions):
            begun = asyncio.Event()
            working = asyncio.create_task(self.work(owner, begun))
            if turn % 2:  # the others are ended while they begin, most of them
                await begun.wait()
            await asyncio.wait({working}, timeout=self.chance.expovariate(1 / 0.3))
            await self.end(owner, working)
            with suppress(asyncio.CancelledError, ToolError):
                await working

    async def work(self, owner: DebugOwner, begun: asyncio.Event) -> None:
        """What an agent does until its session is ended under its hands."""
        program = self.chance.choice(self.programs)
        at_entry = self.chance.random() < 0.7
        try:
            session, stop = await self.place.launch(
                program,
                runtime="python",
                owner=owner,
                stop_on_entry=at_entry,
                seconds=60 if at_entry else 0.2,
            )
            begun.set()
            while stop.status != "exited":
                stop = await self.next_stop(session, stop)
        except ToolError as problem:
            assert problem.code in ENDED, problem
        finally:
            begun.set()

    async def next_stop(self, session: DebugSession, stop: Stop) -> Stop:
        if stop.status == "running":
            return await session.pause(seconds=5)
        if stop.frame is not None:
            await session.request("scopes", "scopes", {"frameId": stop.frame["id"]})
        if self.chance.random() < 0.5:
            return await session.step("in", seconds=1)
        return await session.resume(seconds=0.2)

    async def end(self, owner: DebugOwner, working: asyncio.Task[None]) -> None:
        way = self.chance.choice(["cancel", "disconnect", "end_run", "kill", "kill program"])
        self.ways[way] = self.ways.get(way, 0) + 1
        session = self.place.debugging.session(owner)
        match way:
            case "cancel":
                working.cancel()
                await asyncio.wait({working})
            case "kill" | "kill program" if session is not None:
                self.kill(session, all_of_them=way == "kill")
        if way != "end_run" and session is not None:
            await session.disconnect()
        await self.place.debugging.end_run(owner.session_id, owner.agent_path)

    def kill(self, session: DebugSession, *, all_of_them: bool) -> None:
        """Kill a process of a session, or all, wherever it is."""
        found = [pid for pid in sorted(family_of(session)) if lives(pid)]
        for pid in found if all_of_them else found[-1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def family_of(session: DebugSession) -> set[int]:
    """Return the processes of a session, its adapter's among them."""
    links = session._program.links
    connection = links[0].connection if links else None
    if connection is None or connection.process is None:
        return set()
    pid = connection.process.child.pid
    return {pid} | descendants(pid)


@pytest.mark.timeout(600)
@pytest.mark.requirement("debugger.session.random")
async def test_sessions_ended_at_random_points_leave_nothing(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    root = copy_of("python", tmp_path)
    async with open_place(tmp_path, root) as place:
        stress = Stress(place, random.Random(seed))
        await stress.agent(0, 6)
        before = len(descriptors()), len(asyncio.all_tasks()), threading.active_count()
        async with asyncio.timeout(500), asyncio.TaskGroup() as agents:
            for number in range(AT_A_TIME):
                agents.create_task(stress.agent(number, SESSIONS // AT_A_TIME + 1))
        await until(lambda: not living(started_from_here()))
        await until(lambda: len(descriptors()) <= before[0])
        await until(lambda: len(asyncio.all_tasks()) <= before[1])
        assert threading.active_count() <= before[2] + 8  # of the pool, made as needed up to its bound
        started, ended = place.events("session_started"), place.events("session_ended")
        ids = [one["debug_session_id"] for one in started]
        assert sorted(ids) == sorted(one["debug_session_id"] for one in ended), seed
        assert len(ids) > SESSIONS // 4, (seed, stress.ways)


DAEMON = """
import asyncio, random, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.bridges.dap.debugging import open_place
from tests.bridges.dap.test_lifecycle import Stress

async def main(base, seed):
    async with open_place(base, base / "python") as place:
        stress = Stress(place, random.Random(seed))
        (base / "ready").write_text("ready")
        await asyncio.gather(*(stress.agent(number, 1000) for number in range(2)))

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""
ONE_SESSION = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.bridges.dap.debugging import open_place
from tests.bridges.dap.deaf_programs import DEAF
from tests.bridges.dap.test_lifecycle import deaf_at_work

async def main(base, name):
    async with open_place(base, base / "project", declared=DEAF[name].declared(name)) as place:
        _, found = await deaf_at_work(place, name)
        (base / "ready").write_text(" ".join(map(str, found)))
        await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@asynccontextmanager
async def daemon(script: str, base: Path, *arguments: str) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Run a daemon in a process of its own until it is ready. In the end it is killed, and whatever it has
    started is gone soon."""
    base.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", script.format(root=str(ROOT)), str(base), *arguments]
    process = start(command)
    try:
        ready = base / "ready"
        await until(lambda: process.poll() is not None or (ready.exists() and bool(ready.read_text())), 90)
        assert process.poll() is None
        yield process
    finally:
        below = descendants(process.pid)
        process.kill()
        await asyncio.to_thread(process.wait)
    try:
        await until(lambda: not living(below | marked(process.pid)))
    finally:
        reap()


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=DEVNULL, stderr=DEVNULL)


def reap() -> None:
    """Whoever has had children adopts what is left of others."""
    for child, state in children_of(os.getpid()).items():
        if state == "Z":
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        born = children_of(waiting.pop()).keys() - found
        found |= born
        waiting += born
    return found


def marked(pid: int) -> set[int]:
    """Return the processes that have the mark of a daemon's children."""
    mark = b"KAGED_COMMAND=%d-" % pid
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.add(int(entry.name))
    return found


@pytest.mark.timeout(300)
@pytest.mark.requirement("debugger.session.killed")
async def test_daemons_killed_at_random_points_leave_nothing(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(DAEMONS):
        base = tmp_path / str(number)
        base.mkdir()
        copy_of("python", base)
        async with daemon(DAEMON, base, str(seed + number)) as process:
            await asyncio.sleep(chance.random() * 2.5)
            assert process.poll() is None, seed


@pytest.mark.requirement("debugger.session.killed")
@pytest.mark.parametrize("name", DEAF)
async def test_a_killed_daemon_leaves_no_program_that_takes_no_hint(tmp_path: Path, name: str) -> None:
    DEAF[name].declared(name)
    async with daemon(ONE_SESSION, tmp_path / "daemon", name) as process:
        processes = {int(pid) for pid in (tmp_path / "daemon" / "ready").read_text().split()}
        reachable = marked(process.pid) | descendants(process.pid)
        # Looked for last: what a script starts for a moment is over by then, or was over before.
        lasting = living(processes)
        assert len(lasting) >= 2
        assert lasting <= reachable
    assert not living(processes)


def state_of(pid: int) -> str:
    """Return a process' state as the system has it: `t` and `T` for one that is stopped."""
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()


@pytest.mark.requirement("debugger.session.detach")
@pytest.mark.parametrize("way", ["disconnect", "end_run", "aclose"])
@pytest.mark.parametrize("name", ["lldb-dap", "gdb", "codelldb"])
async def test_what_was_attached_to_runs_on(tmp_path: Path, name: str, way: str) -> None:
    adapter_path(name)
    source = copy_of("c", tmp_path) / "never_stops.c"
    program = await asyncio.to_thread(built, source)
    target = start([str(program)])
    born = proc.ticks_now()
    # What began in the same tick as an adapter could be taken for what the adapter has started.
    await until(lambda: proc.ticks_now() > born + 1)
    try:
        async with open_place(tmp_path, declared=DEAF[name].declared(name)) as place:
            owner = replace(place.owner, project_root=program.parent)
            request = AttachRequest(runtime="c", pid=target.pid)
            session, stop = await place.debugging.begin(owner, request, seconds=30)
            if stop.status == "running":
                stop = await session.pause(seconds=30)
            assert stop.status == "stopped", stop
            match way:
                case "disconnect":
                    assert await session.disconnect() is False
                case "end_run":
                    await place.debugging.end_run(owner.session_id)
                case "aclose":
                    await place.debugging.aclose()
            assert target.poll() is None
            await until(lambda: state_of(target.pid) not in "tT")
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()
