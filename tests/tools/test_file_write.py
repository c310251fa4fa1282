"""`file.write` and `file.create` on real files."""

from __future__ import annotations

import os
import stat

import pytest

write = pytest.mark.requirement("tools.file_write")
create = pytest.mark.requirement("tools.file_create")


@write
@pytest.mark.requirement("file.write.parents")
async def test_writing_creates_missing_parent_directories(desk):
    data = await desk.ok("file.write", path="./a/b/c/new.ts", content="x\n")
    assert data == {"path": "./a/b/c/new.ts", "bytes_written": 2, "created": True}
    assert (desk.root / "a/b/c/new.ts").read_text() == "x\n"


@write
@pytest.mark.requirement("file.write.unread")
async def test_writing_over_an_unread_file_is_refused(desk):
    file = desk.put("a.txt", "old")
    envelope = await desk.call("file.write", path="a.txt", content="new")
    assert envelope.code == "file_not_read"
    assert "Read the file before overwriting it" in envelope.error_text
    assert file.read_text() == "old"


@write
async def test_a_file_that_was_read_is_replaced_whole(desk):
    file = desk.put("a.txt", "old and long\n")
    await desk.ok("file.read", path="a.txt", limit=1)
    data = await desk.ok("file.write", path="a.txt", content="né")
    assert data == {"path": "a.txt", "bytes_written": 3, "created": False}
    assert file.read_bytes() == "né".encode()


@write
@pytest.mark.requirement("file.edit.stale")
async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(desk):
    file = desk.put("a.txt", "old")
    await desk.ok("file.read", path="a.txt")
    file.write_text("theirs")
    assert await desk.code("file.write", path="a.txt", content="mine") == "file_changed_since_read"
    assert file.read_text() == "theirs"
    await desk.ok("file.read", path="a.txt")
    await desk.ok("file.write", path="a.txt", content="mine")
    assert file.read_text() == "mine"


@write
async def test_what_was_written_counts_as_read(desk):
    await desk.ok("file.write", path="a.txt", content="1")
    await desk.ok("file.write", path="a.txt", content="2")
    await desk.ok("edit.text", path="./a.txt", old_string="2", new_string="3")
    await desk.ok("file.write", path="a.txt", content="4")
    assert (desk.root / "a.txt").read_text() == "4"


@write
async def test_reading_is_tracked_for_each_agent_and_session(desk):
    desk.put("a.txt", "old")
    await desk.ok("file.read", path="a.txt")
    other = desk.as_agent("primary.subagents.x")
    assert await other.code("file.write", path="a.txt", content="new") == "file_not_read"
    desk.reads.forget("ses_1")
    assert await desk.code("file.write", path="a.txt", content="new") == "file_not_read"


@write
@pytest.mark.requirement("file.edit.kept")
async def test_the_mode_and_owner_of_a_replaced_file_stay(desk):
    file = desk.put("run.sh", "#!/bin/sh\n")
    file.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    before = file.stat()
    await desk.ok("file.read", path="run.sh")
    await desk.ok("file.write", path="run.sh", content="#!/bin/sh\ntrue\n")
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@write
@create
@pytest.mark.parametrize("tool", ["file.write", "file.create"])
async def test_a_new_file_honours_the_umask(desk, tool):
    before = os.umask(0o027)
    try:
        await desk.ok(tool, path="sub/new.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.root / "sub/new.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((desk.root / "sub").stat().st_mode) == 0o750


@write
@pytest.mark.requirement("file.edit.kept")
async def test_the_target_of_a_link_is_written_and_the_link_kept(desk):
    target = desk.put("real/a.txt", "old")
    (desk.root / "link.txt").symlink_to("real/a.txt")
    (desk.root / "absolute.txt").symlink_to(target)
    await desk.ok("file.read", path="link.txt")
    await desk.ok("file.write", path="link.txt", content="new")
    await desk.ok("file.write", path="absolute.txt", content="newer")
    assert (desk.root / "link.txt").is_symlink()
    assert (desk.root / "absolute.txt").is_symlink()
    assert target.read_text() == "newer"


@write
async def test_the_other_name_of_a_hard_linked_file_is_not_changed(desk):
    outside = desk.base / "outside.txt"
    outside.write_text("theirs")
    os.link(outside, desk.root / "inside.txt")
    await desk.ok("file.read", path="inside.txt")
    await desk.ok("file.write", path="inside.txt", content="mine")
    assert outside.read_text() == "theirs"


@write
@pytest.mark.parametrize(
    ("mark", "encoding", "name"),
    [
        (b"\xef\xbb\xbf", "utf-8", "utf-8-bom"),
        (b"\xff\xfe", "utf-16-le", "utf-16-le"),
        (b"", "latin-1", "latin-1"),
    ],
)
async def test_the_encoding_of_a_replaced_file_is_kept(desk, mark, encoding, name):
    file = desk.put("a.txt", mark + "alt: ä\n".encode(encoding))
    await desk.ok("file.read", path="a.txt")
    data = await desk.ok("file.write", path="a.txt", content="neu: ö\r\n")
    assert data["encoding"] == name
    assert file.read_bytes() == mark + "neu: ö\r\n".encode(encoding)


@write
async def test_a_latin_1_file_becomes_utf_8_when_its_new_content_needs_it(desk):
    file = desk.put("a.txt", "ä\n".encode("latin-1"))
    await desk.ok("file.read", path="a.txt")
    data = await desk.ok("file.write", path="a.txt", content="→\n")
    assert "encoding" not in data
    assert file.read_text(encoding="utf-8") == "→\n"


@write
async def test_writing_to_a_directory_is_refused(desk):
    (desk.root / "sub").mkdir()
    for path in (".", "sub", "sub/", "fresh/"):
        assert await desk.code("file.write", path=path, content="x") == "is_directory"
    assert not (desk.root / "fresh").exists()


@write
async def test_no_temporary_file_and_no_new_directory_is_left_after_a_failure(desk):
    desk.put("file", "x")
    before = desk.snapshot()
    assert await desk.code("file.write", path="file/below.txt", content="x") == "file_not_found"
    assert await desk.code("file.create", path="n/" + "é" * 127 + "é", content="x") == "invalid_path"
    (desk.root / "dangling").symlink_to("nowhere/../../out.txt")
    assert await desk.code("file.write", path="dangling", content="x") == "invalid_path"
    (desk.root / "dangling").unlink()
    assert desk.snapshot() == before


@create
@pytest.mark.requirement("file.create.exists")
async def test_creating_a_file_that_exists_is_refused(desk):
    file = desk.put("a.txt", "old")
    refused = await desk.call("file.create", path="a.txt", content="new")
    assert refused.code == "file_exists" and "read it first" in refused.error_text
    assert file.read_text() == "old"


@create
async def test_creating_a_file_makes_its_directories_and_counts_as_read(desk):
    data = await desk.ok("file.create", path="./src/clamp.ts", content="é")
    assert data == {"path": "./src/clamp.ts", "bytes_written": 2, "created": True}
    await desk.ok("edit.text", path="src/clamp.ts", old_string="é", new_string="e")
    assert [p.name for p in (desk.root / "src").iterdir()] == ["clamp.ts"]


@write
@create
async def test_writes_are_audited_with_size_and_caller(desk):
    await desk.ok("file.create", path="a.txt", content="12345")
    assert desk.ports.names() == ["tool.called", "file.written", "tool.completed"]
    assert desk.ports.of("file.written") == {
        "path": "a.txt", "bytes": 5, "created": True, "caller": "primary", "request_id": "req_1"
    }  # fmt: skip
