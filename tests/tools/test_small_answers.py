"""Small answers of tools that say the right thing."""

from __future__ import annotations

import pytest

from app.tools.dispatch.wrappers import contained


@pytest.mark.requirement("usability.tools")
@pytest.mark.parametrize(
    ("name", "owner", "action"),
    [
        ("kaged.issue.create", "kaged.issue", "create"),
        ("kaged.todo.add", "kaged.todo", "add"),
        ("debug.launch", "debug", "launch"),
        ("kaged_issue_create", "kaged.issue", "create"),
        ("kaged_issue.create", "kaged.issue", "create"),
        ("debug_step_over", "debug", "step_over"),
    ],
)
async def test_the_name_of_an_action_leads_to_its_tool(desk, name, owner, action):
    answer = await desk.call(name)
    assert answer.code == "tool_not_found"
    assert f"call {owner} with action {action!r}" in answer.error_text
    assert answer.detail["closest"] == [owner]


@pytest.mark.requirement("usability.tools")
async def test_a_misspelled_action_leads_to_a_tool_that_can_be_called(desk):
    answer = await desk.call("kaged_isue_create")
    assert "the closest are kaged.issue with action 'create'" in answer.error_text


@pytest.mark.requirement("usability.tools")
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


@pytest.mark.requirement("usability.tools")
async def test_the_bound_of_a_text_counts_characters(desk):
    params = {"action": "note", "content": "a task", "text": "x" * 5_000}
    answer = await desk.call("kaged.todo", params)
    assert answer.code == "invalid_params"
    assert "characters" in answer.error_text and "items" not in answer.error_text


@pytest.mark.requirement("security.memory_error")
async def test_a_lack_of_memory_is_an_answer_of_its_own():
    async def lacking():
        raise MemoryError

    answer = await contained("file.read", lacking)
    assert (answer.code, answer.is_error) == ("out_of_memory", True)
