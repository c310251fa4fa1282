"""`kaged.issue` in a real daemon: every case of its testing notes by its name, and hostile parameters.

What agents cannot do any more (edit title, text and assignment) is tried where operators do it, over REST.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import PROJECT_YAML
from tests.driver.issue_desk import IssueDesk, issue_desk

pytestmark = pytest.mark.requirement("issues.tool")

WITH_A_WORKFLOW = (
    PROJECT_YAML
    + """\
workflows:
  deploy:
    description: Brings it to the customers
    system_prompt: ./prompts/primary.md
"""
)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[IssueDesk]:
    async with issue_desk(tmp_path, None, WITH_A_WORKFLOW) as made:
        yield made


# -- list ---------------------------------------------------------------------------------------


async def test_list_happy_path(desk: IssueDesk) -> None:
    for title in ("One", "Two", "Three"):
        await desk.file(title)
    page = await desk.ok("list")
    assert [issue["title"] for issue in page["issues"]] == ["Three", "Two", "One"]
    assert (page["total"], page["limit"], page["offset"], page["next_cursor"]) == (3, 25, 0, None)
    first = page["issues"][-1]
    assert first["id"].startswith("iss_")
    assert (first["number"], first["status"], first["assignment"]) == (1, "open", None)
    assert first["created_by"].startswith("operator:")
    # Whole seconds, as all tools show times.
    assert 1_700_000_000 < first["created_at"] <= first["updated_at"] < 10_000_000_000


@pytest.mark.requirement("issues.agent_list")
async def test_list_without_a_status_leaves_out_what_is_closed_and_counts_it(desk: IssueDesk) -> None:
    for title in ("Till one", "Till two", "Till three", "Door"):
        await desk.file(title)
    await desk.move(1, "rejected", "No.")
    await desk.move(2, "in_progress")
    await desk.move(2, "resolved", "Done.")
    page = await desk.ok("list")
    assert [issue["number"] for issue in page["issues"]] == [4, 3]
    assert (page["total"], page["closed"]) == (2, 2)
    found = await desk.ok("list", search="till", limit=1)
    assert [issue["number"] for issue in found["issues"]] == [3]
    assert (found["total"], found["closed"], found["next_cursor"]) == (1, 2, None)
    rejected = await desk.ok("list", status="rejected")
    assert [issue["number"] for issue in rejected["issues"]] == [1] and "closed" not in rejected
    assert (await desk.rest("GET")).json()["total"] == 4


async def test_list_status_filter(desk: IssueDesk) -> None:
    for title in ("One", "Two", "Three"):
        await desk.file(title)
    await desk.move(2, "triaged")
    page = await desk.ok("list", status="triaged")
    assert [issue["number"] for issue in page["issues"]] == [2]
    assert page["total"] == 1


async def test_list_search(desk: IssueDesk) -> None:
    await desk.file("The till is slow", "Nothing else.")
    await desk.file("Something", "Customers wait at the till.")
    await desk.file("Another", "Thing.")
    page = await desk.ok("list", search="till")
    # The title counts more than the text.
    assert [issue["number"] for issue in page["issues"]] == [1, 2]
    assert page["total"] == 2


async def test_list_pagination(desk: IssueDesk) -> None:
    for number in range(30):
        await desk.file(f"Issue {number + 1}")
    page = await desk.ok("list", limit=10, offset=10)
    assert [issue["number"] for issue in page["issues"]] == list(range(20, 10, -1))
    assert (page["total"], page["limit"], page["offset"]) == (30, 10, 10)
    last = await desk.ok("list", limit=10, cursor=page["next_cursor"])
    assert [issue["number"] for issue in last["issues"]] == list(range(10, 0, -1))
    assert (last["offset"], last["next_cursor"]) == (20, None)
    too_many = await desk.refused("invalid_params", "list", limit=101)
    assert "at most 100" in too_many["error_text"]


# -- get ----------------------------------------------------------------------------------------


async def test_get_happy_path(desk: IssueDesk) -> None:
    for number in range(42):
        await desk.file(f"Issue {number + 1}", "The UI should support a dark color scheme.")
    await desk.move(42, "triaged", "Worth doing.")
    shown = await desk.ok("get", number=42)
    assert (shown["number"], shown["title"], shown["status"]) == (42, "Issue 42", "triaged")
    assert shown["body"] == "The UI should support a dark color scheme."
    for name in ("original_body", "assignment", "resolved_at", "resolved_by"):
        assert shown[name] is None
    change, comment = shown["updates"]
    assert (change["kind"], change["body"], change["visibility"]) == ("status_change", None, "all")
    assert change["metadata"] == {"old_status": "open", "new_status": "triaged"}
    assert (comment["kind"], comment["body"], comment["metadata"]) == ("comment", "Worth doing.", None)
    assert shown["todos"] == {
        "total": 0, "completed": 0, "in_progress": 0, "criteria": 0, "criteria_accepted": 0
    }  # fmt: skip


async def test_get_not_found(desk: IssueDesk) -> None:
    refused = await desk.refused("issue_not_found", "get", number=7)
    assert "#7" in refused["error_text"] and refused["detail"]["number"] == 7


async def test_get_includes_operator_only_updates(desk: IssueDesk) -> None:
    await desk.file()
    await desk.changed("POST", "/1/comments", {"body": "Keep it quiet.", "visibility": "operator_only"}, 201)
    shown = await desk.ok("get", number=1)
    assert [(one["body"], one["visibility"]) for one in shown["updates"]] == [
        ("Keep it quiet.", "operator_only")
    ]


async def test_get_puts_files_where_the_agent_can_read_them(desk: IssueDesk, tmp_path: Path) -> None:
    await desk.file()
    upload = await desk.client.post(
        "/api/v1/uploads",
        params={"project_id": desk.project_id, "name": "trace.txt"},
        content=b"line 1\n",
        headers={"content-type": "text/plain"},
    )
    assert upload.status_code == 201, upload.text
    await desk.changed("POST", "/1/attachments", {"upload_ids": [upload.json()["id"]]}, 201)
    [file] = (await desk.ok("get", number=1))["attachments"]
    assert (file["name"], file["size_bytes"]) == ("trace.txt", 7)
    assert (tmp_path / "shop" / file["path"]).read_bytes() == b"line 1\n"


# -- create -------------------------------------------------------------------------------------


async def test_create_happy_path(desk: IssueDesk) -> None:
    await desk.file()
    made = await desk.ok("create", title="Refactor auth module", body="It has grown to 800 lines.")
    assert set(made) == {"id", "number", "status", "created_at"}
    assert (made["number"], made["status"]) == (2, "open")


async def test_create_title_too_long(desk: IssueDesk) -> None:
    refused = await desk.refused("invalid_params", "create", title="x" * 201, body="")
    assert "201 characters, at most 200" in refused["error_text"]
    assert (await desk.ok("create", title="x" * 200, body=""))["number"] == 1


async def test_create_author_identity(desk: IssueDesk) -> None:
    await desk.ok("create", title="Filed by the agent", body="")
    assert (await desk.shown(1))["created_by"] == "agent:primary"


# -- update: over REST --------------------------------------------------------------------------


async def test_update_body_edit(desk: IssueDesk) -> None:
    await desk.file(body="First.")
    edited = await desk.changed("PATCH", "/1", {"body": "Second."})
    assert (edited["body"], edited["original_body"]) == ("Second.", "First.")
    assert edited["updated_fields"] == ["body"]
    [update] = (await desk.shown(1))["updates"]
    assert (update["kind"], update["metadata"]) == (
        "body_edit",
        {"old_body": "First.", "new_body": "Second."},
    )


async def test_update_second_body_edit(desk: IssueDesk) -> None:
    await desk.file(body="First.")
    await desk.changed("PATCH", "/1", {"body": "Second."})
    edited = await desk.changed("PATCH", "/1", {"body": "Third."})
    assert (edited["body"], edited["original_body"]) == ("Third.", "First.")


async def test_update_assignment(desk: IssueDesk) -> None:
    await desk.file()
    edited = await desk.changed("PATCH", "/1", {"assignment": "workflow:deploy"})
    assert (edited["assignment"], edited["status"]) == ("workflow:deploy", "assigned")
    kinds = [update["kind"] for update in (await desk.shown(1))["updates"]]
    assert kinds[:2] == ["assignment_change", "status_change"]


async def test_update_invalid_assignment(desk: IssueDesk) -> None:
    await desk.file()
    answer = await desk.rest("PATCH", "/1", {"assignment": "workflow:absent"})
    assert answer.status_code == 400
    details = answer.json()["error"]["details"]
    assert details["reason"] == "invalid_assignment" and "deploy" in details["fields"]["assignment"]
    assert (await desk.shown(1))["assignment"] is None


async def test_an_agent_cannot_edit(desk: IssueDesk) -> None:
    await desk.file()
    await desk.refused("invalid_params", "update", number=1, body="Mine.")
    await desk.refused("invalid_params", "transition", number=1, to="assigned", assignment="primary")


# -- comment ------------------------------------------------------------------------------------


async def test_comment_happy_path(desk: IssueDesk) -> None:
    await desk.file()
    made = await desk.ok("comment", number=1, body="Analysis complete.")
    assert made["issue_number"] == 1 and isinstance(made["created_at"], int)
    [update] = (await desk.shown(1))["updates"]
    assert update["id"] == made["update_id"]
    assert (update["kind"], update["author"], update["visibility"]) == ("comment", "agent:primary", "all")
    await desk.refused("invalid_params", "comment", number=1, body="  ")
    await desk.refused("issue_not_found", "comment", number=2, body="Where?")


async def test_comment_operator_only(desk: IssueDesk) -> None:
    await desk.file()
    await desk.ok("comment", number=1, body="For you only.", visibility="operator_only")
    [update] = (await desk.shown(1))["updates"]
    assert update["visibility"] == "operator_only"


# -- transition ---------------------------------------------------------------------------------


async def test_transition_happy_path(desk: IssueDesk) -> None:
    await desk.file()
    moved = await desk.ok("transition", number=1, to="triaged")
    assert (moved["number"], moved["from"], moved["to"]) == (1, "open", "triaged")
    assert set(moved) == {"number", "from", "to", "updated_at"}
    shown = await desk.shown(1)
    assert shown["status"] == "triaged"
    assert [update["kind"] for update in shown["updates"]] == ["status_change"]


async def test_transition_invalid(desk: IssueDesk) -> None:
    await desk.file()
    refused = await desk.refused("invalid_transition", "transition", number=1, to="resolved", comment="Done.")
    assert refused["detail"]["from"] == "open"
    assert refused["detail"]["legal"] == ["assigned", "in_progress", "rejected", "triaged"]
    assert "assigned, in_progress, rejected, triaged" in refused["error_text"]
    await desk.refused("issue_not_found", "transition", number=9, to="triaged")


async def test_transition_rejected_requires_comment(desk: IssueDesk) -> None:
    await desk.file()
    refused = await desk.refused("invalid_params", "transition", number=1, to="rejected")
    assert "Rejection requires an explanatory comment." in refused["error_text"]
    await desk.ok("transition", number=1, to="rejected", comment="It is meant to be bright.")
    kinds = [update["kind"] for update in (await desk.shown(1))["updates"]]
    assert kinds == ["status_change", "comment"]


async def test_transition_resolved_sets_timestamps(desk: IssueDesk) -> None:
    await desk.file()
    await desk.move(1, "in_progress")
    await desk.refused("invalid_params", "transition", number=1, to="resolved")
    await desk.ok("transition", number=1, to="resolved", comment="Done.")
    shown = await desk.ok("get", number=1)
    assert isinstance(shown["resolved_at"], int) and shown["resolved_by"] == "agent:primary"
    await desk.ok("transition", number=1, to="reopened")
    shown = await desk.ok("get", number=1)
    assert (shown["resolved_at"], shown["resolved_by"]) == (None, None)


async def test_an_agent_does_not_resolve_over_criteria_that_are_not_accepted(desk: IssueDesk) -> None:
    await desk.file()
    await desk.move(1, "in_progress")
    await desk.changed("POST", "/1/todos", {"content": "All tests pass", "kind": "criterion"}, 201)
    refused = await desk.refused("invalid_transition", "transition", number=1, to="resolved", comment="Done.")
    assert refused["detail"]["criteria"] == ["All tests pass"]
    assert "All tests pass" in refused["error_text"] and "resolved" not in refused["detail"]["legal"]
    # An operator who resolves it has looked.
    await desk.move(1, "resolved", "Seen it work.")
    assert (await desk.shown(1))["todo_counts"]["criteria_accepted"] == 1


# -- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "params", "told"),
    [
        ("create", {"title": "T"}, "create needs body"),
        ("create", {"body": "B"}, "create needs title"),
        ("get", {}, "get needs number"),
        ("comment", {"body": "B"}, "comment needs number"),
        ("transition", {"number": 1}, "transition needs to"),
        ("transition", {"number": 1, "to": "open"}, "to"),
        ("list", {"status": "closed"}, "status"),
        ("list", {"search": '"open'}, "search: has a quote"),
        ("list", {"cursor": "nonsense"}, "cursor"),
        ("list", {"offset": 10**18}, "offset"),
        ("list", {"unknown": 1}, "unknown"),
        ("get", {"number": 0}, "number"),
        ("create", {"title": " \n ", "body": ""}, "title: is empty"),
        ("create", {"title": "a\nb", "body": ""}, "more than one line"),
        ("create", {"title": "T", "body": "\ud800"}, "unpaired surrogate"),
        (
            "create",
            {"title": "T", "body": "ä" * 8193},
            "16386 bytes of UTF-8 (8193 characters), at most 16384",
        ),
    ],
)
async def test_hostile_parameters_are_refused_by_name(
    desk: IssueDesk, action: str, params: dict[str, Any], told: str
) -> None:
    refused = await desk.refused("invalid_params", action, **params)
    assert told in refused["error_text"]


async def test_a_number_that_no_issue_can_have_is_not_found(desk: IssueDesk) -> None:
    await desk.refused("issue_not_found", "get", number=10**17)
    await desk.refused("issue_not_found", "comment", number=2**31, body="Where?")


async def test_texts_at_their_limits_and_with_nul_are_stored(desk: IssueDesk) -> None:
    await desk.ok("create", title="a\0b", body="x" * 16384)
    shown = await desk.ok("get", number=1)
    assert (shown["title"], len(shown["body"])) == ("a\ufffdb", 16384)
