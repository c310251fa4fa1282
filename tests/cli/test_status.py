"""`kaged status` and `kaged stop`: daemons that run, hang, are somebody else's, or are not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from app.storage.lock import DataFolderLock, process_start
from app.storage.revisions import HEAD
from tests.driver.kaged import COMMAND, DaemonProcess, Home

STATUS = pytest.mark.requirement("command_line.status")
STOP = pytest.mark.requirement("command_line.stop")


def status(home: Home, *arguments: str, exit_code: int, patience: float = 60) -> dict[str, Any]:
    done = home.run("status", *arguments, "--json", "--timeout", str(patience))
    assert done.returncode == exit_code, done.stderr
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


@contextmanager
def held(home: Home, **holder: Any) -> Iterator[None]:
    """Hold the data folder in this process, and have the lock say something else."""
    with DataFolderLock(home.data_dir):
        (home.data_dir / "daemon.lock").write_bytes(orjson.dumps({"started_at": 1, **holder}) + b"\n")
        yield


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is no daemon, of another user if this one is root."""
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    process = subprocess.Popen(["sleep", "600"], **other)  # type: ignore[call-overload]
    yield process
    process.kill()
    process.wait()


@STATUS
@STOP
def test_without_a_daemon_status_exits_with_3_and_stop_has_nothing_to_do(home: Home) -> None:
    assert status(home, exit_code=3)["state"] == "stopped"
    home.data_dir.mkdir()
    left = {"pid": os.getpid(), "url": "http://127.0.0.1:9", "started_at": 1}  # a lock that nobody holds
    (home.data_dir / "daemon.lock").write_bytes(orjson.dumps(left))
    assert status(home, exit_code=3)["pid"] is None
    told = home.run("status")
    assert (told.returncode, "kaged serve" in told.stdout) == (3, True)
    assert home.json("stop") == {
        "stopped": False,
        "killed": False,
        "pid": None,
        "sessions": None,
        "interrupted": [],
    }


@STATUS
@STOP
def test_status_says_what_runs_and_stop_waits_for_the_end(home: Home) -> None:
    with DaemonProcess(home).start() as daemon:
        sending = home.background("send", "stall")
        assert sending.stdout is not None
        sending.stdout.read(1)  # the run has begun to answer
        found = status(home, exit_code=0)
        assert (found["state"], found["pid"], found["url"]) == (
            "running",
            daemon.process.pid,
            daemon.ready["url"],
        )
        assert found["ready"] is True and found["problem"] is None
        assert found["cages"]["tier"] in ("full", "landlock", "none", "off")
        assert found["versions"]["database_schema"] == HEAD
        assert found["sessions"] == {"running": 1, "queued": 0, "waiting": 0}
        assert found["project"] == {"root": str(home.project), "loaded": True}
        assert [one["slug"] for one in found["projects"]] == ["library"]
        elsewhere = home.run("status", "--timeout", "60", "--project", str(home.folder))
        assert "1 running" in elsewhere.stdout and "is not loaded" in elsewhere.stdout
        remote = status(home, "--url", daemon.ready["url"], "--token", daemon.token, exit_code=0)
        assert (remote["pid"], remote["sessions"]["running"]) == (None, 1)
        assert home.run("stop", KAGED_URL="http://127.0.0.1:9").returncode == 2

        stopped = home.json("stop", "--timeout", "300")
        assert (stopped["stopped"], stopped["killed"], stopped["pid"]) == (True, False, daemon.process.pid)
        assert [one["state"] for one in stopped["interrupted"]] == ["running"]
        assert daemon.wait() == 0
        sending.kill()
        sending.communicate()
    assert status(home, exit_code=3)["state"] == "stopped"


@STATUS
@STOP
def test_a_daemon_that_hangs_is_told_from_one_that_runs_and_can_be_killed(home: Home) -> None:
    with DaemonProcess(home).start() as daemon:
        daemon.signal(signal.SIGSTOP)
        found = status(home, exit_code=1, patience=0.5)
        assert (found["state"], found["pid"]) == ("unresponsive", daemon.process.pid)
        assert "suspended by a signal" in found["problem"]
        patient = home.run("stop", "--timeout", "0")
        assert patient.returncode == 1
        assert "has not ended yet" in patient.stderr and "--now" in patient.stderr
        assert daemon.process.poll() is None
        killed = home.json("stop", "--timeout", "0", "--now")
        assert killed["killed"] is True
        assert daemon.wait() == -signal.SIGKILL


@STATUS
@STOP
def test_a_number_that_is_another_process_here_is_never_signalled(
    home: Home, bystander: subprocess.Popen[bytes]
) -> None:
    """As in a data folder that a container shares, or after a number was given away again."""
    started = process_start(bystander.pid)
    if started is None:
        pytest.skip("this system does not say when a process was started")
    with held(home, pid=bystander.pid, url="http://127.0.0.1:9", process_started=started - 1):
        found = status(home, exit_code=1)
        assert (found["state"], found["pid"]) == ("unresponsive", None)
        assert "another container" in found["problem"]
        done = home.run("stop", "--timeout", "0", "--now")
        assert done.returncode == 1 and "stop it there" in done.stderr
        assert bystander.poll() is None


@STATUS
@STOP
def test_what_holds_the_folder_without_an_address_is_left_alone(
    home: Home, bystander: subprocess.Popen[bytes]
) -> None:
    with held(home, pid=bystander.pid, url=None, process_started=process_start(bystander.pid)):
        assert status(home, exit_code=1)["state"] == "starting"
        done = home.run("stop", "--timeout", "0.2")
        assert done.returncode == 1 and "left alone" in done.stderr
        assert bystander.poll() is None
    with DataFolderLock(home.data_dir):
        (home.data_dir / "daemon.lock").write_bytes(b"{")
        assert "does not say which" in status(home, exit_code=1)["problem"]
        assert "does not say which" in home.run("stop", "--now", "--timeout", "0.2").stderr


@STATUS
@STOP
def test_what_belongs_to_another_user_is_said_to(home: Home, bystander: subprocess.Popen[bytes]) -> None:
    """Root without its privileges is an ordinary user."""
    root = os.geteuid() == 0
    if root and shutil.which("setpriv") is None:
        pytest.skip("setpriv takes the privileges of root away")
    without = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if root else []
    pid = bystander.pid if root else 1

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*without, *COMMAND, *arguments]
        return subprocess.run(
            command, cwd=home.project, env=home.environment(), capture_output=True, text=True, timeout=60
        )

    with held(home, pid=pid, url="http://127.0.0.1:9", process_started=process_start(pid)):
        done = run("stop", "--timeout", "0", "--now")
        assert done.returncode == 1, done.stdout
        assert "belongs to" in done.stderr and "this user may not stop it" in done.stderr
        assert not root or bystander.poll() is None
        home.data_dir.chmod(0)
        try:
            for command in (("status",), ("stop",), ("session", "list")):
                done = run(*command)
                assert done.returncode == 1, command
                assert "cannot be read" in done.stderr, command
        finally:
            home.data_dir.chmod(0o700)
