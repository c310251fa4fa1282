"""What waits for a person, over all sessions: listed, answered, looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection

from app.messages import Usage
from tests.driver.daemon import Daemon, next_frame, write_project
from tests.fakes.provider_script import Document, Reply, Stall, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("interactions.inbox")


async def inbox(client: httpx2.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get("/api/v1/inbox", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def opened(client: httpx2.AsyncClient, project_id: str, title: str, **more: Any) -> str:
    answer = await client.post("/api/v1/sessions", json={"project_id": project_id, "title": title, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def run(daemon: Daemon, client: httpx2.AsyncClient, session_id: str, until: str = "run.ended") -> Any:
    """Post a message and return the frame that was waited for."""
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        posted = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go on"})
        assert posted.status_code == 201, posted.text
        frame = await next_frame(socket, until)
        while until == "run.ended":
            if (await next_frame(socket, "session.state"))["payload"]["state"] == "idle":
                break
        return frame


async def test_questions_failures_and_ends_wait_the_oldest_first(
    client: httpx2.AsyncClient, daemon: Daemon, model: FakeProvider, project_id: str
) -> None:
    rule = {"permission": "file.write", "pattern": "**", "action": "ask"}
    await client.post(f"/api/v1/projects/{project_id}/permissions", json=rule)
    done, failed, asking, headless = [
        await opened(client, project_id, title, headless=title == "Quiet")
        for title in ("Done", "Failed", "Asking", "Quiet")
    ]
    model.script(text_reply("Done."))
    ended = await run(daemon, client, done)
    model.script(Document(status=401, body={"error": {"message": "the key is wrong"}}))
    await run(daemon, client, failed)
    model.script(text_reply("Done."))
    await run(daemon, client, headless)
    model.script(Reply((ToolCall("file_write", {"path": "a.txt", "content": "a"}, id="c1"),)))
    question = await run(daemon, client, asking, "permission.requested")

    found = await inbox(client)
    assert [(one["kind"], one["session_title"]) for one in found] == [
        ("finished_run", "Done"),
        ("failed_run", "Failed"),
        ("question", "Asking"),
    ]
    assert found[0]["project"] == "shop"
    assert found[0]["run"]["id"] == ended["payload"]["run_id"]
    assert [one["summary"] for one in found] == ["Done.", None, None]
    assert "the key is wrong" in found[1]["error"]
    failure = found[1]["failure"]
    assert (failure["code"], failure["message"]) == ("auth", found[1]["error"])
    assert [found[at]["failure"] for at in (0, 2)] == [None, None]
    assert found[2]["question"]["request"]["subjects"] == ["a.txt"]

    first = (await client.get("/api/v1/inbox", params={"limit": 2})).json()
    rest = await inbox(client, limit=2, cursor=first["next_cursor"])
    assert (first["total"], [*first["items"], *rest]) == (3, found)
    assert await inbox(client, project_id="prj_01JZ0000000000000000000000") == []

    path = f"/api/v1/sessions/{asking}/interactions/{question['payload']['interaction_id']}/answer"
    model.script(text_reply("Then not."))
    async with daemon.websocket(f"/sessions/{asking}/ws") as socket:
        assert (await client.post(path, json={"answer": "reject"})).status_code == 200
        while (await next_frame(socket, "session.state"))["payload"]["state"] != "idle":
            pass
    kinds = [one["kind"] for one in await inbox(client)]
    assert kinds == ["finished_run", "failed_run", "finished_run"]


async def test_a_run_that_was_seen_leaves_and_the_next_one_comes(
    client: httpx2.AsyncClient, daemon: Daemon, model: FakeProvider, project_id: str
) -> None:
    session_id, other = [await opened(client, project_id, title) for title in ("One", "Two")]
    path = f"/api/v1/sessions/{session_id}"
    model.script(text_reply("Done."))
    ended = await run(daemon, client, session_id)
    changed_at = (await client.get(path)).json()["updated_at"]
    async with daemon.websocket("/ws") as everywhere:
        seen = await client.patch(path, json={"seen_run_id": ended["payload"]["run_id"]})
        told = await next_frame(everywhere, "session.updated")
    assert seen.status_code == 200, seen.text
    assert told["payload"]["seen_run_id"] == seen.json()["seen_run_id"] == ended["payload"]["run_id"]
    assert seen.json()["updated_at"] == changed_at, "to look at a session is no change"
    assert await inbox(client) == []

    model.script(text_reply("Done."))
    await run(daemon, client, session_id)
    async with asyncio.timeout(30):
        while not (found := await inbox(client)):  # noqa: ASYNC110 - as a client
            await asyncio.sleep(0.05)
    assert [one["kind"] for one in found] == ["finished_run"]
    await client.post(f"{path}/archive")
    assert await inbox(client) == []

    wrong = await client.patch(f"/api/v1/sessions/{other}", json={"seen_run_id": ended["payload"]["run_id"]})
    assert (wrong.status_code, wrong.json()["error"]["details"]["reason"]) == (404, "run_not_found")


async def test_a_run_that_a_limit_has_paused_waits_until_it_goes_on(
    client: httpx2.AsyncClient, daemon: Daemon, model: FakeProvider, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    file = root / ".kaged" / "project.yaml"
    file.write_text(f"{file.read_text()}limits: {{ tokens: 100 }}\n")
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()
    session_id = await opened(client, project["id"], "Costly")
    call = ToolCall("file_read", {"path": "README.md"}, id="c1")
    model.script(Reply((call,), usage=Usage(input_tokens=90, output_tokens=30)), text_reply("Read."))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Read it"})
        while (await next_frame(socket, "session.state"))["payload"]["state"] != "paused":
            pass
        (found,) = await inbox(client)
        assert (found["kind"], found["run"]["reason"]) == ("budget", "budget_tokens")
        assert (found["run"]["id"], found["summary"]) == (found["id"], None)
        resumed = await client.post(f"/api/v1/sessions/{session_id}/resume")
        assert resumed.status_code == 201, resumed.text
        while (await next_frame(socket, "session.state"))["payload"]["state"] != "idle":
            pass
    (found,) = await inbox(client)
    assert (found["kind"], found["summary"]) == ("finished_run", "Read.")


async def near_limit(socket: ClientConnection) -> Any:
    """Return the next warning that a limit is near. The one about a model without price has the same type,
    and comes before it."""
    while (warning := await next_frame(socket, "budget.warning"))["payload"]["unpriced_model"] is not None:
        pass
    return warning


async def limited(client: httpx2.AsyncClient, folder: Path) -> tuple[str, str]:
    """Return a project and a session of it whose runs may use 100 tokens."""
    root = write_project(folder)
    file = root / ".kaged" / "project.yaml"
    file.write_text(f"{file.read_text()}limits: {{ tokens: 100, cost_usd: 9 }}\n")
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()
    return project["id"], await opened(client, project["id"], "Costly")


async def test_a_run_that_is_near_a_limit_waits_until_it_is_seen(
    client: httpx2.AsyncClient, daemon: Daemon, model: FakeProvider, tmp_path: Path
) -> None:
    project_id, session_id = await limited(client, tmp_path / "shop")
    rule = {"permission": "file.write", "pattern": "**", "action": "ask"}
    await client.post(f"/api/v1/projects/{project_id}/permissions", json=rule)

    def write(number: int, tokens: int) -> Reply:
        call = ToolCall("file_write", {"path": f"{number}.txt", "content": "a"}, id=f"c{number}")
        return Reply((call,), usage=Usage(input_tokens=tokens, output_tokens=2))

    async def allow(asked: Any) -> None:
        path = f"/api/v1/sessions/{session_id}/interactions/{asked['payload']['interaction_id']}/answer"
        assert (await client.post(path, json={"answer": "once"})).status_code == 200

    model.script(write(1, 80), write(2, 3), write(3, 3), text_reply("Done."))
    async with daemon.websocket("/ws") as everywhere:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go on"})
        first = await next_frame(everywhere, "permission.requested")
        assert await inbox(client, kind="budget_warning") == []
        await allow(first)
        warned = await near_limit(everywhere)
        second = await next_frame(everywhere, "permission.requested")

        (found,) = await inbox(client, kind="budget_warning")
        assert (found["id"], found["run"]["state"]) == (warned["run_id"], "running")
        # What was used since is in it.
        assert found["budget"] == [{"unit": "tokens", "limit": 100.0, "used": 87.0, "shared": False}]
        assert warned["payload"]["used"] == 82
        both = await inbox(client, kind=["budget_warning", "question"])
        assert [(one["kind"], one["budget"] is None) for one in both] == [
            ("budget_warning", False),
            ("question", True),
        ]

        # Whoever has the inbox open is told that somebody has seen it; a second time is nothing new.
        for _ in range(2):
            seen = await client.post(f"/api/v1/runs/{found['id']}/see-warnings")
            assert seen.status_code == 204, seen.text
        told = await next_frame(everywhere, "budget.seen")
        assert (told["run_id"], told["payload"]) == (found["id"], {"run_id": found["id"]})
        assert await inbox(client, kind="budget_warning") == []
        await allow(second)
        await allow(await next_frame(everywhere, "permission.requested"))
        while (ended := await next_frame(everywhere))["type"] != "run.ended":
            assert not ended["type"].startswith("budget."), "a limit is near once in a run"
    missing = await client.post("/api/v1/runs/run_01JZ0000000000000000000000/see-warnings")
    assert missing.status_code == 404


async def test_a_warning_that_nobody_saw_leaves_with_its_run(
    client: httpx2.AsyncClient, daemon: Daemon, model: FakeProvider, tmp_path: Path
) -> None:
    _, session_id = await limited(client, tmp_path / "shop")
    call = ToolCall("file_read", {"path": "README.md"}, id="c1")
    model.script(Reply((call,), usage=Usage(input_tokens=80, output_tokens=2)), Reply((Stall(),)))
    async with daemon.websocket("/ws") as everywhere:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go on"})
        await near_limit(everywhere)
        assert [one["kind"] for one in await inbox(client)] == ["budget_warning"]
        await client.post(f"/api/v1/sessions/{session_id}/cancel")
    assert await inbox(client) == []


async def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.get("/api/v1/inbox", params={"kind": ["question", "zz"]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "validation_failed")
    assert "'failed_run'" in str(error["details"]), error
