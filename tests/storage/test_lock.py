"""The lock on the data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import Conflict
from app.ids import now_ms
from app.storage.lock import DataFolderLock, read_lock


@pytest.mark.requirement("bad_input.second_daemon")
def test_a_second_daemon_is_refused_and_learns_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    first = DataFolderLock(folder)
    first.acquire()
    first.announce("http://127.0.0.1:7777")
    with pytest.raises(Conflict) as caught:
        DataFolderLock(folder).acquire()
    assert str(os.getpid()) in str(caught.value)
    assert "http://127.0.0.1:7777" in str(caught.value)
    assert caught.value.details["pid"] == os.getpid()
    first.release()
    with DataFolderLock(folder):
        pass


def test_the_lock_says_who_holds_the_folder_as_long_as_it_is_held(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None
    with DataFolderLock(tmp_path) as lock:
        lock.announce("http://127.0.0.1:12345/a/long/address")
        lock.announce("http://[::1]:1")
        holder = read_lock(tmp_path)
        assert holder is not None
        assert (holder.pid, holder.url) == (os.getpid(), "http://[::1]:1")
        assert abs(holder.started_at - now_ms()) < 60_000
    assert read_lock(tmp_path) is None


def test_the_lock_of_a_killed_process_holds_no_longer(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from app.storage.lock import DataFolderLock\n"
        "DataFolderLock(Path(sys.argv[1])).acquire(); print('held', flush=True)\n"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"held\n"
    holder = read_lock(tmp_path)
    assert holder is not None
    assert holder.pid == process.pid
    with pytest.raises(Conflict, match=str(process.pid)):
        DataFolderLock(tmp_path).acquire()
    process.kill()
    process.wait(60)
    process.stdin.close()
    process.stdout.close()
    assert (tmp_path / "daemon.lock").read_bytes()
    assert read_lock(tmp_path) is None
    with DataFolderLock(tmp_path):
        pass


def test_the_lock_file_is_for_its_owner_only(tmp_path: Path) -> None:
    with DataFolderLock(tmp_path / "data"):
        assert (tmp_path / "data" / "daemon.lock").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[1, null, 1]",
        "null",
        '{"pid": "12", "url": null, "started_at": 1}',
        '{"pid": null, "url": null, "started_at": 1}',
        '{"pid": true, "url": null, "started_at": 1}',
        '{"pid": 0, "url": null, "started_at": 1}',
        '{"pid": -1, "url": null, "started_at": 1}',
        '{"pid": 99999999999999999999, "url": null, "started_at": 1}',
        '{"pid": 9223372036854775807, "url": null, "started_at": 1}',
        '{"pid": 12, "url": 7777, "started_at": 1}',
        '{"pid": 12, "url": null, "started_at": "now"}',
        "\xff",
    ],
)
def test_a_held_lock_with_damaged_content_is_still_held(tmp_path: Path, content: str) -> None:
    file = tmp_path / "daemon.lock"
    with DataFolderLock(tmp_path):
        file.write_bytes(content.encode("latin-1"))
        assert read_lock(tmp_path) is None
        with pytest.raises(Conflict, match=f"another process already .*{file} does not say which"):
            DataFolderLock(tmp_path).acquire()
    with DataFolderLock(tmp_path):
        pass


_LEFT = """
import fcntl, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(file, fcntl.LOCK_EX)
daemon = os.fork()
if daemon == 0:
    os._exit(0)
os.waitpid(daemon, 0)
os.pwrite(file, b'{"pid": %d, "url": null, "started_at": 1}\\n' % daemon, 0)
print("held", flush=True)
sys.stdin.readline()
time.sleep(0.3)
"""


def test_the_lock_that_a_child_of_a_dead_daemon_holds_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.lock.LEFT_SECONDS", 60.0)  # the moment is as long as the machine is busy
    left = subprocess.Popen(
        [sys.executable, "-c", _LEFT, str(tmp_path / "daemon.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with left:
        assert left.stdout is not None and left.stdin is not None
        assert left.stdout.readline() == b"held\n"
        left.stdin.write(b"go on\n")
        left.stdin.flush()
        with DataFolderLock(tmp_path):
            assert read_lock(tmp_path) is not None
