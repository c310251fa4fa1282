"""Calls that need consent: the client's user is asked, or the operator; and nobody waits for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from app.harness.sessions import remote_client
from tests.driver.daemon import Daemon, next_frame
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.mcp_client import ERAS, User, mcp_client, open_session, text_of, until

pytestmark = pytest.mark.requirement("mcp.server.consent")
eras = pytest.mark.parametrize("era", ERAS)


async def create(client: Client, session: str, name: str = "new.txt") -> Any:
    """Make a file where a rule of the project asks."""
    arguments = {"path": f"asked/{name}", "content": "hello\n", "session": session}
    return await client.call_tool("file_create", arguments)


async def answers_of(daemon: Daemon) -> list[dict[str, Any]]:
    """Return what the audit says of answers to questions."""
    async with daemon.client() as http:
        page = (await http.get("/api/v1/audit?event=permission.answered")).json()
    return [row["data"] for row in page["items"]]


@eras
async def test_the_user_of_the_client_allows_a_call_once(daemon: Daemon, shop: Path, era: str) -> None:
    user = User("allow")
    async with mcp_client(daemon, era, user=user) as client:
        session = await open_session(client)
        assert not (await create(client, session)).is_error
        assert not (await create(client, session, "second.txt")).is_error
    assert len(user.asked) == 2  # once is once
    assert "primary wants to call file.create" in user.asked[0] and "asked/new.txt" in user.asked[0]
    assert (shop / "asked" / "new.txt").read_text() == "hello\n"
    assert {(one["answer"], one["by"]) for one in await answers_of(daemon)} == {("once", "remote_client")}


@eras
@pytest.mark.parametrize("decision", ["deny", "dismiss", "whatever"])
async def test_what_is_not_a_yes_is_a_no(daemon: Daemon, shop: Path, era: str, decision: str) -> None:
    async with mcp_client(daemon, era, user=User(decision)) as client:
        result = await create(client, await open_session(client))
    assert result.is_error and "permission_denied" in text_of(result)
    assert not (shop / "asked" / "new.txt").exists()


@eras
async def test_a_user_who_does_not_answer_denies(
    daemon: Daemon, shop: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_client, "CONSENT_SECONDS", 0.3)
    user = User(None)
    async with mcp_client(daemon, era, user=user) as client:
        session = await open_session(client)
        calling = asyncio.create_task(create(client, session))
        await user.was_asked.wait()
        if era == ERAS[0]:
            result = await calling
            assert result.is_error and "did not answer within" in text_of(result)
        else:  # the request has its answer: the question; the call ends without its client
            calls = await _ended_calls(daemon, session)
            assert calls == ["permission_denied"]
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
    assert not (shop / "asked" / "new.txt").exists()


async def _ended_calls(daemon: Daemon, session: str) -> list[str | None]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            rows = await daemon.services.storage.read(lambda uow: uow.tool_calls.direct(session))
            if rows and all(row.ended_at is not None for row in rows):
                return [row.error_code for row in rows]
            await asyncio.sleep(0.02)


@eras
async def test_without_a_user_the_operator_is_asked_and_the_call_goes_on(
    daemon: Daemon, shop: Path, era: str
) -> None:
    async with mcp_client(daemon, era) as client, daemon.client() as http:
        session = await open_session(client)
        async with daemon.websocket(f"/sessions/{session}/ws?after_seq=0") as socket:
            calling = asyncio.create_task(create(client, session))
            question = (await next_frame(socket, "permission.requested"))["payload"]
            assert question["subjects"] == ["asked/new.txt"]
            listed = (await http.get("/api/v1/sessions?asks=true")).json()["items"]
            assert [one["id"] for one in listed] == [session]
            path = f"/api/v1/sessions/{session}/interactions/{question['interaction_id']}/answer"
            answered = await http.post(path, json={"answer": "once"})
            assert answered.status_code == 200, answered.text
            assert not (await calling).is_error
    assert (shop / "asked" / "new.txt").exists()


@eras
async def test_an_operator_who_does_not_answer_denies_with_the_link(
    daemon: Daemon, shop: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_client, "CONSENT_SECONDS", 0.3)
    async with mcp_client(daemon, era) as client, daemon.client() as http:
        session = await open_session(client)
        result = await create(client, session)
        assert result.is_error and f"{daemon.url}/#{session}" in text_of(result)
        left = (await http.get(f"/api/v1/sessions/{session}/interactions")).json()["items"]
        assert [one["state"] for one in left] == ["cancelled"]
    assert not (shop / "asked" / "new.txt").exists()


async def test_what_an_operator_always_allows_is_not_asked_again(daemon: Daemon) -> None:
    async with mcp_client(daemon, ERAS[1]) as client, daemon.client() as http:
        session = await open_session(client)
        project = daemon.services.projects.all()[0].id
        rule = {"permission": "file.write", "pattern": "**", "action": "ask"}
        assert (await http.post(f"/api/v1/projects/{project}/permissions", json=rule)).status_code == 201
        arguments = {"path": "new.txt", "content": "hello\n", "session": session}
        async with daemon.websocket(f"/sessions/{session}/ws?after_seq=0") as socket:
            calling = asyncio.create_task(client.call_tool("file_write", arguments))
            question = (await next_frame(socket, "permission.requested"))["payload"]
            path = f"/api/v1/sessions/{session}/interactions/{question['interaction_id']}/answer"
            assert (await http.post(path, json={"answer": "always"})).status_code == 200
            assert not (await calling).is_error
        again = await asyncio.wait_for(client.call_tool("file_write", arguments), 30)
        assert not again.is_error, text_of(again)


@eras
async def test_a_cancelled_call_withdraws_its_question(daemon: Daemon, era: str) -> None:
    async with mcp_client(daemon, era) as client, daemon.client() as http:
        session = await open_session(client)
        async with daemon.websocket(f"/sessions/{session}/ws?after_seq=0") as socket:
            calling = asyncio.create_task(create(client, session))
            await next_frame(socket, "permission.requested")
            calling.cancel()
            answered = await next_frame(socket, "permission.answered")
            assert answered["payload"]["state"] == "cancelled"
        assert (await http.get("/api/v1/sessions?asks=true")).json()["items"] == []


@eras
async def test_progress_comes_and_cancelling_ends_the_command(daemon: Daemon, shop: Path, era: str) -> None:
    said: list[str | None] = []
    heard = asyncio.Event()

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        said.append(message)
        heard.set()

    async with mcp_client(daemon, era) as client:
        session = await open_session(client)
        script = "echo $$ > pid; echo begun; exec sleep 600"
        arguments = {"command": script, "session": session}
        calling = asyncio.create_task(client.call_tool("shell_bash", arguments, progress_callback=progress))
        async with asyncio.timeout(WAIT_SECONDS):
            await heard.wait()
        assert "begun" in "".join(one or "" for one in said)
        number = (shop / "pid").read_text().strip()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await until(lambda: not Path(f"/proc/{number}/cmdline").exists())
        assert await _ended_calls(daemon, session) == ["cancelled"]
