"""Where several daemons share a database, the processes of a stopped daemon end before its lease."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.process import ChildProcesses
from tests.bridges.conftest import ENVIRONMENT, until
from tests.bridges.test_guardian import with_folder

ROOT = Path(__file__).parents[2]
DAEMON = """
import asyncio, os, sys, threading, time
from pathlib import Path
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.process import ChildProcesses

def renew(deadline, seconds):
    while True:
        deadline.set(time.clock_gettime(time.CLOCK_BOOTTIME) + seconds)
        time.sleep(0.1)

async def main(folder, seconds):
    deadline = Deadline()
    children = ChildProcesses(deadline)
    threading.Thread(target=renew, args=(deadline, seconds), daemon=True).start()
    command = "echo $$ > pid; while sleep 0.1; do date >> lines; done"
    environment = {"PATH": os.environ["PATH"]}
    await children.start(["/bin/sh", "-c", command], owner="test", cwd=folder, env=environment)
    await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
"""
LEASE_SECONDS = 8.0


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that moves its deadline on, with a command that writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(tmp_path), str(LEASE_SECONDS)], cwd=ROOT, start_new_session=True
    )
    yield process
    process.kill()
    process.wait()


def count(folder: Path) -> int:
    file = folder / "lines"
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.requirement("replicas.guardian")
async def test_the_commands_of_a_stopped_daemon_end_at_its_deadline_and_not_before(
    daemon: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    await until(lambda: count(tmp_path) > 0, 120)
    shell = int((tmp_path / "pid").read_text())
    begun, seen = time.monotonic(), count(tmp_path)
    await until(lambda: time.monotonic() > begun + LEASE_SECONDS + 2, 120)
    await until(lambda: count(tmp_path) > seen, 60)
    assert not is_gone(shell)  # the daemon has done nothing but to move the deadline on

    os.kill(daemon.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    await until(lambda: is_gone(shell), 120)
    await until(lambda: not with_folder(tmp_path))  # nor is a `date` left that writes another line
    assert time.monotonic() - stopped > LEASE_SECONDS - 2
    assert daemon.poll() is None  # the daemon itself is left alone
    written = count(tmp_path)
    os.kill(daemon.pid, signal.SIGCONT)
    begun = time.monotonic()
    await until(lambda: time.monotonic() > begun + 1, 60)
    assert count(tmp_path) == written


@pytest.mark.requirement("replicas.guardian")
async def test_after_the_deadline_nothing_is_started_until_it_has_moved_on(tmp_path: Path) -> None:
    deadline = Deadline()
    children = ChildProcesses(deadline)
    try:
        assert not deadline.passed
        deadline.set(time.clock_gettime(time.CLOCK_BOOTTIME) - 1)
        with pytest.raises(SpawnFailed, match="shares with other daemons"):
            await children.start(["/bin/true"], owner="test", cwd=tmp_path, env=ENVIRONMENT)
        deadline.set(time.clock_gettime(time.CLOCK_BOOTTIME) + 600)
        child = await children.start(["/bin/true"], owner="test", cwd=tmp_path, env=ENVIRONMENT)
        assert await child.wait() == 0
    finally:
        await children.aclose()
