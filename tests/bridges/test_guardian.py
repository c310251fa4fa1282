"""Nothing that a daemon has started outlives it, also when it is killed."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from app.bridges.processes import guardian
from app.bridges.processes.child import Child
from app.bridges.processes.pipes import pipe
from app.bridges.processes.process import ChildProcesses
from tests.bridges.conftest import ENVIRONMENT, alive, children_of, descriptors, until

ROOT = Path(__file__).parents[2]
DAEMON = """
import asyncio, os, sys
from functools import partial
from pathlib import Path
from app.bridges.processes.process import ChildProcesses

async def main(folder, commands):
    children = ChildProcesses()
    environment = {"PATH": os.environ["PATH"]}
    for command in commands:
        shell = ["/bin/sh", "-c", command]
        await children.start(shell, owner="test", cwd=folder, env=environment, lingers=True)
    (folder / "started").touch()
    await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
"""
NOTE = "echo $$ >> pids"


class Daemon:
    """A process that starts commands as the daemon does."""

    def __init__(self, folder: Path, *commands: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", DAEMON, str(folder), *commands], cwd=ROOT, start_new_session=True
        )

    async def has_started(self, count: int) -> list[int]:
        """Return what the commands have noted, once there are so many."""
        await until(
            lambda: (
                (self.folder / "started").exists() and len(self.noted()) >= count and bool(self.guardians())
            )
        )
        return self.noted()

    def noted(self) -> list[int]:
        file = self.folder / "pids"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def guardians(self) -> list[int]:
        """Return the guardians that have begun to listen."""
        return guardians_of(self.process.pid)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def guardians_of(daemon: int) -> list[int]:
    """Return the guardians that have shut their ears to every signal that they ignore."""
    deaf = sum(1 << number - 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
    found = []
    for pid in children_of(daemon):
        try:
            ready = b"guardian_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ignored = Path(f"/proc/{pid}/status").read_text().partition("SigIgn:")[2].split()[0]
        except OSError:
            continue
        if ready and int(ignored, 16) & deaf == deaf:
            found.append(pid)
    return found


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process of the user's that has nothing to do with any daemon."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process.pid
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.fixture
def daemon(tmp_path: Path, bystander: int) -> Iterator[Callable[..., Daemon]]:
    before = children_of(os.getpid()).keys()
    made: list[Daemon] = []

    def start(*commands: str) -> Daemon:
        made.append(Daemon(tmp_path / f"daemon{len(made)}", *commands))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        for pid in one.noted():
            if not ended(pid):
                with suppress(ProcessLookupError):  # its guardian may be about to kill it, too
                    os.kill(pid, signal.SIGKILL)
    # This process may have adopted what the killed ones left.
    for pid in children_of(os.getpid()).keys() - before:
        os.waitpid(pid, 0)


KINDS = {
    "a plain child": (f"{NOTE}; exec sleep 600", 1),
    "a background child of a shell": (f"sleep 600 & echo $! >> pids; {NOTE}; wait", 2),
    "a background child whose shell is gone": ("sleep 600 & echo $! >> pids", 1),
    "a double fork in a session of its own": (f"setsid setsid -f sh -c '{NOTE}; exec sleep 600'", 1),
    "what ignores every signal it can": (f"trap '' TERM HUP INT QUIT; {NOTE}; while :; do sleep 1; done", 1),
    "a cleared environment": (f"exec env -i /bin/sh -c '{NOTE}; while :; do /bin/sleep 1; done'", 1),
    "a cleared environment in a session of its own": (
        f"env -i /usr/bin/setsid /bin/sh -c '{NOTE}; exec /bin/sleep 600' & wait",
        1,
    ),
    "a cleared environment in a session of its own whose parent is gone": (
        f"(env -i /usr/bin/setsid /bin/sh -c '{NOTE}; exec /bin/sleep 600' &); sleep 0.5",
        1,
    ),
    "what is stopped": (f"{NOTE}; kill -STOP $$", 1),
    "what multiplies": (f"f() {{ {NOTE}; while :; do setsid sleep 2 & sleep 0.02; done; }}; f & f", 2),
}


@pytest.mark.requirement("language_servers.processes.killed")
@pytest.mark.parametrize("kind", KINDS)
async def test_when_the_daemon_is_killed_it_takes_along(
    daemon: Callable[..., Daemon], bystander: int, kind: str
) -> None:
    command, count = KINDS[kind]
    other = daemon(f"{NOTE}; exec sleep 600")
    killed = daemon(command)
    pids = await killed.has_started(count)
    others = await other.has_started(1)
    if kind.startswith("a cleared environment in a session"):
        await asyncio.sleep(1.5)  # what nothing but its descent tells of is seen once a second
    (guardian,) = killed.guardians()
    killed.kill()
    await until(lambda: ended(guardian) and all(ended(pid) for pid in killed.noted()))
    await until(lambda: not with_folder(killed.folder))
    assert set(pids) <= set(killed.noted())
    assert not any(ended(pid) for pid in others)
    assert alive(bystander)


def has_children(pid: int, count: int) -> bool:
    return len(children_of(pid)) >= count


def with_folder(folder: Path) -> list[int]:
    """Return the living processes that are in a folder."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(folder):
                found.append(int(name))
        except OSError:
            continue
    return found


async def test_a_daemon_killed_at_any_moment_leaves_nothing(daemon: Callable[..., Daemon]) -> None:
    commands = [command for command, _ in KINDS.values() if "env -i" not in command]
    made = [daemon(*commands) for _ in range(6)]
    for started, one in enumerate(made, 1):
        await until(partial(has_children, one.process.pid, started))
        one.kill()
    await until(lambda: not any(with_folder(one.folder) for one in made))


async def test_signals_to_the_daemons_group_and_to_the_guardian_leave_it_in_place(
    daemon: Callable[..., Daemon],
) -> None:
    one = daemon(f"{NOTE}; exec sleep 600")
    (pid,) = await one.has_started(1)
    (guardian,) = one.guardians()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guardian, number)
    os.killpg(one.process.pid, signal.SIGKILL)
    one.process.wait()
    await until(lambda: ended(pid) and ended(guardian))


async def test_a_guardian_that_was_killed_is_replaced_by_one_that_knows_everything(
    daemon: Callable[..., Daemon],
) -> None:
    one = daemon(KINDS["a cleared environment"][0])
    (pid,) = await one.has_started(1)
    (first,) = one.guardians()
    os.kill(first, signal.SIGKILL)
    await until(lambda: one.guardians() not in ([], [first]))
    assert ended(first)
    one.kill()
    await until(lambda: ended(pid))


async def run(children: ChildProcesses, folder: Path, command: str = "exec sleep 600") -> Child:
    return await children.start(["/bin/sh", "-c", command], owner="test", cwd=folder, env=ENVIRONMENT)


async def test_a_guardian_that_does_not_listen_is_replaced(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small() -> tuple[int, int]:
        """Return a pipe that some hundred reports fill: thousands of children take a busy machine long."""
        ends = pipe()
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
        return ends

    monkeypatch.setattr(guardian, "pipe", small)
    monkeypatch.setattr(guardian, "REPORT_SECONDS", 0.0)  # children that end at once are reported, too
    await run(children, tmp_path)
    await until(lambda: len(guardians_of(os.getpid())) == 1)
    (first,) = guardians_of(os.getpid())
    os.kill(first, signal.SIGSTOP)
    async with asyncio.timeout(60):
        while not ended(first):
            await asyncio.gather(
                *(one.wait() for one in [await run(children, tmp_path, ":") for _ in range(50)])
            )
    await until(lambda: len(guardians_of(os.getpid())) == 1)


async def test_there_is_one_guardian_from_the_first_child_to_the_close(tmp_path: Path) -> None:
    gc.collect()  # what tests before this one have left open
    before, open_before = children_of(os.getpid()), descriptors()
    children = ChildProcesses()
    assert children_of(os.getpid()).keys() <= before.keys()
    for _ in range(3):
        async with await run(children, tmp_path):
            pass
    await until(lambda: len(guardians_of(os.getpid())) == 1)
    (guardian,) = children_of(os.getpid()).keys() - before.keys()
    await asyncio.sleep(0.6)  # the keeper looks for orphans meanwhile, twice
    assert guardians_of(os.getpid()) == [guardian]
    await children.aclose()
    assert children_of(os.getpid()).keys() <= before.keys()
    assert descriptors().keys() == open_before.keys()


async def test_a_daemon_that_closes_before_its_guardian_is_up_leaves_none(tmp_path: Path) -> None:
    gc.collect()  # what tests before this one have left open
    before, open_before = children_of(os.getpid()), descriptors()
    for wait in (0, 1, 2):
        children = ChildProcesses()
        child = await run(children, tmp_path)
        for _ in range(wait):
            await asyncio.sleep(0)
        await child.aclose()
        await children.aclose()
        assert children_of(os.getpid()).keys() <= before.keys()
        assert descriptors().keys() == open_before.keys()


async def test_keepers_in_one_process_leave_each_others_guardians_alone(
    children: ChildProcesses, tmp_path: Path
) -> None:
    other = ChildProcesses()
    await run(children, tmp_path)
    await run(other, tmp_path)
    await until(lambda: len(guardians_of(os.getpid())) == 2)
    both = guardians_of(os.getpid())
    await asyncio.sleep(0.6)
    assert guardians_of(os.getpid()) == both
    await other.aclose()
    assert len(guardians_of(os.getpid())) == 1
