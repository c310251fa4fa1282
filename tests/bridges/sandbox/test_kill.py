"""The end of the daemon is the end of what is in its cages, however it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bridges.conftest import alive, until
from tests.driver.caging import INSIDE

REPOSITORY = Path(__file__).parents[3]
DAEMON = """
import asyncio, sys
from pathlib import Path
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages, Tier
from app.cages.cage import Cage, Mount

async def main():
    root = Path(sys.argv[1])
    cages = Cages(ChildProcesses(), Tier("full", "test"), quarantine=root.parent / "quarantine")
    starter = await cages.children("test", Cage(mounts=(Mount(root, "rw"),)), root)
    script = "setsid env -i sh -c 'touch one; exec sleep 1000' & touch two; trap '' TERM HUP; sleep 1000; :"
    command = ["/bin/sh", "-c", script]
    child = await starter.start(command, owner="t", cwd=root, env={"PATH": "/usr/bin"}, lingers=True)
    print("running", flush=True)
    await child.wait()

asyncio.run(main())
"""


def _below(pid: int) -> set[int]:
    """Return the processes below another one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def _is_there(pid: int) -> bool:
    """Tell whether a process is there; one that has come to this process by its parents' end is reaped."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return alive(pid)


def _daemon(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(root)],
        env={"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]), **INSIDE},
        stdout=subprocess.PIPE,
    )


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.kernel.holder")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_daemon_that_is_killed_leaves_no_cage_behind(tmp_path: Path, number: signal.Signals) -> None:
    root = tmp_path / "project"
    root.mkdir()
    daemon = _daemon(root)
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"running\n"
        await until(lambda: (root / "one").exists() and (root / "two").exists())
        started = _below(daemon.pid)
        assert len(started) >= 5  # bubblewrap, the holder, the command and what it has started, the guardian
        daemon.send_signal(number)
        daemon.wait(60)
        await until(lambda: not any(map(_is_there, started)))
    finally:
        daemon.kill()
        daemon.communicate()
