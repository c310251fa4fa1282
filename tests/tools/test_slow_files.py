"""Files that are larger than anybody reads: what is told of them, and when reading them ends."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.requirement("security.large_files")
TERABYTE = 1 << 40


async def test_a_sparse_file_is_a_binary_one_at_once(desk):
    os.truncate(desk.put("sparse", b""), TERABYTE)
    answer = await desk.call("file.read", path="sparse")
    assert (answer.data["type"], answer.data["size"]) == ("binary", TERABYTE)


async def test_lines_of_an_endless_text_are_shown_and_not_counted(desk):
    os.truncate(desk.put("log.txt", "one\ntwo\n" * 100_000), TERABYTE)
    answer = await desk.call("file.read", path="log.txt", limit=2)
    assert answer.data["content"] == "1: one\n2: two"
    assert (answer.data.get("total_lines"), answer.data["next_offset"]) == (None, 3)
    assert "MB were looked through" in answer.data["note"]  # 1,024, or as many as ten seconds suffice for


async def test_a_line_that_is_too_far_away_is_refused_with_a_way_to_it(desk):
    os.truncate(desk.put("log.txt", "one\ntwo\n" * 100_000), TERABYTE)
    answer = await desk.call("file.read", path="log.txt", offset=1_000_000)
    assert answer.code == "file_too_large"
    assert "search.grep" in answer.error_text


@pytest.mark.parametrize("name", ["file.write", "edit.text"])
async def test_what_is_too_large_to_be_read_whole_is_not_written(desk, name):
    os.truncate(desk.put("log.txt", "one\ntwo\n" * 100_000), TERABYTE)
    params = {"content": "x"} if name == "file.write" else {"old_string": "one", "new_string": "two"}
    answer = await desk.call(name, path="log.txt", **params)
    assert answer.code == "file_too_large"


@pytest.mark.parametrize(
    ("name", "start"), [("a.ipynb", b"{}"), ("a.pdf", b"%PDF-1.7\n"), ("a.png", b"\x89PNG\r\n\x1a\n")]
)
async def test_a_document_that_is_a_hole_has_no_content(desk, name, start):
    os.truncate(desk.put(name, start), TERABYTE)
    answer = await desk.call("file.read", path=name)
    assert answer.data.get("size", TERABYTE) == TERABYTE or answer.code == "file_too_large"


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("file.read", {"path": "notes.txt"}),
        ("file.write", {"path": "new.txt", "content": "x"}),
        ("edit.text", {"path": "notes.txt", "old_string": "one", "new_string": "two"}),
        ("compute.calc", {"calculations": [{"expression": "1 + 1"}]}),
        ("code.lsp", {"action": "hover", "path": "notes.txt", "line": 1, "character": 1}),
    ],
)
async def test_tools_go_on_while_all_threads_of_the_event_loop_are_held_up(desk, name, params):
    desk.put("notes.txt", "one\n")
    await desk.call("file.read", path="notes.txt")
    held, loop = threading.Event(), asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(8))
    stalled = [loop.run_in_executor(None, held.wait) for _ in range(8)]
    try:
        async with asyncio.timeout(60):
            answer = await desk.call(name, **params)
        assert answer.error_text is None or answer.code in ("lsp_server_unavailable", "lsp_no_server")
    finally:
        held.set()
        await asyncio.gather(*stalled)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("search.grep", {"pattern": "one"}),
        ("search.glob", {"pattern": "**/*.txt"}),
        ("search.ast", {"pattern": "print($A)", "lang": "python"}),
        ("edit.ast", {"rewrites": {"print($A)": "show($A)"}, "lang": "python", "path": "."}),
    ],
)
@pytest.mark.parametrize("folder", ["", "sub/"])
async def test_ignore_rules_without_end_end_a_search_before_they_fill_the_memory(desk, name, params, folder):
    desk.put("sub/notes.txt", "one\n")
    desk.put("sub/a.py", "print(1)\n")
    os.truncate(desk.put(f"{folder}.gitignore", "other\n"), TERABYTE)
    async with asyncio.timeout(100):
        answer = await desk.call(name, **params)
    assert answer.code == "search_failed", answer
    assert "`.gitignore`" in answer.error_text


async def test_a_source_file_without_end_is_no_part_of_a_search_by_structure(desk):
    os.truncate(desk.put("huge.py", "x = 1\n"), TERABYTE)
    desk.put("small.py", "print(1)\n")
    async with asyncio.timeout(100):
        answer = await desk.call("search.ast", pattern="print($A)", lang="python")
    assert [one["file"] for one in answer.data["matches"]] == ["./small.py"]


async def test_of_a_huge_folder_a_part_is_listed_and_it_is_said(desk, monkeypatch):
    monkeypatch.setattr("app.tools.file.directory.MAX_ENTRIES", 100)
    for number in range(150):
        desk.put(f"many/{number:03}", "")
    answer = await desk.call("file.read", path="many", limit=60)
    rest = await desk.call("file.read", path="many", offset=61, limit=60)
    assert (len(answer.data["content"].splitlines()), len(rest.data["content"].splitlines())) == (60, 40)
    assert (answer.data["truncated"], answer.data["next_offset"]) == (True, 61)
    assert (rest.data["truncated"], rest.data.get("next_offset")) == (True, None)
    for one in (answer, rest):
        assert one.data.get("total_lines") is None
        assert "only 100 entries were looked at" in one.data["note"]


async def test_the_listing_of_a_slow_folder_ends_in_time(desk, monkeypatch):
    monkeypatch.setattr("app.tools.file.directory.MAX_SECONDS", -1.0)
    for number in range(20):
        desk.put(f"slow/{number:03}", "")
    answer = await desk.call("file.read", path="slow")
    assert "only 1 entry was looked at" in answer.data["note"]
