"""`kaged.todo` over a real database: every case of its testing notes, and every error by its words."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.harness.issues.checklist import MAX_LIVE, MAX_NOTES
from app.harness.issues.todos import TodoEdit
from app.storage.storage import Storage
from tests.driver.checklist_desk import OPERATOR, PROJECT, ChecklistDesk, checklist_desk

pytestmark = pytest.mark.requirement("todos.tool")


@pytest.fixture
async def desk(sqlite_storage: Storage, tmp_path: Path) -> AsyncIterator[ChecklistDesk]:
    async with checklist_desk(sqlite_storage, tmp_path) as made:
        yield made


async def test_view_happy_path(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Implement auth module", "Write tests"])
    await desk.ok("add", items=["All endpoints return 200"], kind="criterion", phase="sign-off")
    await desk.ok("start", content="Implement auth module")
    shown = await desk.ok("view")

    expected = [
        ("Implement auth module", "in_progress", "step", None, 0),
        ("Write tests", "pending", "step", None, 1),
        ("All endpoints return 200", "pending", "criterion", "sign-off", 2),
    ]
    fields = ("content", "status", "kind", "phase", "position")
    assert [tuple(one[name] for name in fields) for one in shown["todos"]] == expected
    assert [one["id"][:5] for one in shown["todos"]] == ["todo_"] * 3
    assert shown["markdown"] == (
        "- [>] Implement auth module\n- [ ] Write tests\n- [ ] All endpoints return 200 (criterion)"
    )


async def test_view_no_bound_issue(desk: ChecklistDesk) -> None:
    unbound = await desk.open_session(2, None)
    for action, params in (("view", {}), ("add", {"items": ["x"]}), ("start", {"content": "x"})):
        refused = await unbound.refused(action, **params)
        assert refused.code == "no_bound_issue"
        assert "ask the operator to bind the session" in str(refused.error_text)
    assert await desk.rows_of() == []


async def test_a_change_of_the_issue_meanwhile_does_not_unbind_it(desk: ChecklistDesk) -> None:
    hold, read = threading.Event(), threading.Event()
    held = desk.storage.submit(lambda uow: (read.set(), hold.wait(20)))
    try:
        await asyncio.to_thread(read.wait, 20)
        commenting = asyncio.create_task(desk.issues.comment(PROJECT, 1, OPERATOR, body="Look here, too."))
        async with asyncio.timeout(20):
            while desk.storage.waiting < 1:  # noqa: ASYNC110 - in another thread
                await asyncio.sleep(0.01)
            adding = asyncio.create_task(desk.call("add", items=["Look there"]))
            while desk.storage.waiting < 2:  # noqa: ASYNC110 - in another thread
                await asyncio.sleep(0.01)
    finally:
        hold.set()
    await asyncio.gather(held, commenting)
    envelope = await adding
    assert envelope.type == "output", envelope.model_text()
    assert await desk.statuses() == {"Look there": "pending"}


async def test_set_replaces_list(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Old one", "Old two"])
    await desk.ok("start", content="Old one")
    shown = await desk.ok("set", items=["New one", "New two", "New three"])

    assert [(one["content"], one["status"]) for one in shown["todos"]] == [
        ("Old one", "abandoned"),
        ("Old two", "abandoned"),
        ("New one", "pending"),
        ("New two", "pending"),
        ("New three", "pending"),
    ]


@pytest.mark.requirement("durability.todo_criteria")
async def test_set_keeps_what_is_done_and_every_criterion_as_drop_does(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Done step", "Open step"])
    await desk.ok("done", content="Done step")
    await desk.ok("add", items=["Agent's criterion", "Looked at", "Signed off"], kind="criterion")
    await desk.todos.add(PROJECT, 1, "Operator's criterion", OPERATOR, kind="criterion")
    for text, edit in (
        ("Looked at", TodoEdit(note="I care about this")),
        ("Signed off", TodoEdit(accept=True)),
    ):
        await desk.todos.edit(PROJECT, 1, (await desk.entry(text)).id, edit, OPERATOR)
    await desk.ok("set", items=["Next"])

    assert await desk.statuses() == {
        "Done step": "completed",
        "Open step": "abandoned",
        "Agent's criterion": "pending",
        "Looked at": "pending",
        "Signed off": "completed",
        "Operator's criterion": "pending",
        "Next": "pending",
    }


async def test_a_criterion_whose_claim_was_rejected_is_not_set_away(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["It is fast"], kind="criterion")
    await desk.ok("done", content="It is fast")
    row = await desk.entry("It is fast")
    await desk.todos.edit(PROJECT, 1, row.id, TodoEdit(reject="Not on my machine"), OPERATOR)
    await desk.ok("set", items=[])
    assert await desk.statuses() == {"It is fast": "pending"}


async def test_set_with_kind(desk: ChecklistDesk) -> None:
    shown = await desk.ok("set", items=["It works"], kind="criterion")
    assert [one["kind"] for one in shown["todos"]] == ["criterion"]
    assert (await desk.entry("It works")).kind == "criterion"


async def test_set_with_phase(desk: ChecklistDesk) -> None:
    shown = await desk.ok("set", items=["Read the code"], phase="discovery")
    assert [one["phase"] for one in shown["todos"]] == ["discovery"]
    assert (await desk.entry("Read the code")).phase == "discovery"


async def test_add_appends(desk: ChecklistDesk) -> None:
    await desk.ok("set", items=["One", "Two"])
    shown = await desk.ok("add", items=["Three", "Four"])
    assert [(one["content"], one["position"]) for one in shown["todos"]] == [
        ("One", 0),
        ("Two", 1),
        ("Three", 2),
        ("Four", 3),
    ]


async def test_what_is_on_the_list_already_is_not_added_twice(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Run the tests"])
    shown = await desk.ok("add", items=["run  the tests ", "Ship it", "ship it"])
    assert [one["content"] for one in shown["todos"]] == ["Run the tests", "Ship it"]
    await desk.ok("done", content="Run the tests")
    shown = await desk.ok("add", items=["Run the tests"])
    assert [one["status"] for one in shown["todos"]] == ["completed", "pending", "pending"]
    await desk.ok("start", content="Run the tests")  # the one that is still to be done
    refused = await desk.refused("add", items=["Ship it"], kind="criterion")
    assert refused.code == "invalid_params"


async def test_start_promotes(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    shown = await desk.ok("start", content="One")
    assert [one["status"] for one in shown["todos"]] == ["in_progress"]


async def test_start_single_in_progress(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One", "Two"])
    await desk.ok("start", content="One")
    shown = await desk.ok("start", content="Two")
    assert [one["status"] for one in shown["todos"]] == ["pending", "in_progress"]


async def test_done_completes(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    shown = await desk.ok("done", content="One")
    row = await desk.entry("One")
    assert (row.status, row.completed_by) == ("completed", "agent:primary")
    assert row.completed_at is not None
    assert shown["todos"][0]["completed_at"] == row.completed_at // 1000


async def test_done_criterion_is_a_claim(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["It works"], kind="criterion")
    shown = await desk.ok("done", content="It works")
    row, issue = await desk.entry("It works"), await desk.issue()
    assert row.completed_at is not None
    assert (row.accepted_at, issue.status, issue.resolved_at) == (None, "open", None)
    assert shown["todos"][0]["accepted"] is False
    assert shown["markdown"] == "- [x] It works (criterion, claimed)"


async def test_drop_abandons(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    shown = await desk.ok("drop", content="One")
    assert [one["status"] for one in shown["todos"]] == ["abandoned"]
    again = await desk.ok("start", content="One")
    assert [one["status"] for one in again["todos"]] == ["in_progress"]


async def test_drop_criterion_rejected(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["It works"], kind="criterion")
    refused = await desk.refused("drop", content="It works")
    assert refused.code == "invalid_transition"
    assert "Only the operator can drop acceptance criteria." in str(refused.error_text)
    assert (await desk.entry("It works")).status == "pending"


async def test_a_criterion_that_is_signed_off_is_not_the_agents_any_more(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["It works"], kind="criterion")
    row = await desk.entry("It works")
    await desk.todos.edit(PROJECT, 1, row.id, TodoEdit(accept=True), OPERATOR)
    assert (await desk.refused("start", content="It works")).code == "invalid_transition"
    shown = await desk.ok("done", content="It works")
    assert shown["todos"][0]["accepted"] is True


async def test_what_was_abandoned_is_not_done(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    await desk.ok("drop", content="One")
    refused = await desk.refused("done", content="One")
    assert refused.code == "invalid_transition"
    assert "start it again" in str(refused.error_text)


async def test_note_appends(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    await desk.ok("note", content="One", text="The config is in app/config")
    shown = await desk.ok("note", content="One", text="Ask Ada")
    assert shown["todos"][0]["notes"] == ["The config is in app/config", "Ask Ada"]
    notes = (await desk.entry("One")).notes
    assert [note["author"] for note in notes] == ["agent:primary"] * 2


async def test_note_max_length(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One"])
    assert (await desk.refused("note", content="One", text="x" * 2_001)).code == "invalid_params"
    await desk.ok("note", content="One", text="x" * 2_000)
    assert [len(note["text"]) for note in (await desk.entry("One")).notes] == [2_000]


@pytest.mark.requirement("todos.echo")
async def test_the_notes_of_the_task_in_progress_are_echoed(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One", "Two"])
    for text in ("first\nline", "second"):
        await desk.ok("note", content="One", text=text)
    await desk.ok("note", content="Two", text="of the other")
    shown = await desk.ok("start", content="One")
    assert shown["markdown"] == "- [>] One\n  → first line\n  → second\n- [ ] Two"
    envelope = await desk.call("view")
    assert "\n  → second\n" in envelope.model_text()


async def test_content_addressed_lookup(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Implement the auth module", "Write tests", "Write tests for the till"])
    shown = await desk.ok("start", content="AUTH")
    assert shown["todos"][0]["status"] == "in_progress"
    shown = await desk.ok("start", content="  write   TESTS ")  # the same text goes before a part of one
    assert shown["todos"][1]["status"] == "in_progress"
    shown = await desk.ok("done", content="- [ ] Write tests for the till")
    assert shown["todos"][2]["status"] == "completed"


@pytest.mark.requirement("todos.coaching")
async def test_content_not_found(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Write tests"])
    refused = await desk.refused("start", content="Deploy")
    assert refused.code == "todo_not_found"
    assert '"Deploy"' in str(refused.error_text)
    assert '"Write tests"' in str(refused.error_text)
    assert refused.detail == {"content": "Deploy", "items": ["Write tests"]}


@pytest.mark.requirement("todos.coaching")
async def test_not_found_on_an_empty_list_says_so(desk: ChecklistDesk) -> None:
    refused = await desk.refused("done", content="Deploy")
    assert refused.code == "todo_not_found"
    assert "list is empty" in str(refused.error_text)


@pytest.mark.requirement("todos.coaching")
@pytest.mark.parametrize(
    "token", ["task-1", "TODO-12", "item-3", "Step-4", "id-5", "todo_01JZ0000000000000000000000"]
)
@pytest.mark.parametrize("action", ["start", "done", "drop", "note"])
async def test_what_looks_like_an_id_is_answered_with_a_hint(
    desk: ChecklistDesk, token: str, action: str
) -> None:
    await desk.ok("add", items=["Write tests"])
    more = {"text": "x"} if action == "note" else {}
    refused = await desk.refused(action, content=token, **more)
    assert refused.code == "content_addressing_hint"
    assert "full text" in str(refused.error_text)
    assert '"Write tests"' in str(refused.error_text)


@pytest.mark.requirement("todos.coaching")
async def test_several_matches_are_ambiguous(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["Write unit tests", "Write page tests", "Deploy"])
    refused = await desk.refused("start", content="tests")
    assert refused.code == "ambiguous_todo"
    assert refused.detail == {"content": "tests", "candidates": ["Write unit tests", "Write page tests"]}
    assert "full text" in str(refused.error_text)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"action": "start"}, "content"),
        ({"action": "done", "content": "  "}, "content"),
        ({"action": "note", "content": "One"}, "text"),
        ({"action": "add"}, "items"),
        ({"action": "set"}, "items"),
        ({"action": "add", "items": ["fine", "  "]}, "items.1"),
        ({"action": "add", "items": ["x" * 2_001]}, "items"),
        ({"action": "add", "items": ["x"], "kind": "wish"}, "kind"),
        ({"action": "add", "items": ["x"], "phase": "x" * 101}, "phase"),
        ({"action": "reorder"}, "action"),
    ],
)
async def test_wrong_parameters_are_named(desk: ChecklistDesk, params: dict[str, object], named: str) -> None:
    refused = await desk.tools.call("kaged.todo", params, desk.context, allowed=desk.tools.registry.names())
    assert refused.code == "invalid_params", refused.model_text()
    assert named in str(refused.error_text)
    assert await desk.rows_of() == []


async def test_a_list_is_bounded(desk: ChecklistDesk) -> None:
    for part in range(2):
        await desk.ok("add", items=[f"Task {part}-{n}" for n in range(MAX_LIVE // 2)])
    refused = await desk.refused("add", items=["One more"])
    assert refused.code == "invalid_params"
    assert "drop what is not needed" in str(refused.error_text)
    await desk.ok("drop", content="Task 0-0")
    await desk.ok("add", items=["One more"])
    for number in range(MAX_NOTES):
        await desk.ok("note", content="One more", text=f"note {number}")
    assert (await desk.refused("note", content="One more", text="too many")).code == "invalid_params"


async def test_of_what_was_abandoned_the_newest_are_shown(desk: ChecklistDesk) -> None:
    await desk.ok("set", items=[f"Old {n}" for n in range(30)])
    shown = await desk.ok("set", items=["New"])
    assert [one["content"] for one in shown["todos"]] == [*(f"Old {n}" for n in range(10, 30)), "New"]
    assert shown["left_out"] == 10


async def test_every_change_is_audited_and_reported(desk: ChecklistDesk) -> None:
    await desk.ok("set", items=["One", "Two"])
    await desk.ok("add", items=["It works"], kind="criterion")
    await desk.ok("start", content="One")
    await desk.ok("start", content="One")  # changes nothing
    await desk.ok("note", content="One", text="x")
    await desk.ok("done", content="One")
    await desk.ok("drop", content="Two")

    names = ["set", "added", "started", "noted", "completed", "dropped"]
    rows = await desk.audited()
    assert [row.event for row in rows] == [f"kaged.todo.{name}" for name in names]
    issue = await desk.issue()
    for row in rows:
        assert (row.actor, row.session_id, row.agent_path) == ("agent:primary", "ses_00001", "primary")
        assert row.data["issue_id"] == issue.id
        assert row.data["caller"] == "agent:primary"
    assert (rows[0].data["count"], rows[1].data["kind"]) == (2, "criterion")
    assert (rows[4].data["content"], rows[4].data["kind"]) == ("One", "step")
    events = [event for event in await desk.told() if event.type == "todo.changed"]
    assert len(events) == len(names)


async def test_only_the_root_agent_may(desk: ChecklistDesk) -> None:
    child = replace(desk, context=replace(desk.context, agent_path="primary.subagents.tester"))
    assert (await child.refused("view")).code == "principal_scope_violation"


async def test_an_action_can_be_taken_away(desk: ChecklistDesk) -> None:
    allowed = {"kaged.todo.view"}
    refused = await desk.tools.call(
        "kaged.todo", {"action": "set", "items": []}, desk.context, allowed=allowed
    )
    assert refused.code == "tool_not_found"
    spec = desk.tools.registry.spec("kaged.todo", allowed=allowed)
    assert spec.parameters["properties"]["action"]["enum"] == ["view"]


@pytest.mark.requirement("todos.bound")
async def test_the_next_session_continues_with_the_same_list(desk: ChecklistDesk) -> None:
    await desk.ok("add", items=["One", "Two"])
    await desk.ok("done", content="One")
    other = await desk.open_session(2, 1)
    assert await other.statuses() == {"One": "completed", "Two": "pending"}
    await other.ok("start", content="Two")
    assert await desk.statuses() == {"One": "completed", "Two": "in_progress"}
