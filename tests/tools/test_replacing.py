"""How a file takes another's place: nothing of others is lost, nothing of ours is left behind."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import stat
import sys
import time

import pytest

from app.workspace import new_file

pytestmark = pytest.mark.requirement("file.edit.stale")


def outsider(file, content: str) -> None:
    """Replace a file as a careful editor does."""
    beside = file.with_name(f"{file.name}.outside")
    beside.write_text(content)
    beside.rename(file)


@pytest.mark.parametrize("changes", [1, 2, 3])
async def test_a_change_by_others_at_the_last_moment_stays(desk, monkeypatch, changes):
    """Also when they change it again while what they wrote before is being put back."""
    file = desk.put("a.txt", "old\n")
    await desk.ok("file.read", path="a.txt")
    exchange, done = new_file._exchange, []

    def after_others(*names):
        if len(done) < changes:
            done.append(len(done))
            outsider(file, f"theirs {len(done)}\n")
        exchange(*names)

    monkeypatch.setattr(new_file, "_exchange", after_others)
    assert await desk.code("edit.text", path="a.txt", old_string="old", new_string="mine") == (
        "file_changed_since_read"
    )
    assert file.read_text() == f"theirs {changes}\n"
    assert os.listdir(desk.root) == ["a.txt"]


async def test_a_change_in_place_at_the_last_moment_stays(desk, monkeypatch):
    file = desk.put("a.txt", "old\n")
    await desk.ok("file.read", path="a.txt")
    exchange = new_file._exchange

    def after_others(*names):
        monkeypatch.setattr(new_file, "_exchange", exchange)
        file.write_text("theirs, in place\n")
        exchange(*names)

    monkeypatch.setattr(new_file, "_exchange", after_others)
    assert await desk.code("file.write", path="a.txt", content="mine") == "file_changed_since_read"
    assert file.read_text() == "theirs, in place\n"


async def test_a_file_deleted_at_the_last_moment_stays_deleted(desk, monkeypatch):
    file = desk.put("a.txt", "old\n")
    await desk.ok("file.read", path="a.txt")
    exchange = new_file._exchange

    def after_others(*names):
        file.unlink()
        exchange(*names)

    monkeypatch.setattr(new_file, "_exchange", after_others)
    assert await desk.code("file.write", path="a.txt", content="mine") == "file_changed_since_read"
    assert os.listdir(desk.root) == []


@pytest.fixture(params=["no unnamed files", "no exchange", "neither"])
def poor_file_system(request, monkeypatch):
    def refuse(*_names):
        raise OSError(errno.EINVAL, "not here")

    if request.param != "no exchange":
        monkeypatch.setattr(new_file, "_UNNAMED", 0)
    if request.param != "no unnamed files":
        monkeypatch.setattr(new_file, "_exchange", refuse)


async def test_a_file_system_that_lacks_something_still_replaces_whole(desk, poor_file_system):
    file = desk.put("a.txt", "old\n")
    file.chmod(0o640)
    await desk.ok("file.read", path="a.txt")
    await desk.ok("edit.text", path="a.txt", old_string="old", new_string="new")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new\n", 0o640)
    outsider(file, "theirs\n")
    assert await desk.code("edit.text", path="a.txt", old_string="new", new_string="x") == (
        "file_changed_since_read"
    )
    await desk.ok("file.create", path="sub/b.txt", content="b")
    assert await desk.code("file.create", path="sub/b.txt", content="c") == "file_exists"
    assert (file.read_text(), (desk.root / "sub/b.txt").read_text()) == ("theirs\n", "b")
    assert sorted(os.listdir(desk.root)) == ["a.txt", "sub"]
    assert os.listdir(desk.root / "sub") == ["b.txt"]


KILLED = """
import os, signal, sys
from app.workspace import new_file
if sys.argv[2] == "named":
    new_file._UNNAMED = 0
with new_file.NewFile(os.open(sys.argv[1], os.O_RDONLY), 0o644) as new:
    new.write(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("kind", "left"), [("unnamed", 0), ("named", 1)])
async def test_what_a_killed_write_left_is_gone_after_the_next_write_there(desk, kind, left, monkeypatch):
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(desk.root), kind)
    assert await killed.wait() == -signal.SIGKILL
    leftovers = [desk.root / name for name in os.listdir(desk.root)]
    assert len(leftovers) == left
    later = time.time() + new_file.LEFTOVER_SECONDS + 60
    monkeypatch.setattr(new_file.time, "time", lambda: later)
    kept = [".kaged-0123456789abcdef.tmp.txt", ".kaged-0123456789ABCDEF.tmp", ".kaged-notes.tmp"]
    for name in kept:
        desk.put(name, "not ours")
    young = ".kaged-00000000000000ff.tmp"
    os.utime(desk.put(young, "another daemon writes it now"), (later, later))
    (desk.root / ".kaged-00000000000000aa.tmp").mkdir()
    await desk.ok("file.create", path="a.txt", content="a")
    assert sorted(os.listdir(desk.root)) == sorted([*kept, young, "a.txt", ".kaged-00000000000000aa.tmp"])


async def test_names_are_made_durable_with_what_they_name(desk, monkeypatch):
    """A power failure after a write must not bring the old file back."""
    sync, synced = os.fsync, []

    def noting(descriptor):
        status = os.fstat(descriptor)
        synced.append(status.st_ino if stat.S_ISDIR(status.st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    await desk.ok("file.create", path="sub/a.txt", content="a")
    root, sub = desk.root.stat().st_ino, (desk.root / "sub").stat().st_ino
    assert synced == ["file", sub, root]
    synced.clear()
    await desk.ok("file.write", path="sub/a.txt", content="b")
    assert synced == ["file", sub]
