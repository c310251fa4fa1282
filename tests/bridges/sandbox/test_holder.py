"""Holders: many commands at once, none left over, and holders that a cage has taken over."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import holder_protocol
from app.bridges.sandbox.holder import Command, Holder, HolderGone
from app.bridges.sandbox.holder_protocol import ProtocolViolation, answer
from app.bridges.sandbox.manager import Cages
from app.cages.cage import Cage, Mount
from tests.bridges.conftest import children_of, descriptors, until
from tests.driver.caging import FULL, INSIDE, Caged, caged
from tests.driver.loop_watch import LongestTurn
from tests.driver.machine import need_tier

COMMANDS = 1000
MOST_KB = 5 * 1024
"""What a holder may take beyond an interpreter that has imported nothing."""


_bystanders: set[int] = set()
"""Children of this process that earlier tests left: what a killed daemon leaves is adopted here."""


@pytest.fixture(autouse=True)
def _know_the_bystanders() -> None:
    _bystanders.clear()
    _bystanders.update(children_of(os.getpid()))


@pytest.fixture
async def cage(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Caged]:
    async with caged(children, tmp_path) as made:
        yield made


def _holders() -> list[int]:
    bubbles = children_of(os.getpid()).keys() - _bystanders
    return [one for bubble in bubbles for one in children_of(bubble)]


@pytest.mark.requirement("cages.kernel.holder")
async def test_fifty_commands_at_once_begin_in_one_cage(cage: Caged) -> None:
    async def one(number: int) -> bytes:
        done = await cage.sh(f"echo {number}; sleep 0.2; exit {number}", seconds=60)
        assert done.exit_code == number
        return done.stdout

    said = await asyncio.gather(*map(one, range(50)))
    assert said == [b"%d\n" % number for number in range(50)]
    assert len(_holders()) == 1
    async with asyncio.timeout(30):  # the last of them may still have to be reaped
        while int(await cage.says("ls /proc | grep -c '^[0-9]'; true")) > 5:
            pass


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_holder_takes_little_more_memory_than_a_bare_interpreter(cage: Caged) -> None:
    await cage.says("true")
    [holder] = _holders()
    told = "print(next(line for line in open('/proc/self/status') if line.startswith('VmRSS')))"
    options = ("-I", "-S", "-E", "-B", "-c", told)
    program = os.path.realpath(sys.executable)
    bare = await asyncio.to_thread(subprocess.check_output, [program, *options])
    took = Path(f"/proc/{holder}/status").read_text().partition("VmRSS:")[2]
    assert int(took.split()[0]) <= int(bare.split()[1]) + MOST_KB


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_thousand_commands_leave_nothing_behind(cage: Caged) -> None:
    await cage.says("true")
    await cage.cages.settle("test")
    gc.collect()
    before = descriptors()
    for _ in range(COMMANDS // 20):
        await asyncio.gather(*(cage.sh("true", seconds=60) for _ in range(20)))
    await cage.cages.settle("test")
    await until(lambda: descriptors() == before)
    (holder,) = _holders()
    await until(lambda: children_of(holder) == {})  # the last of them may still have to be reaped
    if os.getuid() == 0:  # nobody else may look into a holder
        await until(lambda: len(os.listdir(f"/proc/{holder}/fd")) <= 6)
    await until(lambda: len(asyncio.all_tasks()) <= 6)


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_hundred_cages_leave_nothing_behind(children: ChildProcesses, tmp_path: Path) -> None:
    await children.run(["true"], owner="test", cwd=tmp_path, env=INSIDE, seconds=60, max_output=10)
    before, tasks = descriptors(), len(asyncio.all_tasks())
    processes = children_of(os.getpid()).keys()
    for _ in range(20):
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(_used(children, tmp_path))
    await until(lambda: children_of(os.getpid()).keys() <= processes)
    gc.collect()
    await until(lambda: descriptors() == before)
    await until(lambda: len(asyncio.all_tasks()) == tasks)


async def _used(children: ChildProcesses, root: Path) -> None:
    async with caged(children, root) as cage:
        assert (await cage.sh("exit 3", seconds=60)).exit_code == 3


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_holder_that_dies_takes_its_commands_along_and_the_next_has_another(cage: Caged) -> None:
    child = await cage.start("sleep 1000")
    (holder,) = _holders()
    os.kill(holder, signal.SIGKILL)
    async with asyncio.timeout(60):
        assert await child.wait() == 137
        await child.wait_for_all()
    assert (await cage.sh("exit 4")).exit_code == 4
    assert _holders() not in ([], [holder])


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_command_cannot_touch_its_holder(cage: Caged) -> None:
    said = await cage.says(
        "kill -9 1; kill -STOP 1; kill -INT 1; kill -TERM 1; kill -HUP 1; kill -CHLD 1;"
        " cat /proc/1/environ /proc/1/mem /proc/1/maps; ls -la /proc/1/fd /proc/1/cwd/ /proc/1/root/;"
        " echo x > /proc/1/mem; true"
    )
    assert said.count("Permission denied") >= 5
    (holder,) = _holders()
    assert await cage.says("sleep 1000 & kill -9 -1; true") == ""
    assert (await cage.sh("exit 5")).exit_code == 5
    assert _holders() == [holder]


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_start_that_is_cancelled_leaves_nothing_running(cage: Caged) -> None:
    await cage.says("true")
    (holder,) = _holders()
    await until(lambda: children_of(holder) == {})
    before = len(descriptors())
    for delay in range(30):
        starting = asyncio.create_task(cage.start("sleep 1006", stdin="pipe"))
        for _ in range(delay):
            await asyncio.sleep(0)
        starting.cancel()
        outcome = (await asyncio.gather(starting, return_exceptions=True))[0]
        if not isinstance(outcome, BaseException):
            await outcome.aclose()
    await until(lambda: children_of(holder) == {})
    await until(lambda: len(descriptors()) <= before)
    assert (await cage.sh("exit 6")).exit_code == 6


@pytest.mark.requirement("cages.kernel.holder")
async def test_sockets_of_the_cages_own_loopback_are_given_out(cage: Caged) -> None:
    with socket.socket() as taken:
        while True:  # nobody outside listens on it then
            port = await cage.starter.free_port()
            with suppress(OSError):
                taken.bind(("127.0.0.1", port))
                break
        await answers_within(cage, port)


async def answers_within(cage: Caged, port: int) -> None:
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', %d)); print('ready', flush=True);"
        " c, _ = s.accept(); c.sendall(c.recv(100)[::-1])"
    )
    child = await cage.starter.start(
        ["python3", "-c", script % port], owner="test", cwd=cage.root, env=INSIDE
    )
    async with child:
        assert child.stdout is not None
        assert await child.stdout.readline() == b"ready\n"
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", port)) != 0
        connected = await cage.starter.connect(port)
        with connected:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(connected, b"abc")
            async with asyncio.timeout(60):
                assert await loop.sock_recv(connected, 100) == b"cba"
    with pytest.raises(OSError, match="refused"):
        await cage.starter.connect(port)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\xff",
        b"[" * 4000,
        b"{}",
        b"[]",
        b'{"kind": "seen", "number": 1}',
        b'{"kind": "ended", "number": "1"}',
        b'{"kind": "ended", "number": true}',
        b'{"kind": "ended", "number": -1}',
        b'{"kind": "ended", "number": 1, "code": 100000}',
        b'{"kind": "failed", "number": 1, "errno": 1e3}',
        b'{"kind": ["ended"], "number": 1}',
    ],
)
def test_what_no_holder_says_is_refused(said: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        answer(said)


def test_a_step_is_one_of_those_that_there_are() -> None:
    told = json.dumps({"kind": "failed", "number": 1, "errno": 2, "step": "<script>"}).encode()
    assert answer(told) == holder_protocol.Answer("failed", 1, errno=2)


HOSTILE = """
import json, os, socket, sys, time
control = socket.socket(fileno=3)
def say(*descriptors, **message):
    socket.send_fds(control, [json.dumps(message).encode()], descriptors)
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
    sys.exit()
say(kind="ready")
def asked():
    while True:
        request = json.loads(control.recv(65536))
        if request["kind"] != "seen":
            return request["number"]
"""


async def _taken_over(children: ChildProcesses, tmp_path: Path, script: str) -> Holder:
    """Return a holder that runs the script: its parent stands for bubblewrap."""
    daemons, holders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    daemons.setblocking(False)
    bubble = await children.start(
        [sys.executable, "-c", HOSTILE + script],
        owner="test",
        cwd=tmp_path,
        env=INSIDE,
        stdout="null",
        passed=[holders.fileno()],
    )
    holders.close()
    holder = Holder(bubble, daemons, "test")
    await holder.ready(60)
    return holder


def _command() -> Command:
    fields = holder_protocol.start_fields(
        [b"true"], [], ["null"] * 3, cwd=b"/", at=None, terminal=False, lingers=False, limits={}
    )
    return Command(fields)


@pytest.mark.requirement("cages.kernel.holder")
@pytest.mark.parametrize(
    "script",
    [
        "asked(); say(os.pidfd_open(os.getppid()), kind='started', number=1); time.sleep(60)",
        "asked(); say(os.pidfd_open(os.getpid()), kind='started', number=1); time.sleep(60)",
        "asked(); say(os.pidfd_open(1), kind='started', number=1); time.sleep(60)",
        "asked(); say(control.getsockopt(1, 77), kind='started', number=1); time.sleep(60)",
        "asked(); say(os.open('/dev/null', 0), kind='started', number=1); time.sleep(60)",
        "asked(); say(kind='started', number=1); time.sleep(60)",
        "asked(); say(0, 1, 2, kind='started', number=1); time.sleep(60)",
        "asked(); say(*[0] * 200, kind='started', number=1); time.sleep(60)",
        "asked(); say(socket.socket().fileno(), kind='opened', number=1); time.sleep(60)",
        "asked(); say(kind='started', number=2); time.sleep(60)",
        "asked(); say(kind='ended', number=1); time.sleep(60)",
        "asked(); say(kind='ready'); time.sleep(60)",
        "asked(); say(0, kind='failed', number=1); time.sleep(60)",
        "asked(); control.send(b'x' * 60000); time.sleep(60)",
        "asked(); control.send(b'{'); time.sleep(60)",
        "asked(); sys.exit()",
        "asked(); control.shutdown(2); time.sleep(60)",
        "asked(); os.kill(os.getpid(), 9)",
    ],
)
async def test_a_holder_that_was_taken_over_is_ended_with_all_of_its_cage(
    children: ChildProcesses, tmp_path: Path, script: str
) -> None:
    await children.run(["true"], owner="test", cwd=tmp_path, env=INSIDE, seconds=60, max_output=10)
    before = descriptors()
    holder = await _taken_over(children, tmp_path, script)
    with pytest.raises(HolderGone):
        async with asyncio.timeout(60):
            await holder.start(_command())
    async with asyncio.timeout(60):
        await holder.gone
        await holder.aclose()
    await until(lambda: descriptors() == before)


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_holder_that_floods_does_not_stop_the_daemon(
    children: ChildProcesses, tmp_path: Path
) -> None:
    holder = await _taken_over(
        children, tmp_path, "n = asked()\nwhile True: say(kind='failed', number=n, errno=2, step='load')"
    )
    with pytest.raises(Exception, match=r"load|says|answers"):
        await holder.start(_command())
    async with asyncio.timeout(60):
        await holder.gone
        await holder.aclose()


@pytest.mark.requirement("cages.kernel.holder")
async def test_what_a_holder_gives_does_not_hold_the_daemon_up_when_it_is_closed(
    children: ChildProcesses, tmp_path: Path
) -> None:
    script = (
        "n = asked(); taker = socket.socket(); taker.bind(('127.0.0.1', 0)); taker.listen()\n"
        "full = socket.create_connection(taker.getsockname()); full.setblocking(False)\n"
        "full.setsockopt(1, 13, b'\\1\\0\\0\\0' + b'\\x14\\0\\0\\0')\n"
        "try:\n    while True: full.send(b'x' * 65536)\nexcept BlockingIOError: pass\n"
        "say(full.fileno(), kind='failed', number=n, errno=2, step='load'); full.close()\n"
        "open('gone', 'w').close(); time.sleep(60)"
    )
    holder = await _taken_over(children, tmp_path, script)
    asked = asyncio.create_task(holder.start(_command()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    while not (tmp_path / "gone").exists():
        time.sleep(0.01)  # noqa: ASYNC251  (the daemon is to be the last that has the socket)
    begun = time.perf_counter()
    with pytest.raises(HolderGone):
        await asked
    assert time.perf_counter() - begun < 10
    await holder.aclose()


@pytest.mark.requirement("cages.kernel.holder")
async def test_an_exit_that_is_never_reported_is_noticed(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.caged_leader.LOST_SECONDS", 0.1)
    script = (
        "n = asked(); pid = os.fork()\n"
        "if not pid: os.execlp('sleep', 'sleep', '0.3')\n"
        "say(os.pidfd_open(pid), kind='started', number=n); os.waitpid(pid, 0); time.sleep(60)"
    )
    holder = await _taken_over(children, tmp_path, script)
    leader = await holder.start(_command())
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    leader.watch(lambda: None, ended.set_result)
    async with asyncio.timeout(60):
        assert await ended == 255
    await holder.aclose()


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_silent_holder_is_ended(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.holder.REPLY_SECONDS", 0.2)
    holder = await _taken_over(children, tmp_path, "asked(); time.sleep(60)")
    with pytest.raises(HolderGone, match="does not answer"):
        await holder.start(_command())
    async with asyncio.timeout(60):
        await holder.gone
    await holder.aclose()


async def test_what_is_asked_of_an_ended_cage_is_refused(cage: Caged) -> None:
    await cage.says("true")
    await cage.cages.end("test")
    with pytest.raises(Exception, match="has ended") as told:
        await cage.says("true")
    assert not isinstance(told.value, SpawnFailed)


@pytest.mark.requirement("cages.kernel.holder", "cages.kernel.limits")
async def test_a_cage_that_leaves_thousands_behind_costs_the_daemon_little(cage: Caged) -> None:
    await cage.says("true")
    before = descriptors().keys()
    child = await cage.start(
        "i=0; while [ $i -lt 2000 ]; do setsid sleep 1000 & i=$((i+1)); done; wait -n; echo", lingers=True
    )
    longest = LongestTurn()
    await asyncio.sleep(3)
    assert longest.stop() < 0.5
    assert len(descriptors().keys() - before) < 500
    async with asyncio.timeout(60):
        await cage.cages.end("test")
        await child.aclose()


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_cage_that_is_to_be_another_is_so_once_and_what_only_reads_may_finish(
    children: ChildProcesses, tmp_path: Path
) -> None:
    need_tier(FULL)
    cages = Cages(children, FULL, quarantine=tmp_path / "quarantine")
    (tmp_path / "a").mkdir()
    one, other = (Cage(mounts=(Mount(folder, "ro"),)) for folder in (tmp_path / "a", tmp_path))
    wide = Cage(mounts=(Mount(tmp_path, "rw"),))
    command = ["/bin/sh", "-c", "read line; echo done"]
    ended = []
    try:
        for first, second in ((one, other), (wide, one)):
            starter = await cages.children("test", first, tmp_path)
            child = await starter.start(command, owner="test", cwd=Path("/"), env=INSIDE, stdin="pipe")
            starters = await asyncio.gather(*(cages.children("test", second, tmp_path) for _ in range(5)))
            assert len({id(starter) for starter in starters}) == 1
            assert child.stdin is not None
            child.stdin.close()
            ended.append(await child.wait())
            await child.aclose()
            await cages.end("test")
        assert ended == [0, 137]
    finally:
        await cages.aclose()
    await until(lambda: _holders() == [])
