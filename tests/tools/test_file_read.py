"""`file.read` on real files."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from app.tools.file import text_scan
from tests.tools import pictures

PNG = pictures.png(3, 2)
HUNDRED = "".join(f"line {number}\n" for number in range(1, 101))

pytestmark = pytest.mark.requirement("tools.file_read")


@pytest.mark.requirement("file.read.happy")
async def test_a_known_file_comes_back_as_numbered_lines(desk):
    desk.put("src/main.ts", "import x;\n\nrun();\n")
    data = await desk.ok("file.read", path="./src/main.ts")
    assert data == {
        "path": "./src/main.ts",
        "type": "file",
        "content": "1: import x;\n2: \n3: run();",
        "total_lines": 3,
        "truncated": False,
    }


async def test_the_model_reads_the_lines_unescaped_below_one_line_of_json(desk):
    desk.put("a.py", 'print("\\t")\n')
    envelope = await desk.call("file.read", path="a.py")
    head, body = envelope.model_text().split("\n", 1)
    assert head == '{"path":"a.py","type":"file","total_lines":1,"truncated":false}'
    assert body == '1: print("\\t")'


@pytest.mark.requirement("file.read.binary")
async def test_a_png_is_reported_as_binary_with_size_and_type(desk):
    desk.put("logo.png", PNG)
    assert await desk.ok("file.read", path="logo.png") == {
        "path": "logo.png", "type": "binary", "size": len(PNG), "mime": "image/png",
        "width": 3, "height": 2, "note": "an image, shown only to models that take images",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"\0\1\2", "application/octet-stream"),
        (b"\x7fELF and more text", "application/x-elf"),
        (bytes(range(1, 32)) * 9 + b"\xff\xfe\x80", "application/octet-stream"),
    ],
)
async def test_content_that_is_not_text_is_binary(desk, content, mime):
    desk.put("thing", content)
    data = await desk.ok("file.read", path="thing")
    assert (data["type"], data["mime"]) == ("binary", mime)


@pytest.mark.requirement("file.read.window")
async def test_lines_ten_to_twenty_of_a_hundred(desk):
    desk.put("hundred.txt", HUNDRED)
    data = await desk.ok("file.read", path="hundred.txt", offset=10, limit=11)
    assert data["content"].split("\n") == [f"{n}: line {n}" for n in range(10, 21)]
    assert (data["total_lines"], data["truncated"], data["next_offset"]) == (100, True, 21)


async def test_reading_on_from_next_offset_gives_every_line_once(desk):
    desk.put("hundred.txt", HUNDRED.removesuffix("\n"))
    lines, offset = [], 1
    while offset is not None:
        data = await desk.ok("file.read", path="hundred.txt", offset=offset, limit=7)
        lines += data["content"].split("\n")
        offset = data.get("next_offset")
    assert lines == [f"{n}: line {n}" for n in range(1, 101)]


async def test_two_thousand_lines_are_the_default(desk):
    desk.put("long.txt", "x\n" * 2001)
    data = await desk.ok("file.read", path="long.txt")
    assert data["content"].count("\n") == 1999
    assert data["next_offset"] == 2001


@pytest.mark.requirement("file.read.long_line")
async def test_a_line_above_two_thousand_characters_is_marked_as_cut(desk):
    desk.put("wide.txt", "ä" * 2001 + "\n" + "b" * 2000 + "\nend\n")
    first, second, third = (await desk.ok("file.read", path="wide.txt"))["content"].split("\n")
    assert first == "1: " + "ä" * 2000 + " [truncated]"
    assert second == "2: " + "b" * 2000
    assert third == "3: end"


async def test_a_huge_line_is_read_in_bounded_memory_and_cut(desk):
    desk.put("one-line.json", b"z" * 5_000_000)
    data = await desk.ok("file.read", path="one-line.json")
    assert data["content"] == "1: " + "z" * 2000 + " [truncated]"
    assert data["total_lines"] == 1


async def test_an_answer_stops_at_256_kb_and_says_where_to_go_on(desk):
    desk.put("much.txt", ("y" * 1999 + "\n") * 1000)
    data = await desk.ok("file.read", path="much.txt")
    count = data["content"].count("\n") + 1
    assert 130 <= count <= 133
    assert (data["truncated"], data["next_offset"]) == (True, count + 1)


async def test_the_end_of_a_fifty_megabyte_file_is_read(desk):
    with (desk.root / "big.log").open("w") as file:
        for start in range(0, 1_000_000, 1000):
            file.write("".join(f"{n:07d} " + "x" * 42 + "\n" for n in range(start, start + 1000)))
    data = await desk.ok("file.read", path="big.log", offset=999_999)
    assert data["content"] == f"999999: 0999998 {'x' * 42}\n1000000: 0999999 {'x' * 42}"
    assert data["total_lines"] == 1_000_000


async def test_an_empty_file_has_no_lines(desk):
    desk.put("empty", "")
    data = await desk.ok("file.read", path="empty")
    assert (data["content"], data["total_lines"], data["truncated"]) == ("", 0, False)


async def test_an_offset_past_the_end_says_how_many_lines_there_are(desk):
    desk.put("three.txt", "a\nb\nc\n")
    data = await desk.ok("file.read", path="three.txt", offset=9)
    assert data["content"] == ""
    assert data["note"] == "offset 9 is past the end: there are 3 lines"


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        ("Grüße\nzwei\n".encode(), None),
        (b"\xef\xbb\xbf" + "Grüße\nzwei\n".encode(), "utf-8-bom"),
        (b"\xff\xfe" + "Grüße\nzwei\n".encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + "Grüße\nzwei\n".encode("utf-16-be"), "utf-16-be"),
        ("Grüße\nzwei\n".encode("latin-1"), "latin-1"),
    ],
)
@pytest.mark.requirement("file.read.encoding")
async def test_the_encoding_is_found_and_named(desk, raw, encoding):
    desk.put("text", raw)
    data = await desk.ok("file.read", path="text")
    assert data["content"] == "1: Grüße\n2: zwei"
    assert data.get("encoding") == encoding


async def test_a_character_cut_by_a_chunk_is_still_utf_8(desk):
    desk.put("text", ("a" * (1024 * 1024 - 1) + "é\nend\n").encode())
    data = await desk.ok("file.read", path="text", offset=2)
    assert data["content"] == "2: end"
    assert "encoding" not in data


@pytest.mark.parametrize(("raw", "ending"), [(b"a\r\nb\r\n", "crlf"), (b"a\r\nb\nc\nd\r\n", "mixed")])
async def test_carriage_returns_are_hidden_and_named(desk, raw, ending):
    desk.put("text", raw)
    data = await desk.ok("file.read", path="text")
    assert "\r" not in data["content"]
    assert data["line_ending"] == ending


@pytest.mark.requirement("file.read.directory")
async def test_a_directory_lists_its_entries_sorted_with_a_slash_on_directories(desk):
    desk.put("b.txt", "")
    desk.put("a/inner.txt", "")
    desk.put(".hidden", "")
    data = await desk.ok("file.read", path=".")
    assert (data["type"], data["content"]) == ("directory", ".hidden\na/\nb.txt")


async def test_a_directory_is_paged(desk):
    for number in range(5):
        desk.put(f"f{number}", "")
    data = await desk.ok("file.read", path=".", offset=2, limit=2)
    assert (data["content"], data["next_offset"], data["total_lines"]) == ("f1\nf2", 4, 5)


async def test_odd_names_in_a_directory_do_not_break_the_listing(desk):
    os.close(os.open(os.fsencode(desk.root) + b"/\xff\xfe", os.O_CREAT))
    desk.put("two\nlines", "")
    envelope = await desk.call("file.read", path=".")
    assert sorted(envelope.data["content"].split("\n")) == ["two\\nlines", "\ufffd\ufffd"]
    envelope.model_text().encode()


@pytest.mark.requirement("file.read.missing")
async def test_a_missing_file_is_file_not_found(desk):
    assert await desk.code("file.read", path="nope.txt") == "file_not_found"
    desk.put("file", "")
    assert await desk.code("file.read", path="file/below") == "file_not_found"


async def test_an_absolute_path_below_the_root_is_read_and_echoed_relative(desk):
    desk.put("src/a.txt", "x\n")
    data = await desk.ok("file.read", path=str(desk.root / "src" / "a.txt"))
    assert data["path"] == "src/a.txt"


async def test_numbers_sent_as_text_are_understood_and_nothing_else(desk):
    desk.put("a.txt", "1\n2\n3\n")
    assert (await desk.ok("file.read", path="a.txt", offset="2", limit="1"))["content"] == "2: 2"
    for wrong in ("two", 1.5, True, "0", 0, -1, [1], "1e3"):
        assert await desk.code("file.read", path="a.txt", limit=wrong) == "invalid_params"


async def test_a_sidecar_of_this_session_can_be_read_but_not_another_ones(desk):
    mine = desk.context.scratch_dir / "out.txt"
    mine.write_text("whole\n")
    other = desk.base / "data" / "sessions" / "ses_2" / "scratch"
    other.mkdir(parents=True)
    (other / "out.txt").write_text("secret\n")
    assert (await desk.ok("file.read", path=str(mine)))["content"] == "1: whole"
    assert await desk.code("file.read", path=str(other / "out.txt")) == "invalid_path"
    assert await desk.code("file.write", path=str(mine), content="") == "capability_denied"
    assert mine.read_text() == "whole\n"


async def test_enormous_offsets_and_limits_are_only_numbers(desk):
    desk.put("a.txt", "1\n2\n")
    desk.put("dir/x", "")
    for path in ("a.txt", "dir"):
        await desk.ok("file.read", path=path, limit=1 << 70)
        await desk.ok("file.read", path=path, offset=1 << 70, limit=1 << 70)


async def test_cancelling_a_long_read_stops_it_at_once(desk, monkeypatch):
    """It would go on for ten minutes."""
    begun, ended, read_chunks = threading.Event(), threading.Event(), text_scan.read_chunks

    def noted(*given):
        begun.set()
        try:
            yield from read_chunks(*given)
        finally:
            ended.set()

    monkeypatch.setattr(text_scan, "read_chunks", noted)
    monkeypatch.setattr(text_scan, "MAX_SCANNED_BYTES", 1 << 60)
    monkeypatch.setattr(text_scan, "MAX_SCAN_SECONDS", 600.0)
    with (desk.root / "big").open("wb") as file:
        file.truncate(8 << 40)
        file.write(b"text\n" * 4_000)
    task = asyncio.create_task(desk.call("file.read", path="big"))
    assert await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 60)


@pytest.mark.requirement("file.read.symlink")
async def test_of_a_link_the_real_path_must_be_allowed(desk):
    desk.put("data/secret.txt", "secret\n")
    desk.put("src/a.txt", "mine\n")
    for name, target in (("out", "../data/secret.txt"), ("in", "a.txt"), ("folder", "../data")):
        (desk.root / "src" / name).symlink_to(target)
    worker = desk.caged(("ro", "src"))
    assert (await worker.ok("file.read", path="src/in"))["content"] == "1: mine"
    for path in ("src/out", "src/folder", "src/folder/secret.txt"):
        assert await worker.code("file.read", path=path) == "capability_denied"


async def test_a_caged_agent_reads_what_was_cut_from_its_own_answers(desk):
    worker = desk.caged(("ro", "src"))
    folder = desk.context.scratch_dir / worker.context.agent_path
    folder.mkdir()
    mine = folder / "out.txt"
    mine.write_text("whole\n")
    assert (await worker.ok("file.read", path=str(mine)))["content"] == "1: whole"
    assert await worker.code("file.read", path=str(folder)) == "file_not_found"
    (folder / "link").symlink_to(desk.base)
    assert await worker.code("file.read", path=str(folder / "link")) == "invalid_path"
