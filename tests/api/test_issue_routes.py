"""What the routes of issues answer: states, history, visibility, links, files, and everything that is
refused. On each database in turn where the database matters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from app.harness.issues.author import Author
from app.harness.issues.fields import Visibility
from app.harness.issues.query import SHOWN_UPDATES
from app.states import ISSUE_MOVES, IssueState
from app.storage.backup import upgrade
from tests.driver.daemon import Daemon
from tests.driver.issue_desk import IssueDesk, issue_daemon, project_desk

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def small_daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """On SQLite, where the database does not matter."""
    async with issue_daemon(tmp_path_factory.mktemp("small"), None) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgresql"])
async def daemon(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Daemon]:
    """On each database in turn."""
    folder = tmp_path_factory.mktemp(request.param)
    storage_url = None
    if request.param == "postgresql":
        storage_url = request.getfixturevalue("postgres_server").empty_database()
        await upgrade(storage_url, folder)
    async with issue_daemon(folder, storage_url) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def desk(daemon: Daemon, tmp_path: Path) -> AsyncIterator[IssueDesk]:
    """A project of its own for each test."""
    async with project_desk(daemon, tmp_path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def small_desk(small_daemon: Daemon, tmp_path: Path) -> AsyncIterator[IssueDesk]:
    async with project_desk(small_daemon, tmp_path) as made:
        yield made


def error_of(answer: httpx2.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


async def upload(desk: IssueDesk, name: str, content: bytes = b"x") -> str:
    answer = await desk.client.post(
        "/api/v1/uploads",
        params={"project_id": desk.project_id, "name": name},
        content=content,
        headers={"content-type": "application/octet-stream"},
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


WAYS: dict[IssueState, tuple[IssueState, ...]] = {
    IssueState.OPEN: (),
    IssueState.TRIAGED: (IssueState.TRIAGED,),
    IssueState.ASSIGNED: (IssueState.ASSIGNED,),
    IssueState.IN_PROGRESS: (IssueState.IN_PROGRESS,),
    IssueState.RESOLVED: (IssueState.TRIAGED, IssueState.RESOLVED),
    IssueState.REJECTED: (IssueState.REJECTED,),
    IssueState.REOPENED: (IssueState.REJECTED, IssueState.REOPENED),
}


@pytest.mark.requirement("issues.states")
async def test_every_move_is_legal_or_its_refusal_names_the_legal_ones(small_desk: IssueDesk) -> None:
    for origin, way in WAYS.items():
        for target in IssueState:
            number = await small_desk.file()
            for step in way:
                await small_desk.move(number, step.value, "Because.")
            answer = await small_desk.rest(
                "POST", f"/{number}/transition", {"to": target.value, "comment": "Because."}
            )
            if target in ISSUE_MOVES[origin]:
                assert answer.status_code == 200, (origin, target, answer.text)
                assert answer.json()["previous_status"] == origin.value
                continue
            details = error_of(answer, 409)["details"]
            assert details["reason"] == "invalid_transition"
            assert details["legal"] == sorted(state.value for state in ISSUE_MOVES[origin])
            assert (await small_desk.shown(number))["status"] == origin.value


@pytest.mark.requirement("issues.states")
@pytest.mark.parametrize("to", ["resolved", "rejected"])
@pytest.mark.parametrize("comment", [None, "", " \n"])
async def test_an_end_needs_a_comment(small_desk: IssueDesk, to: str, comment: str | None) -> None:
    await small_desk.file()
    await small_desk.move(1, "in_progress")
    answer = await small_desk.rest("POST", "/1/transition", {"to": to, "comment": comment})
    assert "requires" in error_of(answer, 400)["details"]["fields"]["comment"]
    assert [one["kind"] for one in (await small_desk.shown(1))["updates"]] == ["status_change"]


@pytest.mark.requirement("issues.updates")
async def test_every_change_leaves_an_entry_with_old_and_new(desk: IssueDesk) -> None:
    await desk.file("Old title", "Old body")
    both = {"title": "New title", "body": "New body"}
    assert (await desk.changed("PATCH", "/1", both))["updated_fields"] == ["title", "body"]
    assert (await desk.changed("PATCH", "/1", both))["updated_fields"] == []
    await desk.changed("POST", "/1/comments", {"body": "A remark."}, 201)
    await desk.changed("PATCH", "/1", {"assignment": "primary"})
    await desk.changed("PATCH", "/1", {"assignment": None})
    shown = await desk.shown(1)
    told = [(one["kind"], one["body"], one["metadata"]) for one in shown["updates"]]
    operator = [one for one in shown["updates"] if one["author"].startswith("operator:")]
    assert told[:3] == [
        ("title_edit", None, {"old_title": "Old title", "new_title": "New title"}),
        ("body_edit", None, {"old_body": "Old body", "new_body": "New body"}),
        ("comment", "A remark.", {}),
    ]
    assigned = [metadata for kind, _, metadata in told if kind == "assignment_change"]
    assert assigned == [
        {"old_assignment": None, "new_assignment": "primary"},
        {"old_assignment": "primary", "new_assignment": None},
    ]
    assert ("status_change", None, {"old_status": "open", "new_status": "assigned"}) in told
    assert len(operator) >= 6
    assert shown["updated_at"] >= shown["updates"][-1]["created_at"]


@pytest.mark.requirement("issues.updates")
async def test_a_long_history_is_shown_from_its_end_and_read_in_pages(desk: IssueDesk) -> None:
    await desk.file()
    issues = desk.daemon.services.management.issues
    author = Author.of_operator("ada")
    for number in range(SHOWN_UPDATES + 5):
        visibility: Visibility = "operator_only" if number % 50 == 0 else "all"
        await issues.comment(desk.project_id, 1, author, body=f"Note {number}", visibility=visibility)
    shown = await desk.shown(1)
    assert shown["earlier_updates"] == 5
    assert [one["body"] for one in shown["updates"]] == [f"Note {n}" for n in range(5, SHOWN_UPDATES + 5)]
    first = await desk.changed("GET", "/1/updates?limit=100", None)
    assert [one["body"] for one in first["items"]] == [f"Note {n}" for n in range(204, 104, -1)]
    assert first["total"] == SHOWN_UPDATES + 5
    rest = await desk.changed("GET", f"/1/updates?limit=100&cursor={first['next_cursor']}", None)
    assert rest["items"][-1]["body"] == "Note 5"
    by_agent = await desk.ok("get", number=1)
    assert (by_agent["earlier_updates"], len(by_agent["updates"])) == (5, SHOWN_UPDATES)


@pytest.mark.requirement("issues.visibility")
async def test_who_may_only_read_does_not_see_what_is_for_operators(desk: IssueDesk) -> None:
    await desk.file()
    await desk.changed("POST", "/1/comments", {"body": "For all."}, 201)
    await desk.changed("POST", "/1/comments", {"body": "Secretive.", "visibility": "operator_only"}, 201)
    made = await desk.client.post("/api/v1/tokens", json={"name": "guest", "scope": "read-only"})
    assert made.status_code == 201, made.text
    async with desk.daemon.client(made.json()["token"]) as reader:
        base = f"/api/v1/projects/{desk.project_id}/issues"
        shown = (await reader.get(f"{base}/1")).json()
        assert [one["body"] for one in shown["updates"]] == ["For all."]
        assert (await reader.get(f"{base}/1/updates")).json()["total"] == 1
        assert (await reader.get(base, params={"search": "secretive"})).json()["total"] == 0
    assert len((await desk.shown(1))["updates"]) == 2
    assert (await desk.rest("GET", params={"search": "secretive"})).json()["total"] == 1


@pytest.mark.requirement("issues.links")
async def test_issues_are_linked_and_both_show_it(desk: IssueDesk) -> None:
    for title in ("One", "Two", "Three"):
        await desk.file(title)
    link = await desk.changed("POST", "/1/links", {"kind": "blocks", "target": 2}, 201)
    assert (link["outgoing"], link["number"], link["title"]) == (True, 2, "Two")
    [seen] = (await desk.changed("GET", "/2/links", None))["items"]
    assert (seen["id"], seen["outgoing"], seen["number"], seen["kind"]) == (link["id"], False, 1, "blocks")
    for body in ({"kind": "blocks", "target": 2},):
        again = error_of(await desk.rest("POST", "/1/links", body), 409)
        assert again["details"]["reason"] == "already_linked"
    turned = error_of(await desk.rest("POST", "/2/links", {"kind": "blocks", "target": 1}), 409)
    assert turned["details"]["reason"] == "already_linked"
    await desk.changed("POST", "/1/links", {"kind": "relates", "target": 2}, 201)
    itself = error_of(await desk.rest("POST", "/1/links", {"kind": "relates", "target": 1}), 400)
    assert "itself" in itself["details"]["fields"]["target"]
    absent = error_of(await desk.rest("POST", "/1/links", {"kind": "duplicates", "target": 9}), 400)
    assert "#9" in absent["details"]["fields"]["target"]
    # The other issue takes it back, too; a third one cannot.
    assert (await desk.rest("DELETE", f"/3/links/{link['id']}")).status_code == 404
    assert (await desk.rest("DELETE", f"/2/links/{link['id']}")).status_code == 204
    assert [one["kind"] for one in (await desk.shown(1))["links"]] == ["relates"]


@pytest.mark.requirement("issues.attachments")
async def test_files_are_attached_read_again_and_taken_away(desk: IssueDesk) -> None:
    first, second = await upload(desk, "a.txt", b"one"), await upload(desk, "a.txt", b"two")
    filed = await desk.rest("POST", "", {"title": "With a file", "attachments": [first]})
    assert filed.status_code == 201, filed.text
    await desk.changed("POST", "/1/attachments", {"upload_ids": [second]}, 201)
    files = (await desk.shown(1))["attachments"]
    assert len({file["name"] for file in files}) == 2
    content = await desk.client.get(f"/api/v1/uploads/{first}/content")
    assert (content.status_code, content.content) == (200, b"one")
    taken = error_of(await desk.rest("POST", "", {"title": "Again", "attachments": [first]}), 400)
    assert first in taken["details"]["fields"]["attachments.0"]
    unknown = {"upload_ids": [second, "upl_absent"]}
    await desk.file("Another")
    wrong = error_of(await desk.rest("POST", "/2/attachments", unknown), 400)["details"]["fields"]
    assert set(wrong) == {"upload_ids.0", "upload_ids.1"}
    assert (await desk.rest("DELETE", f"/1/attachments/{first}")).status_code == 204
    assert (await desk.rest("DELETE", f"/1/attachments/{first}")).status_code == 404
    assert [file["id"] for file in (await desk.changed("GET", "/1/attachments", None))["items"]] == [second]
    # An issue that could not be filed has not taken a number.
    assert (await desk.rest("POST", "", {"title": "Next"})).json()["number"] == 3


@pytest.mark.requirement("issues.rest")
async def test_pages_go_on_where_they_ended_though_issues_are_filed(desk: IssueDesk) -> None:
    for number in range(5):
        await desk.file(f"Issue {number + 1}")
    first = (await desk.rest("GET", params={"limit": 2})).json()
    assert ([one["number"] for one in first["items"]], first["total"]) == ([5, 4], 5)
    await desk.file("In between")
    rest = (await desk.rest("GET", params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [one["number"] for one in rest["items"]] == [3, 2, 1]
    assert rest["next_cursor"] is None
    await desk.move(3, "triaged")
    await desk.move(2, "rejected", "No.")
    both = (await desk.rest("GET", params={"status": ["triaged", "rejected"]})).json()
    assert [one["number"] for one in both["items"]] == [3, 2]
    await desk.changed("PATCH", "/1", {"assignment": "primary"})
    mine = (await desk.rest("GET", params={"assignment": "primary", "search": "issue"})).json()
    assert [one["number"] for one in mine["items"]] == [1]


@pytest.mark.requirement("issues.rest")
async def test_an_issue_is_filed_once_for_one_key(small_desk: IssueDesk) -> None:
    body, headers = {"title": "Once"}, {"idempotency-key": "k1"}
    first = await small_desk.rest("POST", "", body, headers=headers)
    again = await small_desk.rest("POST", "", body, headers=headers)
    assert (first.json()["number"], again.json()["number"]) == (1, 1)
    other = await small_desk.rest("POST", "", {"title": "Twice"}, headers=headers)
    assert other.status_code == 409
    assert await small_desk.file() == 2


@pytest.mark.requirement("issues.rest")
@pytest.mark.parametrize(
    ("method", "path", "body", "field", "told"),
    [
        ("POST", "", {"title": "x" * 201}, "title", "201 characters, at most 200"),
        ("POST", "", {"title": "  "}, "title", "is empty"),
        ("POST", "", {"title": "a\r\nb"}, "title", "more than one line"),
        ("POST", "", {"body": "B"}, "title", ""),
        ("POST", "", {"title": 7}, "title", ""),
        ("POST", "", {"title": "T", "body": "é" * 8193}, "body", "16386 bytes of UTF-8 (8193 characters)"),
        ("POST", "", {"title": "T", "status": "resolved"}, "status", ""),
        ("POST", "", {"title": "T", "attachments": ["upl_no"]}, "attachments.0", "upl_no"),
        ("PATCH", "/1", {}, "", "give at least one"),
        ("PATCH", "/1", {"title": None}, "", "give at least one"),
        ("PATCH", "/1", {"assignment": "nobody"}, "assignment", "workflow:<name>"),
        ("PATCH", "/1", {"assignment": "session:ses_1"}, "assignment", "session:<session id>"),
        ("PATCH", "/1", {"number": 5}, "number", ""),
        ("POST", "/1/comments", {"body": ""}, "body", "is empty"),
        ("POST", "/1/comments", {"body": "x" * 16385}, "body", "16385 bytes"),
        ("POST", "/1/comments", {"body": "B", "visibility": "mine"}, "visibility", ""),
        ("POST", "/1/transition", {"to": "closed"}, "to", ""),
        ("POST", "/1/links", {"kind": "loves", "target": 1}, "kind", ""),
        ("POST", "/1/links", {"kind": "blocks", "target": 10**30}, "target", ""),
        ("POST", "/1/attachments", {"upload_ids": []}, "upload_ids", ""),
    ],
)
async def test_a_wrong_field_is_named_with_what_is_possible(
    small_desk: IssueDesk, method: str, path: str, body: Any, field: str, told: str
) -> None:
    await small_desk.file()
    error = error_of(await small_desk.rest(method, path, body), 400)
    assert error["code"] == "validation_failed"
    fields: dict[str, str] = error["details"]["fields"]
    assert field in fields or not field, fields
    assert told in str(fields)
    assert len((await small_desk.shown(1))["updates"]) == 0


@pytest.mark.requirement("issues.rest")
@pytest.mark.parametrize("body", [b'{"title": "a\\u0000b"}', b'{"title": "\\ud800"}', b"{", b"[]", b"7"])
async def test_a_body_that_is_no_such_object_is_refused(small_desk: IssueDesk, body: bytes) -> None:
    answer = await small_desk.client.post(
        f"/api/v1/projects/{small_desk.project_id}/issues",
        content=body,
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 400, answer.text


@pytest.mark.requirement("issues.search")
@pytest.mark.parametrize(
    "search", ['"', "*", "a*b", "OR", "-x", "", "NEAR(", "a AND (b", "title:x*y", "x" * 501]
)
async def test_a_malformed_search_is_no_error_of_the_daemon(small_desk: IssueDesk, search: str) -> None:
    await small_desk.file("x near and title y")
    answer = await small_desk.rest("GET", params={"search": search})
    if answer.status_code != 200:
        assert error_of(answer, 400)["details"]["fields"]["search"]


@pytest.mark.requirement("issues.rest")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"title": "T"}),
        ("POST", "/comments", {"body": "B"}),
        ("POST", "/transition", {"to": "triaged"}),
        ("GET", "/updates", None),
        ("GET", "/links", None),
        ("POST", "/links", {"kind": "blocks", "target": 1}),
        ("DELETE", "/links/isl_no", None),
        ("GET", "/attachments", None),
        ("POST", "/attachments", {"upload_ids": ["upl_no"]}),
        ("DELETE", "/attachments/upl_no", None),
    ],
)
async def test_there_is_no_such_issue(small_desk: IssueDesk, method: str, path: str, body: Any) -> None:
    for number in (1, 0, -1, 2**31, 10**25):
        error = error_of(await small_desk.rest(method, f"/{number}{path}", body), 404)
        assert error["details"]["reason"] == "issue_not_found"
    assert error_of(await small_desk.rest(method, f"/one{path}", body), 400)["code"] == "validation_failed"


@pytest.mark.requirement("issues.rest")
async def test_there_is_no_such_project(small_desk: IssueDesk) -> None:
    base = "/api/v1/projects/prj_absent/issues"
    assert (await small_desk.client.get(base)).status_code == 404
    assert (await small_desk.client.get(base, params={"search": "x"})).status_code == 404
    assert (await small_desk.client.post(base, json={"title": "T"})).status_code == 404
