"""Small answers of tools that say the right thing."""

from __future__ import annotations

import pytest

from app.tools.dispatch.wrappers import contained


@pytest.mark.requirement("R16.C4")
@pytest.mark.parametrize("name", ["kaged.issue.create", "kaged.todo.add", "debug.launch"])
async def test_the_name_of_an_action_leads_to_its_tool(desk, name):
    answer = await desk.call(name)
    owner, _, action = name.rpartition(".")
    assert answer.code == "tool_not_found"
    assert f"call {owner} with action {action!r}" in answer.error_text


@pytest.mark.requirement("R16.C4")
@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        (b"one\r\ntwo\r\n", "three\nfour\n", b"three\r\nfour\r\n"),
        (b"one\r\ntwo\n", "three\n", b"three\n"),
        (b"one\ntwo\n", "three\n", b"three\n"),
        (b"one\r\n", "three\r\nfour\n", b"three\r\nfour\n"),
        (b"one", "three\n", b"three\n"),
        ("one\r\n".encode("utf-16"), "two\n", "two\r\n".encode("utf-16")),
    ],
)
async def test_a_written_file_keeps_its_line_ends(desk, before, given, after):
    file = desk.put("a.txt", before)
    await desk.ok("file.read", path="a.txt")
    await desk.ok("file.write", path="a.txt", content=given)
    assert file.read_bytes() == after


@pytest.mark.requirement("R16.C4")
async def test_the_bound_of_a_text_counts_characters(desk):
    params = {"action": "note", "content": "a task", "text": "x" * 5_000}
    answer = await desk.call("kaged.todo", params)
    assert answer.code == "invalid_params"
    assert "characters" in answer.error_text and "items" not in answer.error_text


@pytest.mark.requirement("R16.A22")
async def test_a_lack_of_memory_is_an_answer_of_its_own():
    async def lacking():
        raise MemoryError

    answer = await contained("file.read", lacking)
    assert (answer.code, answer.is_error) == ("out_of_memory", True)
