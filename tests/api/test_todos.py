"""Checklists and the binding of sessions over REST, on a real daemon: every route and every error."""

from __future__ import annotations

from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.daemon import Daemon, next_frame


class Checklist:
    """The checklist of issue 1, by a client that expects what it says."""

    def __init__(self, client: httpx2.AsyncClient, project_id: str) -> None:
        self.client = client
        self.project_id = project_id
        self.issue = f"/api/v1/projects/{project_id}/issues/1"

    async def call(self, method: str, path: str, expected: int, body: Any = None) -> Any:
        answer = await self.client.request(method, path, json=body)
        assert answer.status_code == expected, answer.text
        return answer.json() if answer.content else None

    async def add(self, content: str, expected: int = 201, **more: Any) -> Any:
        return await self.call("POST", f"{self.issue}/todos", expected, {"content": content, **more})

    async def edit(self, entry: dict[str, Any], expected: int = 200, **change: Any) -> Any:
        return await self.call("PATCH", f"{self.issue}/todos/{entry['id']}", expected, change)

    async def shown(self, **params: Any) -> Any:
        return (await self.client.get(f"{self.issue}/todos", params=params)).json()


def reason(body: Any) -> tuple[str, str | None]:
    return body["error"]["code"], body["error"].get("details", {}).get("reason")


@pytest.fixture
async def checklist(client: httpx2.AsyncClient, project_id: str) -> Checklist:
    filed = await client.post(f"/api/v1/projects/{project_id}/issues", json={"title": "Mend the till"})
    assert filed.status_code == 201, filed.text
    return Checklist(client, project_id)


@pytest.mark.requirement("todos.rest")
async def test_entries_are_added_placed_changed_and_dropped(checklist: Checklist) -> None:
    first = await checklist.add("  Read   the code ", phase="discovery")
    assert (first["content"], first["phase"], first["position"]) == ("Read the code", "discovery", 0)
    assert (first["status"], first["kind"], first["created_by"]) == ("pending", "step", "operator:operator")
    second = await checklist.add("Write tests")
    await checklist.add("Plan", position=0)
    listed = await checklist.shown()
    assert [(one["content"], one["position"]) for one in listed["items"]] == [
        ("Plan", 0),
        ("Read the code", 1),
        ("Write tests", 2),
    ]
    assert (listed["total"], listed["open"], listed["issue_number"], listed["next_cursor"]) == (3, 3, 1, None)
    assert listed["markdown"] == "- [ ] Plan\n- [ ] Read the code\n- [ ] Write tests"

    changed = await checklist.edit(second, content="Write more tests", phase="end", position=0, note="Soon")
    assert (changed["content"], changed["phase"], changed["position"]) == ("Write more tests", "end", 0)
    assert [note["text"] for note in changed["notes"]] == ["Reworded; it was: Write tests", "Soon"]
    assert (await checklist.edit(second, phase=None))["phase"] is None
    assert [one["position"] for one in (await checklist.shown())["items"]] == [0, 1, 2]
    await checklist.call("DELETE", f"{checklist.issue}/todos/{first['id']}", 204)
    assert (await checklist.shown())["items"][2]["status"] == "abandoned"
    rest = await checklist.shown(include_abandoned=False)
    assert [one["content"] for one in rest["items"]] == ["Write more tests", "Plan"]


@pytest.mark.requirement("todos.rest")
async def test_only_one_entry_is_in_progress(checklist: Checklist) -> None:
    one, two = await checklist.add("One"), await checklist.add("Two")
    await checklist.edit(one, status="in_progress")
    await checklist.edit(two, status="in_progress")
    assert [entry["status"] for entry in (await checklist.shown())["items"]] == ["pending", "in_progress"]
    done = await checklist.edit(two, status="completed")
    assert (done["completed_by"], done["accepted_at"]) == ("operator:operator", None)
    assert (await checklist.edit(two, status="pending"))["completed_at"] is None


@pytest.mark.requirement("todos.criteria")
async def test_a_claim_is_accepted_or_rejected_and_the_last_one_resolves_the_issue(
    checklist: Checklist,
) -> None:
    fast = await checklist.add("It is fast", kind="criterion")
    small = await checklist.add("It is small", kind="criterion")
    for one in (fast, small):
        await checklist.edit(one, status="completed")
    rejected = await checklist.edit(small, reject={"comment": "It weighs a ton"})
    assert (rejected["status"], rejected["completed_at"]) == ("pending", None)
    assert [(note["author"], note["text"]) for note in rejected["notes"]] == [
        ("operator:operator", "It weighs a ton")
    ]
    # Open issues are not resolved at once; one criterion is still open, too.
    await checklist.call("POST", f"{checklist.issue}/transition", 200, {"to": "in_progress"})
    refused = await checklist.edit(fast, 409, accept=True, resolve={"comment": "Done"})
    assert reason(refused) == ("conflict", "criteria_open")
    assert refused["error"]["details"]["criteria"] == ["It is small"]
    accepted = await checklist.edit(fast, accept=True)
    assert (accepted["accepted_by"], accepted["status"]) == ("operator:operator", "completed")
    await checklist.edit(small, status="completed")
    await checklist.edit(small, accept=True, resolve={"comment": "Fast and small"})
    issue = await checklist.call("GET", checklist.issue, 200)
    assert (issue["status"], issue["resolved_by"]) == ("resolved", "operator:operator")
    assert [one["body"] for one in issue["updates"] if one["kind"] == "comment"] == ["Fast and small"]
    audit = (await checklist.client.get("/api/v1/audit", params={"event": "kaged.todo.*"})).json()["items"]
    assert [row["event"] for row in reversed(audit)][-4:] == [
        "kaged.todo.rejected",
        "kaged.todo.accepted",
        "kaged.todo.completed",
        "kaged.todo.accepted",
    ]


@pytest.mark.requirement("todos.criteria")
async def test_a_resolution_that_is_not_legal_leaves_the_criterion_unaccepted(checklist: Checklist) -> None:
    one = await checklist.add("It works", kind="criterion")
    refused = await checklist.edit(one, 409, accept=True, resolve={"comment": "Done"})  # the issue is open
    assert reason(refused) == ("conflict", "invalid_transition")
    assert (await checklist.shown())["items"][0]["accepted_at"] is None


@pytest.mark.requirement("todos.criteria")
async def test_an_operator_drops_criteria_and_opens_accepted_ones_again(checklist: Checklist) -> None:
    one = await checklist.add("It works", kind="criterion")
    assert (await checklist.edit(one, accept=True))["completed_by"] == "operator:operator"
    again = await checklist.edit(one, status="pending")
    assert (again["accepted_at"], again["accepted_by"]) == (None, None)
    assert (await checklist.edit(one, status="abandoned"))["status"] == "abandoned"


@pytest.mark.requirement("todos.rest")
async def test_every_error_says_what_is_wrong(checklist: Checklist) -> None:
    step = await checklist.add("One")
    assert reason(await checklist.add("one", 409)) == ("conflict", "todo_exists")
    assert reason(await checklist.add("One", 400, kind="criterion"))[0] == "validation_failed"
    for wrong in ("", "  ", "x" * 2_001):
        assert reason(await checklist.add(wrong, 400))[0] == "validation_failed"
    assert reason(await checklist.edit(step, 409, accept=True)) == ("conflict", "not_a_criterion")
    assert reason(await checklist.edit(step, 409, reject={"comment": "no"})) == (
        "conflict",
        "not_a_criterion",
    )
    await checklist.edit(step, status="abandoned")
    refused = await checklist.edit(step, 409, status="completed")
    assert reason(refused) == ("conflict", "invalid_transition")
    assert refused["error"]["details"]["legal"] == ["in_progress", "pending"]
    criterion = await checklist.add("It works", kind="criterion")
    assert reason(await checklist.edit(criterion, 409, reject={"comment": "no"}))[1] == "invalid_transition"
    for change in (
        {},
        {"status": "completed", "accept": True},
        {"resolve": {"comment": "x"}},
        {"note": ""},
        {"accept": False},
        {"position": -1},
        {"reject": {"comment": " "}, "status": None},
    ):
        if change.get("reject"):
            await checklist.edit(criterion, status="completed")
        assert reason(await checklist.edit(criterion, 400, **change))[0] == "validation_failed", change
    for text in ("", " ", "x" * 2_001):
        refused = await checklist.add(text, 400)
        assert set(refused["error"]["details"]["fields"]) == {"content"}, refused
    gone = {"id": "todo_01JZ0000000000000000000000"}
    assert reason(await checklist.edit(gone, 404, note="x")) == ("not_found", "todo_not_found")
    path = f"/api/v1/projects/{checklist.project_id}/issues/99/todos"
    assert reason(await checklist.call("GET", path, 404)) == ("not_found", "issue_not_found")
    assert reason(await checklist.call("POST", path, 404, {"content": "x"})) == (
        "not_found",
        "issue_not_found",
    )


@pytest.mark.requirement("todos.rest")
async def test_texts_that_no_database_takes_are_made_storable(checklist: Checklist) -> None:
    raw = b'{"content": "a\\u0000b \\ud800c", "phase": "p\\u0000"}'
    headers = {"content-type": "application/json"}
    answer = await checklist.client.post(f"{checklist.issue}/todos", content=raw, headers=headers)
    assert answer.status_code in (201, 400), answer.text
    if answer.status_code == 201:
        assert "\0" not in answer.json()["content"]
        noted = await checklist.edit(answer.json(), note="x\0y")
        assert "\0" not in noted["notes"][0]["text"]


@pytest.mark.requirement("todos.bound")
async def test_sessions_are_bound_and_unbound(checklist: Checklist) -> None:
    client, project = checklist.client, checklist.project_id
    refused = await checklist.call(
        "POST", "/api/v1/sessions", 404, {"project_id": project, "issue_number": 99}
    )
    assert reason(refused) == ("not_found", "issue_not_found")
    assert "#99" in refused["error"]["message"]
    session = await checklist.call(
        "POST", "/api/v1/sessions", 201, {"project_id": project, "issue_number": 1}
    )
    path = f"/api/v1/sessions/{session['id']}"
    assert (await checklist.call("PATCH", path, 200, {"issue_number": None}))["issue_number"] is None
    assert reason(await checklist.call("PATCH", path, 404, {"issue_number": 2}))[1] == "issue_not_found"
    renamed = await checklist.call("PATCH", path, 200, {"issue_number": 1, "title": "Both"})
    assert (renamed["issue_number"], renamed["title"]) == (1, "Both")
    assert (await checklist.call("PATCH", path, 200, {"title": "Kept"}))["issue_number"] == 1
    for wrong in (
        {},
        {"title": None},
        {"issue_number": 0},
        {"issue_number": 2**31 + 1},
    ):
        assert reason(await checklist.call("PATCH", path, 400, wrong))[0] == "validation_failed"
    await client.post(f"{path}/archive")
    for number in (None, 1):
        refused = await checklist.call("PATCH", path, 409, {"issue_number": number})
        assert reason(refused) == ("conflict", "invalid_transition")
    assert (await checklist.call("PATCH", path, 200, {"title": "Still named"}))["issue_number"] == 1


@pytest.mark.requirement("todos.bound")
async def test_an_imported_session_is_bound_to_no_issue(checklist: Checklist) -> None:
    body = {"project_id": checklist.project_id, "issue_number": 1}
    path = f"/api/v1/sessions/{(await checklist.call('POST', '/api/v1/sessions', 201, body))['id']}"
    exported = (await checklist.client.get(f"{path}/export")).content
    await checklist.call("DELETE", path, 204)
    imported = await checklist.client.post("/api/v1/sessions/import", content=exported)
    assert (imported.status_code, imported.json()["issue_number"]) == (201, None)


@pytest.mark.requirement("todos.criteria")
async def test_a_resolution_that_accepts_what_is_left_is_reported_as_acceptance(
    checklist: Checklist, daemon: Daemon
) -> None:
    await checklist.add("A step")
    fast = await checklist.add("It is fast", kind="criterion")
    await checklist.call("POST", f"{checklist.issue}/transition", 200, {"to": "in_progress"})
    async with daemon.websocket("/ws") as everyone:
        move = {"to": "resolved", "comment": "Done."}
        await checklist.call("POST", f"{checklist.issue}/transition", 200, move)
        told = (await next_frame(everyone, "todo.changed"))["payload"]
        assert (await next_frame(everyone, "issue.changed"))["payload"]["status"] == "resolved"
    assert (told["change"], told["open"], told["total"]) == ("accepted", 1, 2)
    assert [one["accepted"] for one in told["todos"]] == [False, True]
    (row,) = (await checklist.client.get("/api/v1/audit", params={"event": "kaged.todo.accepted"})).json()[
        "items"
    ]
    assert (row["actor"], row["data"]["todo_id"]) == ("operator:operator", fast["id"])


@pytest.mark.requirement("todos.bound")
async def test_changes_are_published_where_the_issue_is_worked_on(
    checklist: Checklist, daemon: Daemon
) -> None:
    ids = []
    for number in (1, 1, None):
        body = {"project_id": checklist.project_id, "issue_number": number}
        ids.append((await checklist.call("POST", "/api/v1/sessions", 201, body))["id"])
    async with daemon.websocket("/ws") as everyone:
        entry = await checklist.add("One")
        while (frame := orjson.loads(await everyone.recv()))["type"] != "todo.changed":
            pass
    told = frame["payload"]
    assert (told["number"], told["change"], told["actor"], told["open"]) == (
        1,
        "added",
        "operator:operator",
        1,
    )
    assert [(one["id"], one["content"]) for one in told["todos"]] == [(entry["id"], "One")]
    for session_id, heard in zip(ids, (True, True, False), strict=True):
        async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
            through = orjson.loads(await socket.recv())["payload"]["through_seq"]
            await checklist.call("PATCH", f"/api/v1/sessions/{session_id}", 200, {"title": "Now"})
            types: list[str] = []
            while "session.updated" not in types:
                types.append(orjson.loads(await socket.recv())["type"])
        assert ("todo.changed" in types) is heard, (through, types)
