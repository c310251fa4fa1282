"""`ask_agent`: an agent works on a prompt, and the client hears of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.harness.sessions import remote_client
from tests.driver.daemon import Daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.mcp_client import ERAS, User, mcp_client, open_session, text_of
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("mcp.server.agent")
eras = pytest.mark.parametrize("era", ERAS)
READER = "primary.subagents.reader"
READS = (Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("I may not read it."))
CREATES = Reply((ToolCall("file_create", {"path": "asked/new.txt", "content": "hello\n"}),))


@eras
async def test_the_answer_comes_with_progress_and_can_be_followed_up(
    daemon: Daemon, model: FakeProvider, era: str
) -> None:
    said: list[str | None] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        said.append(message)

    model.script(Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("It sells things."))
    async with mcp_client(daemon, era) as client:
        await client.list_tools()
        result = await client.call_tool(
            "ask_agent", {"prompt": "What does the shop sell?"}, progress_callback=progress
        )
        assert not result.is_error, text_of(result)
        data = result.structured_content
        assert data["answer"] == "It sells things." and data["state"] == "succeeded" and data["steps"] == 2
        assert said == ["primary: file.read"]
        model.script(text_reply("Yes."))
        again = await client.call_tool("ask_agent", {"prompt": "Sure?", "session": data["session"]})
        assert again.structured_content["answer"] == "Yes."
    contents = [message["content"] for message in model.requests[-1].json["messages"]]
    assert any("What does the shop sell?" in str(one) for one in contents)


@eras
async def test_cancelling_the_call_cancels_the_run(daemon: Daemon, model: FakeProvider, era: str) -> None:
    model.script(Reply((Text("Thinking"), Stall())))
    async with mcp_client(daemon, era) as client, daemon.client() as http:
        calling = asyncio.create_task(client.call_tool("ask_agent", {"prompt": "Think"}))
        await model.until_requests(1)
        calling.cancel()
        await model.until_disconnects()
        session = (await http.get("/api/v1/sessions")).json()["items"][0]
        async with asyncio.timeout(WAIT_SECONDS):
            while session["last_run"]["state"] == "running":
                await asyncio.sleep(0.02)
                session = (await http.get("/api/v1/sessions")).json()["items"][0]
        assert session["last_run"]["state"] == "cancelled"


@eras
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_the_questions_of_the_run_go_to_the_user_of_the_client(
    daemon: Daemon, model: FakeProvider, shop: Path, era: str, decision: str
) -> None:
    model.script(CREATES, text_reply("Done."))
    user = User(decision)
    async with mcp_client(daemon, era, user=user) as client:
        result = await client.call_tool("ask_agent", {"prompt": "Write it"})
        assert result.structured_content["answer"] == "Done.", text_of(result)
    assert len(user.asked) == 1
    assert (shop / "asked" / "new.txt").exists() == (decision == "allow")


@eras
async def test_a_question_that_nobody_answers_ends_the_call_and_not_the_run(
    daemon: Daemon, model: FakeProvider, shop: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_client, "CONSENT_SECONDS", 0.3)
    model.script(CREATES, text_reply("Done."))
    async with mcp_client(daemon, era) as client, daemon.client() as http:
        result = await client.call_tool("ask_agent", {"prompt": "Write it"})
        session = (await http.get("/api/v1/sessions?asks=true")).json()["items"][0]
        assert result.is_error and f"{daemon.url}/#{session['id']}" in text_of(result)
        path = f"/api/v1/sessions/{session['id']}/interactions"
        question = (await http.get(f"{path}?state=pending")).json()["items"][0]["id"]
        assert (await http.post(f"{path}/{question}/answer", json={"answer": "once"})).status_code == 200
        await model.until_requests(2)
    assert (shop / "asked" / "new.txt").exists()


@eras
async def test_a_run_that_fails_is_an_error_with_its_reason(
    daemon: Daemon, model: FakeProvider, era: str
) -> None:
    async with mcp_client(daemon, era) as client:
        for prompt, reason in (("", "The prompt is empty"), (" \n", "The prompt is empty")):
            refused = await client.call_tool("ask_agent", {"prompt": prompt})
            assert refused.is_error and reason in text_of(refused)
        unknown = await client.call_tool("ask_agent", {"prompt": "Hi", "model": "other"})
        assert unknown.is_error and "no such parameter" in text_of(unknown)


@eras
async def test_a_call_names_another_agent_of_the_tree(daemon: Daemon, model: FakeProvider, era: str) -> None:
    said: list[str | None] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        said.append(message)

    async with mcp_client(daemon, era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        described = tools["ask_agent"].input_schema["properties"]["agent"]["description"]
        assert described.splitlines()[1:] == ["primary", f"{READER}: Reads the sources"]
        model.script(*READS)
        asks = {"prompt": "Read it", "agent": READER}
        answered = (await client.call_tool("ask_agent", asks, progress_callback=progress)).structured_content
        assert (answered["agent"], answered["answer"]) == (READER, "I may not read it.")
        assert said == [f"{READER}: file.read"]
        assert "It sells" not in str(model.requests[-1].json["messages"])  # the cage of the reader
        session = answered["session"]
        model.script(text_reply("No."))
        again = await client.call_tool("ask_agent", {"prompt": "Sure?", "session": session})
        assert again.structured_content["agent"] == READER
        for refused, reason in (
            ({"agent": "primary", "session": session}, f"talks to {READER}"),
            ({"agent": "primary.subagents.nobody"}, f"Agents: primary, {READER}"),
            ({"agent": ["primary"]}, "There is no agent"),
        ):
            answer = await client.call_tool("ask_agent", {"prompt": "Hi", **refused})
            assert answer.is_error and reason in text_of(answer)
        foreign = await client.call_tool("file_read", {"path": "README.md", "session": session})
        assert foreign.is_error and f"one of {READER}" in text_of(foreign)


@eras
async def test_the_agent_of_the_address_is_asked_and_none_above_it(
    daemon: Daemon, model: FakeProvider, era: str
) -> None:
    async with mcp_client(daemon, era) as client:
        above = await open_session(client)
    async with mcp_client(daemon, era, query=f"?agent={READER}") as client:
        opened = (await client.call_tool("open_session", {})).structured_content
        assert opened["agent"] == READER
        read = await client.call_tool("file_read", {"path": "src/total.py", "session": opened["session"]})
        assert "sum(prices)" in text_of(read)
        for handle in (None, opened["session"]):
            model.script(*READS)
            answer = await client.call_tool("ask_agent", {"prompt": "Read it", "session": handle})
            assert answer.structured_content["agent"] == READER, text_of(answer)
            assert "It sells" not in str(model.requests[-1].json["messages"])
        for refused in ({"agent": "primary"}, {"session": above}):
            answer = await client.call_tool("ask_agent", {"prompt": "Read it", **refused})
            assert answer.is_error and f"Agents: {READER}." in text_of(answer)
