"""Tokens at `/mcp`: a chat client's talks to its agents, and a handle belongs to one token."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError

from app.access.scopes import Binding, Scope
from app.harness.sessions import remote_client
from tests.driver.daemon import Daemon
from tests.driver.mcp_client import ERAS, User, mcp_client, open_session, text_of
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("mcp.server.hostile")
eras = pytest.mark.parametrize("era", ERAS)
READER = "primary.subagents.reader"
OWN = ["open_session", "close_session", "ask_agent"]
CREATES = Reply((ToolCall("file_create", {"path": "asked/new.txt", "content": "hello\n"}),))


async def chat_token(daemon: Daemon, agent: str | None = None) -> str:
    bound = Binding(daemon.services.projects.all()[0].id, agent_path=agent)
    return (await daemon.services.access.create("chat", scope="chat", bound=bound)).secret


@eras
async def test_a_chat_clients_token_asks_its_agents_and_calls_no_tool(
    daemon: Daemon, model: FakeProvider, era: str
) -> None:
    token = await chat_token(daemon)
    async with mcp_client(daemon, era, token=token) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == OWN
        session = await open_session(client)
        for name in ("file_read", "shell_bash"):
            with pytest.raises(MCPError, match="There is no tool"):
                await client.call_tool(name, {"path": "README.md", "session": session})
        for agent in ("primary", READER):
            model.script(text_reply(f"I am {agent}."))
            answer = await client.call_tool("ask_agent", {"prompt": "Who are you?", "agent": agent})
            assert answer.structured_content["answer"] == f"I am {agent}."


@eras
async def test_a_token_for_one_agent_reaches_no_other(daemon: Daemon, model: FakeProvider, era: str) -> None:
    async with mcp_client(daemon, era) as client:
        theirs = await open_session(client)
    token = await chat_token(daemon, READER)
    async with mcp_client(daemon, era, token=token) as client:
        model.script(text_reply("I read."))
        answer = (await client.call_tool("ask_agent", {"prompt": "Who are you?"})).structured_content
        assert answer["agent"] == READER
        for refused in ({"agent": "primary"}, {"session": theirs}):
            other = await client.call_tool("ask_agent", {"prompt": "Hi", **refused})
            assert other.is_error, text_of(other)
            assert "Agents: primary.subagents.reader." in text_of(other) or "no such open" in text_of(other)
    for query in ("?agent=primary", "?agent=primary.subagents.nobody", "?project=other"):
        async with mcp_client(daemon, era, token=token, query=query) as client:
            with pytest.raises(MCPError, match=f"(Agents: {READER}|Loaded projects: shop)[.]"):
                await client.list_tools()


@eras
async def test_the_user_of_a_chat_client_consents_to_nothing(
    daemon: Daemon, model: FakeProvider, shop: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_client, "CONSENT_SECONDS", 0.3)
    model.script(CREATES, text_reply("Done."))
    user = User("allow")
    async with mcp_client(daemon, era, token=await chat_token(daemon), user=user) as client:
        result = await client.call_tool("ask_agent", {"prompt": "Write it"})
        assert result.is_error and "no_answer" in text_of(result)
    async with daemon.client() as http:
        (waiting,) = (await http.get("/api/v1/sessions?asks=true")).json()["items"]
        await http.post(f"/api/v1/sessions/{waiting['id']}/cancel")
    assert user.asked == []
    assert not (shop / "asked" / "new.txt").exists()


@eras
@pytest.mark.parametrize("scope", ["operator", "chat"])
async def test_a_new_token_of_the_same_name_has_none_of_the_old_ones_sessions(
    daemon: Daemon, era: str, scope: Scope
) -> None:
    access = daemon.services.access
    bound = Binding(daemon.services.projects.all()[0].id) if scope == "chat" else Binding()
    old = await access.create("same", scope=scope, bound=bound)
    async with mcp_client(daemon, era, token=old.secret) as client:
        session = await open_session(client)
        assert (await client.call_tool("close_session", {"session": session})).is_error is False
        session = await open_session(client)
    await access.revoke(old.row.id)
    new = await access.create("same", scope=scope, bound=bound)
    async with mcp_client(daemon, era, token=new.secret) as client:
        refused = await client.call_tool("close_session", {"session": session})
        assert refused.is_error and "There is no such open session of yours" in text_of(refused)
