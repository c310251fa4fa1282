"""Who hears of a change of an issue, and what the audit trail says of it. On each database in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict, StorageError
from app.events.sessions import SessionUpdated
from app.harness.issues.changes import Changed
from app.storage.unit_of_work import UnitOfWork
from tests.driver.daemon import next_frame
from tests.driver.issue_desk import IssueDesk, issue_desk


@pytest.fixture
async def desk(tmp_path: Path, storage_url: str | None) -> AsyncIterator[IssueDesk]:
    async with issue_desk(tmp_path, storage_url) as made:
        yield made


async def bound_session(desk: IssueDesk, number: int) -> str:
    body = {"project_id": desk.project_id, "issue_number": number}
    answer = await desk.client.post("/api/v1/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def about(frame: dict[str, Any]) -> tuple[str, int, str, str]:
    payload = frame["payload"]
    return payload["change"], payload["number"], payload["status"], payload["actor"].split(":")[0]


@pytest.mark.requirement("issues.events")
async def test_a_bound_session_keeps_every_change_of_its_issue(desk: IssueDesk) -> None:
    await desk.file()
    await desk.file("Another")
    bound = await bound_session(desk, 1)
    async with desk.daemon.websocket(f"/sessions/{bound}/ws") as socket:
        await next_frame(socket, "sync")
        await desk.changed("PATCH", "/1", {"title": "Now"})
        await desk.changed("POST", "/2/comments", {"body": "Elsewhere."}, 201)
        await desk.changed("POST", "/1/comments", {"body": "Hm."}, 201)
        await desk.move(1, "triaged")
        live = [await next_frame(socket, "issue.changed") for _ in range(3)]
    expected = [
        ("edited", 1, "open", "operator"),
        ("commented", 1, "open", "operator"),
        ("transitioned", 1, "triaged", "operator"),
    ]
    assert [about(frame) for frame in live] == expected
    assert live[0]["session_id"] == bound
    # They are durable: who comes later is told the same.
    async with desk.daemon.websocket(f"/sessions/{bound}/ws?after_seq=0") as socket:
        again = [await next_frame(socket, "issue.changed") for _ in range(3)]
    assert again == live


@pytest.mark.requirement("issues.events")
async def test_who_listens_to_all_sessions_hears_of_every_issue_once(desk: IssueDesk) -> None:
    async with desk.daemon.websocket("/ws") as socket:
        await desk.file()
        filed = await next_frame(socket, "issue.changed")
        assert about(filed) == ("created", 1, "open", "operator")
        assert filed["payload"]["project_id"] == desk.project_id and filed["session_id"] == ""
        for _ in range(2):
            await bound_session(desk, 1)
        await desk.ok("transition", number=1, to="in_progress")
        moved = await next_frame(socket, "issue.changed")
        await desk.changed("POST", "/1/comments", {"body": "Next."}, 201)
        assert about(moved) == ("transitioned", 1, "in_progress", "agent")
        assert about(await next_frame(socket, "issue.changed")) == ("commented", 1, "in_progress", "operator")


@pytest.mark.requirement("issues.events")
async def test_an_archived_session_gets_no_event(desk: IssueDesk) -> None:
    await desk.file()
    bound = await bound_session(desk, 1)
    assert (await desk.client.post(f"/api/v1/sessions/{bound}/archive")).status_code == 200
    await desk.move(1, "triaged")
    last = await desk.daemon.services.storage.read(lambda uow: uow.events.after(bound, 0, 2**40, 100))
    assert [row.type for row in last if row.type == "issue.changed"] == []


@pytest.mark.requirement("issues.events")
async def test_a_change_that_fails_is_not_published_and_holds_nobody_up(desk: IssueDesk) -> None:
    await desk.file()
    bound = await bound_session(desk, 1)
    services = desk.daemon.services
    stream = await services.events.stream(bound)

    def refused(uow: UnitOfWork) -> Changed[None]:
        uow.issues.update("iss_absent", title="x")
        raise Conflict("not now")

    async with desk.daemon.websocket(f"/sessions/{bound}/ws") as socket:
        await next_frame(socket, "sync")
        failing = asyncio.create_task(services.management.issues.changes.store(desk.project_id, 1, refused))
        await desk.changed("POST", "/1/comments", {"body": "After it."}, 201)
        with pytest.raises(Conflict):
            await failing
        await stream.record([SessionUpdated(title="later")])
        first = await next_frame(socket, "issue.changed", "session.updated")
        second = await next_frame(socket, "issue.changed", "session.updated")
    assert {first["type"], second["type"]} == {"issue.changed", "session.updated"}
    assert first["seq"] < second["seq"]


@pytest.mark.requirement("issues.events")
async def test_a_place_whose_storage_is_closed_is_given_up(tmp_path: Path) -> None:
    async with issue_desk(tmp_path, None) as desk:
        await desk.file()
        bound = await bound_session(desk, 1)
        services = desk.daemon.services
        stream = await services.events.stream(bound)
        await services.storage.close()
        with pytest.raises(StorageError):
            await services.management.issues.changes.store(desk.project_id, None, lambda _: Changed(None))
        assert stream.quiet


@pytest.mark.requirement("issues.audit")
async def test_the_audit_trail_says_who_did_what(desk: IssueDesk) -> None:
    await desk.ok("create", title="Bearer sk-12345678901234567890", body="")
    await desk.changed("PATCH", "/1", {"body": "More."})
    await desk.ok("comment", number=1, body="Seen.", visibility="operator_only")
    await desk.move(1, "triaged")
    await desk.file("Two")
    await desk.changed("POST", "/1/links", {"kind": "blocks", "target": 2}, 201)
    params = {"event": "kaged.issue.*", "project_id": desk.project_id}
    audit = (await desk.client.get("/api/v1/audit", params=params)).json()["items"]
    told = [(row["event"].removeprefix("kaged.issue."), row["actor"], row["data"]) for row in audit[::-1]]
    events, actors, data = zip(*told, strict=True)
    assert events == ("created", "updated", "commented", "transitioned", "created", "linked")
    operator = actors[1]
    assert operator.startswith("operator:")
    assert actors == ("agent:primary", operator, "agent:primary", operator, operator, operator)
    shown = await desk.shown(1)
    assert all(one["issue_id"] == shown["id"] for one in (*data[:4], data[5]))
    assert data[0]["number"] == 1 and "sk-1234" not in data[0]["title"]
    assert data[1]["updated_fields"] == ["body"]
    assert data[2]["visibility"] == "operator_only" and data[2]["update_id"].startswith("isu_")
    assert (data[3]["from_status"], data[3]["to_status"]) == ("open", "triaged")
    by_agent = audit[-1]
    assert by_agent["session_id"] == desk.session_id and by_agent["agent_path"] == "primary"
    assert audit[-2]["request_id"].startswith("req_")
