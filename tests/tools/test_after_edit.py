"""The errors that an edit introduced, with a language server that does what it is told to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from app.tools.after_edit.edit_checks import FeedbackLimits
from app.tools.after_edit.known_errors import ErrorRow, new_errors
from app.tools.contract.rules import PermissionRule
from tests.tools.after_edit_desk import HASTY, PATIENT, EditDesk, edit_desk, told

DEADLINE = 60.0
USUAL = FeedbackLimits()
"""As a daemon has them."""
SLACK = 15.0
"""What a busy machine may take beside the waiting, and less than would be waited without the limit."""


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait until the condition gives something, and return that."""
    async with asyncio.timeout(DEADLINE):
        while True:
            if found := await condition():
                return found
            await asyncio.sleep(0.02)


async def ready(desk: EditDesk) -> None:
    """Have the server running, with `a.hos` open and known to the agent."""
    await desk.known("a.hos", "good\nbad one\n")
    await desk.running("a.hos")


@pytest.mark.requirement("language_servers.after_edit.new")
async def test_only_the_errors_that_the_edit_introduced_are_appended(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        answer = await desk.write("a.hos", "new\nbad one\ngood\né  bad two\n")
        assert told(answer) == {
            "status": "errors",
            "fresh": True,
            "paths": ["./a.hos"],
            "errors": [
                {
                    "path": "./a.hos",
                    "line": 4,
                    "character": 3,
                    "severity": "error",
                    "message": "this is bad",
                    "code": "bad",
                    "source": "hostile",
                }
            ],
        }
        head, *rest = answer.model_text().splitlines()
        assert head.startswith('{"path":')
        assert rest == ["1 new error after this edit:", "./a.hos:4:3 this is bad (bad)"]


@pytest.mark.requirement("language_servers.after_edit.new")
async def test_an_edit_without_new_errors_says_so(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        answer = await desk.call("edit.text", path="a.hos", old_string="good", new_string="better")
        assert told(answer) == {"status": "clean", "fresh": True, "paths": ["./a.hos"], "errors": []}
        assert answer.model_text().splitlines()[1:] == ["The language server finds no new errors in ./a.hos."]


@pytest.mark.requirement("language_servers.after_edit.baseline")
async def test_a_new_file_has_no_errors_before_it(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        answer = await desk.call("file.create", path="b.hos", content="bad\n")
        found = told(answer)
        assert found["status"] == "errors" and "may_be_older" not in found
        assert [(one["path"], one["line"]) for one in found["errors"]] == [("./b.hos", 1)]


@pytest.mark.requirement("language_servers.after_edit.baseline")
async def test_the_first_edit_starts_the_server_and_says_that_errors_may_be_older(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await desk.known("a.hos", "bad\n")
        answer = await desk.write("a.hos", "bad\nbad\n")
        found = told(answer)
        words = answer.model_text()
        if found["status"] == "pending":  # a busy machine
            words = await until(desk.note)
        assert "2 errors after" in words and "may be older" in words
        # From now on it is known what was there before.
        found = told(await desk.write("a.hos", "bad\nbad\nbad\n"))
        assert len(found["errors"]) == 1 and "may_be_older" not in found


@pytest.mark.requirement("language_servers.after_edit.baseline")
async def test_what_was_found_after_one_edit_is_known_before_the_next(tmp_path):
    async with edit_desk(tmp_path, "--pull") as desk:
        await ready(desk)
        for number in range(2, 5):
            answer = await desk.write("a.hos", "bad\n" * number)
            assert len(told(answer)["errors"]) == 1
        # The tool's own, one before the first edit, one after each.
        assert len(desk.received("textDocument/diagnostic")) == 5


@pytest.mark.requirement("language_servers.after_edit.bounds")
async def test_at_most_ten_errors_are_listed(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        answer = await desk.write("a.hos", "bad\n" * 31)
        found = told(answer)
        assert len(found["errors"]) == 10 and found["more"] == 20
        lines = answer.model_text().splitlines()
        assert lines[1] == "30 new errors after this edit:" and lines[-1] == "... and 20 more"
        assert len(lines) == 13


@pytest.mark.requirement("language_servers.after_edit.late")
@pytest.mark.parametrize("pull", [True, False])
async def test_a_late_answer_is_pending_then_a_note_and_never_clean(tmp_path, pull):
    hold = tmp_path / "hold"
    async with edit_desk(tmp_path, "--hold", str(hold), *["--pull"][:pull], wait=HASTY) as desk:
        await ready(desk)
        desk.put("a.hos", "changed by somebody\nbad one\n")
        await desk.ok("file.read", path="a.hos")
        hold.touch()
        started = time.monotonic()
        answer = await desk.call("edit.text", path="a.hos", old_string="somebody", new_string="me: bad")
        assert time.monotonic() - started < HASTY.before + HASTY.after + SLACK < HASTY.late
        found = told(answer)
        assert found["status"] == "pending" and not found["fresh"] and found["errors"] == []
        last = answer.model_text().splitlines()[-1]
        assert last == "The language server has not answered yet; its findings follow."
        assert await desk.note() is None
        hold.unlink()
        note = await until(desk.note)
        assert "./a.hos:1:15 this is bad (bad)" in note and "not of the operator" in note
        assert await desk.note() is None, "told twice"


@pytest.mark.requirement("language_servers.after_edit.late")
async def test_an_edit_takes_over_what_was_not_reported_of_the_one_before(tmp_path):
    hold, wait = tmp_path / "hold", replace(HASTY, before=PATIENT.before)
    async with edit_desk(tmp_path, "--hold", str(hold), wait=wait) as desk:
        await ready(desk)
        hold.touch()
        assert told(await desk.write("a.hos", "good\nbad one\nbad two\n"))["status"] == "pending"
        assert told(await desk.write("a.hos", "good\nbad one\nbad two\n# more\n"))["status"] == "pending"
        hold.unlink()
        note = await until(desk.note)
        assert note.splitlines()[1:] == [
            "1 new error after your edit of ./a.hos:",
            "./a.hos:3:0 this is bad (bad)",
        ]


@pytest.mark.requirement("language_servers.after_edit.late")
async def test_a_late_answer_for_a_file_that_changed_since_is_not_reported_as_true(tmp_path):
    hold = tmp_path / "hold"
    async with edit_desk(tmp_path, "--hold", str(hold), wait=HASTY) as desk:
        await ready(desk)
        hold.touch()
        assert told(await desk.write("a.hos", "bad\nbad one\n"))["status"] == "pending"
        hold.unlink()
        checks = desk.feedback._checks
        await until(lambda: asyncio.sleep(0, all(one.task.done() for one in checks.values())))
        desk.put("a.hos", "somebody else was here\n")
        note = await desk.note()
        assert "Changed since" in note and "./a.hos" in note and "this is bad" not in note


@pytest.mark.requirement("language_servers.after_edit.late")
async def test_a_session_that_is_over_leaves_no_task_and_no_note(tmp_path):
    async with edit_desk(tmp_path, "--hang-at", "textDocument/didChange", wait=HASTY) as desk:
        await ready(desk)
        assert told(await desk.write("a.hos", "bad\n"))["status"] == "pending"
        tasks = set(desk.feedback._tasks)
        assert len(tasks) == 1
        desk.feedback.forget("ses_1")
        await asyncio.wait(tasks, timeout=DEADLINE)
        assert all(task.cancelled() for task in tasks)
        assert await desk.note() is None


@pytest.mark.requirement("language_servers.after_edit.bounds")
async def test_a_server_that_hangs_costs_a_step_two_seconds_in_all(tmp_path):
    """Not for each of its twelve edits."""
    async with edit_desk(tmp_path, "--hang-at", "textDocument/didChange", wait=USUAL) as desk:
        await ready(desk)
        for name in ("b.hos", "c.hos"):
            await desk.known(name, "good\n")
            await desk.running(name)
        step = desk.at_step(3)
        started = time.monotonic()
        answers = await asyncio.gather(*(step.write(f"{name}.hos", "bad\n") for name in "abc"))
        for number in range(2, 11):
            answers.append(await step.write("a.hos", "bad " * number))
        assert time.monotonic() - started < USUAL.before + USUAL.after + SLACK < 9 * USUAL.after + 1
        assert {told(answer)["status"] for answer in answers} == {"pending"}
        assert desk.text("a.hos") == "bad " * 10


@pytest.mark.requirement("language_servers.after_edit.bounds")
@pytest.mark.parametrize("pull", [True, False])
async def test_parallel_edits_of_one_step_each_get_their_own_findings(tmp_path, pull):
    """Where errors are published, none are before all the files have changed."""
    hold = tmp_path / "hold"
    late = ("--pull", "--delay", "textDocument/diagnostic=0.1") if pull else ("--hold", str(hold))
    async with edit_desk(tmp_path, *late) as desk:
        for name in "abcd":
            await desk.known(f"{name}.hos", "good\n")
            await desk.running(f"{name}.hos")
        step = desk.at_step(1)
        hold.touch()
        edits = asyncio.gather(*(step.write(f"{name}.hos", "bad\n" + "good\n") for name in "abcd"))
        await until(lambda: asyncio.sleep(0, len(desk.received("textDocument/didChange")) == 4))
        hold.unlink()
        for name, answer in zip("abcd", await edits, strict=True):
            assert [one["path"] for one in told(answer)["errors"]] == [f"./{name}.hos"]


@pytest.mark.requirement("language_servers.after_edit.bounds")
async def test_an_edit_that_ends_earlier_is_not_the_fault_of_one_that_began_before_it(tmp_path):
    async with edit_desk(tmp_path, "--pull") as desk:
        for name in "ac":
            await desk.known(f"{name}.hos", "good\n")
            await desk.running(f"{name}.hos")

        async def may_call(tool: str, arguments: dict[str, object]) -> bool:
            return True

        watch = desk.feedback.follow(desk.context, ["code.lsp.diagnostics"], may_call)
        await watch.before(["a.hos"])
        beside = await desk.write("c.hos", "bad\n")
        read = await desk.call("file.read", path="a.hos")
        desk.put("a.hos", "bad\n")
        watch.written("a.hos", created=False)
        answer = await watch.finished(read)
        watch.close()
        assert [[one["path"] for one in told(each)["errors"]] for each in (beside, answer)] == [
            ["./c.hos"],
            ["./a.hos"],
        ]


async def test_an_edit_does_not_wait_for_what_is_found_in_a_file_that_another_edits(tmp_path):
    """Two calls of a step would wait for one another: a server may say nothing before it has both edits."""
    hold, wait = tmp_path / "hold", replace(PATIENT, before=2 * DEADLINE, before_beside=2 * DEADLINE)
    async with edit_desk(tmp_path, "--hold", str(hold), wait=wait) as desk:
        for name in "ab":
            await desk.known(f"{name}.hos", "good\n")
            await desk.running(f"{name}.hos")
        hold.touch()
        desk.put("a.hos", "good\n# changed by somebody\n")
        await desk.ok("file.read", path="a.hos")
        step = desk.at_step(1)
        beside = asyncio.create_task(step.write("b.hos", "bad\n"))
        await until(lambda: asyncio.sleep(0, desk.received("textDocument/didChange")))
        own = asyncio.create_task(step.write("a.hos", "good\nbad\n"))
        await until(lambda: asyncio.sleep(0, desk.text("b.hos") == "bad\n"))
        assert desk.text("a.hos") == "good\n# changed by somebody\n", "it waits for what is wrong in it"
        hold.unlink()
        for name, answer in (("a", await own), ("b", await beside)):
            assert [one["path"] for one in told(answer)["errors"]] == [f"./{name}.hos"]
        assert not desk.feedback.edited


@pytest.mark.requirement("language_servers.after_edit.robust")
async def test_a_server_that_crashes_costs_no_edit(tmp_path):
    async with edit_desk(tmp_path, "--crash-at", "textDocument/didChange") as desk:
        await ready(desk)
        answer = await desk.write("a.hos", "bad\nbad\n")
        assert desk.text("a.hos") == "bad\nbad\n"
        found = told(answer)
        assert found is None or found["status"] != "clean" or desk.received("textDocument/didOpen")
        assert "no new errors" not in answer.model_text()


@pytest.mark.requirement("language_servers.after_edit.robust")
@pytest.mark.parametrize(
    "behaviour",
    [
        ("--crash-at-start",),
        ("--never-answer", "initialize"),
        ("--wrong-types", "textDocument/publishDiagnostics"),
        ("--pull", "--wrong-types", "textDocument/diagnostic"),
        ("--silent",),
        ("--flood", "20000"),
    ],
    ids=" ".join,
)
async def test_no_behaviour_of_a_server_loses_an_edit_or_makes_it_look_clean(tmp_path, behaviour):
    async with edit_desk(tmp_path, *behaviour, wait=USUAL) as desk:
        await desk.known("a.hos", "good\n")
        started = time.monotonic()
        answer = await desk.write("a.hos", "bad\n")
        assert time.monotonic() - started < USUAL.before + USUAL.after + SLACK < USUAL.late
        assert desk.text("a.hos") == "bad\n"
        assert "no new errors" not in answer.model_text()


@pytest.mark.requirement("language_servers.after_edit.robust")
async def test_a_cancelled_wait_does_not_lose_the_result_of_the_edit(tmp_path):
    async with edit_desk(tmp_path, "--hang-at", "textDocument/didChange") as desk:
        await ready(desk)
        call = asyncio.create_task(desk.write("a.hos", "bad\n"))
        await until(lambda: asyncio.sleep(0, desk.received("textDocument/didChange")))
        call.cancel()
        answer = await asyncio.wait_for(call, SLACK)
        assert told(answer)["status"] == "pending"
        assert desk.ports.of("tool.completed")["success"] is True
        assert desk.text("a.hos") == "bad\n"


@pytest.mark.requirement("language_servers.after_edit.who")
async def test_a_failed_or_denied_edit_is_not_followed_by_anything(tmp_path):
    async with edit_desk(tmp_path, "--hang-at", "textDocument/didChange") as desk:
        await ready(desk)
        started = time.monotonic()
        failed = await desk.call("edit.text", path="a.hos", old_string="nowhere", new_string="x")
        denied = await desk.caged(("ro", ".")).write("a.hos", "bad\n")
        assert failed.code == "old_string_not_found" and denied.code == "capability_denied"
        assert time.monotonic() - started < SLACK
        for answer in (failed, denied):
            assert "diagnostics_after_edit" not in answer.as_json()["metadata"]
        assert not desk.feedback.edited and not desk.feedback._checks


@pytest.mark.requirement("language_servers.after_edit.who")
async def test_it_is_for_agents_that_may_ask_for_diagnostics(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        names = set(desk.service.registry.names())
        write = {"path": "a.hos", "content": "bad\nbad\nbad\n"}
        without = await desk.call("file.write", write, allowed=names - {"code.lsp.diagnostics"})
        operator = replace(desk, context=replace(desk.context, run_id=None))
        directly = await operator.call("file.write", write)
        ruled = desk.ruled(PermissionRule("code.lsp.diagnostics", "*", "deny", "project"))
        denied = await ruled.call("file.write", write)
        asking = desk.ruled(PermissionRule("code.lsp", "*", "ask", "project"))
        asked = await asking.call("file.write", write)
        assert [told(answer) for answer in (without, directly, denied, asked)] == [None] * 4
        assert not desk.ports.asked


@pytest.mark.requirement("language_servers.after_edit.off")
async def test_it_can_be_turned_off(tmp_path):
    async with edit_desk(tmp_path, enabled=False) as desk:
        await ready(desk)
        assert told(await desk.write("a.hos", "bad\nbad\n")) is None


@pytest.mark.requirement("language_servers.after_edit.who")
async def test_every_tool_that_writes_a_file_is_followed_by_it(tmp_path):
    async with edit_desk(tmp_path) as desk:
        await ready(desk)
        answers = [
            await desk.write("a.hos", "bad\nbad\n"),
            await desk.call("edit.text", path="a.hos", old_string="bad\nbad", new_string="bad\nbad\nbad"),
            await desk.call("write", path="a.hos", content="bad\n" * 4),
            await desk.call("edit", path="a.hos", old_string="bad\n" * 4, new_string="bad\n" * 5),
            await desk.call("code.lsp", action="rename_file", path="a.hos", new_name="moved.hos"),
        ]
        assert [told(answer)["status"] for answer in answers] == ["errors"] * 4 + ["clean"]
        assert told(answers[-1])["paths"] == ["./moved.hos"]


@pytest.mark.requirement("language_servers.after_edit.who")
async def test_a_file_without_a_server_says_nothing(tmp_path):
    async with edit_desk(tmp_path) as desk:
        assert told(await desk.write("notes.txt", "bad\n")) is None


def row(line: int, message: str, near: str = "") -> ErrorRow:
    return ErrorRow(line, 0, message, "c", None, near)


@pytest.mark.requirement("language_servers.after_edit.new")
@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ([], [], []),
        ([row(1, "a")], [row(9, "a")], []),
        ([row(1, "a")], [row(1, "a"), row(2, "a")], [row(2, "a")]),
        ([row(1, "a"), row(2, "b")], [row(5, "b"), row(6, "c")], [row(6, "c")]),
        # The one in the line that was there is the old one.
        ([row(4, "a", "old()")], [row(2, "a", "new()"), row(5, "a", "old()")], [row(2, "a", "new()")]),
        # The erroneous line itself was edited.
        ([row(4, "a", "x = f()")], [row(4, "a", "y = f()")], []),
        ([row(1, "a", "x"), row(2, "a", "y")], [row(1, "a", "x")], []),
        # The message has a name that was changed.
        ([row(1, "no x in Old", "a.x")], [row(1, "no x in New", "a.x")], []),
        ([row(1, "a", "x")], [row(1, "a", "x"), row(1, "b", "x")], [row(1, "b", "x")]),
    ],
)
def test_new_errors_are_separated_from_old_ones(before, after, new):
    assert new_errors(tuple(after), tuple(before)) == tuple(new)
