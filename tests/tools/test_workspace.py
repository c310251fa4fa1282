"""The containment of paths: text rules, links, special files, and races against them."""

from __future__ import annotations

import errno
import gc
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from app.errors import ToolError
from app.workspace import Workspace, descriptors
from tests.driver.swapping import swapping

SECRET = "top secret"


@pytest.fixture(params=["openat2", "walk"])
def opener(request, monkeypatch):
    """Every rule holds with the kernel's openat2 and without it."""
    if request.param == "walk":
        monkeypatch.setattr(descriptors, "_syscall", lambda: None)
    elif descriptors._syscall() is None:
        pytest.skip("this kernel has no openat2")
    return request.param


def _outside(desk) -> Path:
    folder = desk.base / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.mark.requirement("bad_input.nul")
async def test_a_path_with_nul_is_refused_by_every_tool(desk):
    before = desk.snapshot()
    for tool, more in [
        ("file.read", {}),
        ("file.write", {"content": ""}),
        ("file.create", {"content": ""}),
        ("edit.text", {"old_string": "a", "new_string": "b"}),
    ]:
        envelope = await desk.call(tool, path="a\0b", **more)
        assert (envelope.code, "NUL" in envelope.error_text) == ("invalid_path", True)
    assert desk.snapshot() == before


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "/",
        "~",
        "~/x",
        "~root/x",
        "a" * 256,
        "a/" * 3000,
        "/proc/self/environ",
    ],
)
async def test_paths_that_lead_elsewhere_by_their_text_are_refused(desk, opener, path):
    assert await desk.code("file.read", path=path) == "invalid_path"
    assert await desk.code("file.write", path=path, content="x") == "invalid_path"


async def test_dots_inside_the_root_are_resolved_by_text(desk, opener):
    desk.put("b.txt", "x")
    assert (await desk.ok("file.read", path="./missing/../b.txt"))["content"] == "1: x"


async def test_a_folder_whose_name_begins_like_the_root_is_outside(desk, opener):
    twin = desk.base / "project-twin"
    twin.mkdir()
    (twin / "a.txt").write_text(SECRET)
    assert await desk.code("file.read", path=str(twin / "a.txt")) == "invalid_path"
    (desk.root / "link").symlink_to(twin)
    assert await desk.code("file.read", path="link/a.txt") == "invalid_path"


async def test_a_folder_whose_name_begins_like_a_cage_entry_is_not_covered(desk, opener):
    desk.put("srcfoo/a.txt", SECRET)
    desk.put("src/a.txt", "fine")
    caged = desk.caged(("rw", "./src"))
    assert (await caged.ok("file.read", path="src/a.txt"))["content"] == "1: fine"
    assert await caged.code("file.read", path="srcfoo/a.txt") == "capability_denied"


@pytest.mark.parametrize("kind", ["absolute", "relative", "chain", "parent"])
@pytest.mark.requirement("file.read.symlink")
async def test_a_link_that_leads_out_is_refused_for_reading_and_writing(desk, opener, kind):
    outside = _outside(desk)
    if kind == "absolute":
        (desk.root / "link").symlink_to(outside)
    elif kind == "relative":
        (desk.root / "link").symlink_to("../outside")
    elif kind == "chain":
        (desk.root / "first").symlink_to("../outside")
        (desk.root / "link").symlink_to("first")
    else:
        (desk.root / "up").symlink_to("..")
        (desk.root / "link").symlink_to("up/outside")
    before = desk.snapshot()
    assert await desk.code("file.read", path="link/secret.txt") == "invalid_path"
    assert await desk.code("file.write", path="link/secret.txt", content="x") == "invalid_path"
    assert await desk.code("file.create", path="link/new.txt", content="x") == "invalid_path"
    assert desk.snapshot() == before


@pytest.mark.requirement("file.read.symlink")
async def test_a_link_that_stays_inside_is_followed_even_when_absolute(desk, opener):
    desk.put("real/a.txt", "x")
    (desk.root / "relative").symlink_to("real")
    (desk.root / "absolute").symlink_to(desk.root / "real")
    for name in ("relative", "absolute"):
        assert (await desk.ok("file.read", path=f"{name}/a.txt"))["content"] == "1: x"


async def test_a_dangling_link_inside_is_written_through_and_kept(desk, opener):
    (desk.root / "link").symlink_to("later/new.txt")
    assert await desk.code("file.read", path="link") == "file_not_found"
    await desk.ok("file.create", path="link", content="x")
    assert (desk.root / "link").is_symlink()
    assert (desk.root / "later/new.txt").read_text() == "x"


async def test_a_loop_of_links_is_refused(desk, opener):
    (desk.root / "a").symlink_to("b")
    (desk.root / "b").symlink_to("a")
    assert await desk.code("file.read", path="a") == "invalid_path"
    assert await desk.code("file.write", path="a/x", content="") == "invalid_path"


@pytest.mark.timeout(20)
async def test_pipes_sockets_and_devices_are_refused_without_blocking(desk, opener, monkeypatch):
    os.mkfifo(desk.root / "pipe")
    names = ["pipe", "socket"]
    monkeypatch.chdir(desk.root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        if os.geteuid() == 0:
            os.mknod(desk.root / "zero", 0o20666, os.makedev(1, 5))
            names.append("zero")
        for name in names:
            assert await desk.code("file.read", path=name) == "invalid_path"
            assert await desk.code("file.write", path=name, content="x") == "invalid_path"


async def test_links_of_the_process_file_system_lead_nowhere(desk, opener):
    handle = os.open(_outside(desk) / "secret.txt", os.O_RDONLY)
    try:
        (desk.root / "magic").symlink_to(f"/proc/self/fd/{handle}")
        (desk.root / "root").symlink_to("/proc/self/root")
        assert await desk.code("file.read", path="magic") == "invalid_path"
        assert await desk.code("file.read", path="root/etc/passwd") == "invalid_path"
    finally:
        os.close(handle)


def test_files_that_show_processes_are_refused_even_below_the_root(opener):
    workspace = Workspace(Path("/proc/self"))
    with pytest.raises(ToolError) as refused, workspace.open("status"):
        pass
    assert refused.value.code == "invalid_path"
    with pytest.raises(ToolError), workspace.open("root/etc/passwd"):
        pass


def test_the_whole_file_system_is_no_project(opener):
    with pytest.raises(ToolError) as refused, Workspace(Path("/")).open("etc/passwd"):
        pass
    assert refused.value.code == "invalid_path"


async def test_the_daemons_data_folder_is_closed_also_through_links(desk, opener):
    inside = desk.root / "state"
    inside.mkdir()
    (inside / "token").write_text(SECRET)
    workspace = Workspace(desk.root, closed=(inside,))
    (desk.root / "link").symlink_to("state")
    for path in ("state/token", "link/token", "state", "STATE/../state/token"):
        with pytest.raises(ToolError) as refused, workspace.open(path):
            pass
        assert refused.value.code == "capability_denied"
        with pytest.raises(ToolError), workspace.target(path):
            pass
    assert not workspace.may_read(("state",))


async def test_nothing_is_left_open(desk, opener):
    desk.put("a/b/c.txt", "x")
    (desk.root / "out").symlink_to("/etc")
    await desk.ok("file.read", path="a")  # the root itself stays open from its first use on
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a/b/c.txt", "a", "out/passwd", "missing/x", "a/b/c.txt/d"):
        await desk.call("file.read", path=path)
        await desk.call("file.write", path=path, content="x")
        await desk.call("edit.text", path=path, old_string="x", new_string="y")
    assert len(os.listdir("/proc/self/fd")) == before


@contextmanager
def _swapping(root: Path, outside: Path) -> Iterator[None]:
    """Another process turns `root/door` into a link to the outside and back, without pause."""
    (root / "bait").symlink_to(outside)
    with swapping(root / "door", root / "bait"):
        yield


async def test_a_directory_swapped_for_a_link_never_lets_a_read_or_write_escape(desk, opener):
    outside = _outside(desk)
    desk.put("door/secret.txt", "harmless")
    codes: set[str | None] = set()
    end = time.monotonic() + 20
    with _swapping(desk.root, outside):
        for turn in count():  # until the race was lost, however rarely the other process gets its turn
            if (turn >= 1000 or time.monotonic() > end) and len(codes) > 1:
                break
            read = await desk.call("file.read", path="door/secret.txt")
            assert SECRET not in read.model_text()
            written = await desk.call("file.create", path=f"door/new-{turn}.txt", content="x")
            codes |= {read.code, written.code}
            if turn % 5 == 0:
                codes.add((await desk.call("file.write", path="door/secret.txt", content="mine")).code)
    assert (outside / "secret.txt").read_text() == SECRET
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert "internal_error" not in codes


async def test_a_file_swapped_for_a_link_never_lets_a_write_escape(desk, opener):
    outside = _outside(desk)
    desk.put("door", "harmless")
    end = time.monotonic() + 20
    with _swapping(desk.root, outside / "secret.txt"):
        for turn in range(500):
            if turn >= 50 and time.monotonic() > end:
                break
            read = await desk.call("file.read", path="door")
            assert SECRET not in read.model_text()
            await desk.call("file.write", path="door", content=f"mine {turn}")
    assert (outside / "secret.txt").read_text() == SECRET


async def test_a_file_that_is_replaced_while_it_is_opened_keeps_its_name(desk, opener):
    """What was found under a name may be called otherwise a moment later, when another has the name."""
    desk.put("door", "one\n")
    desk.put("bait", "other\n")
    workspace = Workspace(desk.root)
    found: set[tuple[str, str]] = set()
    door = desk.root / "door"
    with swapping(door, desk.root / "bait"):
        for turn in count():  # until both were met, however rarely the other process gets its turn
            if turn >= 3000 and len(found) > 1:
                break
            with workspace.open("door") as opened:
                found.add((opened.key, os.read(opened.descriptor, 9).decode()))
    assert found == {(str(door), "one\n"), (str(door), "other\n")}


async def test_a_change_between_reading_back_and_replacing_is_noticed(desk):
    file = desk.put("a.txt", "old")
    workspace = Workspace(desk.root)
    for change in ("rewritten", "replaced", "removed"):
        file.write_text("old")
        with workspace.target("a.txt") as target:
            assert target.read() == b"old"
            if change == "rewritten":
                file.write_text("theirs")
            elif change == "replaced":
                desk.put("b.txt", "old").rename(file)
            else:
                file.unlink()
            before = desk.snapshot()
            with pytest.raises(ToolError) as refused:
                target.replace(b"mine")
        assert refused.value.code == "file_changed_since_read"
        assert desk.snapshot() == before


async def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(desk):
    desk.put("a.txt", "old")
    await desk.ok("file.read", path="a.txt")
    before = desk.snapshot()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        for tool, path in (("file.write", "a.txt"), ("file.create", "x/y/b.txt")):
            assert await desk.code(tool, path=path, content="z" * (2 << 20)) == "no_space"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert desk.snapshot() == before


async def test_a_file_system_without_hard_links_still_creates_exclusively(desk, monkeypatch):
    def refuse(*_args, **_more):
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    await desk.ok("file.create", path="sub/a.txt", content="mine")
    assert await desk.code("file.create", path="sub/a.txt", content="other") == "file_exists"
    assert [(p.name, p.read_text()) for p in (desk.root / "sub").iterdir()] == [("a.txt", "mine")]


@pytest.mark.requirement("file.edit.kept")
async def test_attributes_of_a_replaced_file_stay(desk):
    file = desk.put("a.txt", "old")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError as problem:
        pytest.skip(f"no extended attributes here: {problem}")
    await desk.ok("file.read", path="a.txt")
    await desk.ok("file.write", path="a.txt", content="new")
    assert os.getxattr(file, "user.note") == b"kept"


async def test_set_user_id_does_not_survive_new_content(desk):
    file = desk.put("a.txt", "old")
    file.chmod(0o4755)
    await desk.ok("file.read", path="a.txt")
    await desk.ok("file.write", path="a.txt", content="new")
    assert file.stat().st_mode & 0o7777 == 0o755
