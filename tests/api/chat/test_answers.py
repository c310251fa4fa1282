"""Answers by the official SDK: whole and streamed, of the root agent and of others."""

from __future__ import annotations

from typing import Any

import pytest

from app.messages import Usage
from tests.driver.chat_client import SESSION, ChatDesk, user
from tests.driver.family import calling
from tests.fakes.provider_script import Reply, Text, Thinking

USAGE = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=4, reasoning_tokens=2)


@pytest.mark.requirement("chat.answers")
async def test_the_sdk_gets_an_agents_answer_with_its_tokens_and_the_session_has_the_cost(
    desk: ChatDesk,
) -> None:
    desk.cast.script("primary", Reply((Text("It sells "), Text("things.")), usage=USAGE))
    async with desk.sdk() as sdk:
        raw = await sdk.chat.completions.with_raw_response.create(
            model="family/primary", messages=[user("What is it?")]
        )
    answer, session_id = raw.parse(), raw.headers[SESSION]
    assert (answer.object, answer.model) == ("chat.completion", "family/primary")
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "It sells things.")
    assert choice.finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (14, 5)
    assert answer.usage.total_tokens == 19
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 4
    session = await desk.get(f"/sessions/{session_id}")
    assert session["headless"]
    assert session["tokens"]["total"] == 19
    assert session["cost_usd"]["total"] > 0
    assert session["last_run"]["id"] == raw.headers["X-Kaged-Run"]
    audit = await desk.get("/audit", event="operator.create_chat_completion")
    assert [row["session_id"] for row in audit["items"]] == [session_id]


@pytest.mark.requirement("chat.stream")
async def test_a_stream_has_the_text_of_all_steps_and_nothing_of_tools_or_thoughts(desk: ChatDesk) -> None:
    first = calling(("file_read", {"path": "README.md"}), text="Let me see.")
    desk.cast.script("primary", first, Reply((Thinking("Hm."), Text("It sells "), Text("things."))))
    async with desk.sdk() as sdk:
        stream = await sdk.chat.completions.create(
            model="family/primary",
            messages=[user("What is it?")],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Let me see.\n\nIt sells things."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks[:-1])
    last = chunks[-1]
    assert last.choices == []
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (20, 10)


@pytest.mark.requirement("chat.stream")
async def test_the_events_are_those_of_the_protocol(desk: ChatDesk) -> None:
    desk.cast.script("primary", Reply((Text("Yes."),)))
    body = {"model": "family/primary", "messages": [user("Well?")], "stream": True}
    answer = await desk.client.post("/v1/chat/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = answer.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all(one.startswith("data: {") and '"usage"' not in one for one in events[:-2])


@pytest.mark.requirement("chat.agents")
async def test_the_models_are_the_agents_of_the_project(desk: ChatDesk) -> None:
    async with desk.sdk() as sdk:
        models = [model.id async for model in sdk.models.list()]
        one = await sdk.models.retrieve("family/coder.tester")
    assert models == ["family/primary", "family/coder", "family/coder.tester", "family/reader"]
    assert (one.id, one.owned_by) == ("family/coder.tester", "kaged")


@pytest.mark.parametrize("model", ["family/coder", "family/primary.subagents.coder", "project"])
@pytest.mark.requirement("chat.agents")
async def test_a_subagent_answers_with_its_own_prompt_tools_and_children(desk: ChatDesk, model: str) -> None:
    model = f"{desk.project_id}/coder" if model == "project" else model
    desk.cast.script("coder", calling(("agent-tester", {"task": "Test it"})), Reply((Text("All green."),)))
    async with desk.sdk() as sdk:
        raw = await sdk.chat.completions.with_raw_response.create(
            model=model, messages=[user("Does it work?")]
        )
    assert raw.parse().choices[0].message.content == "All green."
    assert desk.cast.tools("coder") == ["file_read", "file_write", "agent-tester"]
    assert desk.cast.messages("coder", 1)[-1]["role"] == "tool"
    assert "tester is done." in str(desk.cast.messages("coder", 1)[-1]["content"])
    session = await desk.get(f"/sessions/{raw.headers[SESSION]}")
    assert session["overrides"] == {"agent": "primary.subagents.coder"}
    paths = {one["agent_path"] for one in (await desk.get(f"/sessions/{session['id']}/prompts"))["items"]}
    assert paths == {"primary", "primary.subagents.tester"}


@pytest.mark.requirement("chat.agents")
async def test_what_is_denied_above_an_agent_is_denied_to_it_as_the_root_of_a_session(desk: ChatDesk) -> None:
    write: dict[str, Any] = {"content": "x"}
    desk.cast.script(
        "coder",
        calling(
            ("file_write", {"path": "secret.txt", **write}), ("file_write", {"path": "free.txt", **write})
        ),
    )
    async with desk.sdk() as sdk:
        await sdk.chat.completions.create(model="family/coder", messages=[user("Write")])
    denied, written = (one["content"] for one in desk.cast.messages("coder", 1)[-2:])
    assert "denied" in denied
    assert not (desk.root / "secret.txt").exists()
    assert (desk.root / "free.txt").read_text() == "x", written


@pytest.mark.requirement("chat.headless")
async def test_what_would_ask_is_denied(desk: ChatDesk) -> None:
    rule = {"permission": "file.write", "pattern": "*", "action": "ask"}
    await desk.client.post(f"/api/v1/projects/{desk.project_id}/permissions", json=rule)
    question = {"kind": "text", "question": "Which?"}
    desk.cast.script(
        "primary",
        calling(("file_write", {"path": "a.txt", "content": "x"})),
        calling(("kaged_ask", question)),
        Reply((Text("I could not."),)),
    )
    async with desk.sdk() as sdk:
        answer = await sdk.chat.completions.create(model="family/primary", messages=[user("Write")])
    assert answer.choices[0].message.content == "I could not."
    assert not (desk.root / "a.txt").exists()
    assert "denied" in desk.cast.messages("primary", 1)[-1]["content"]
    assert (await desk.get("/sessions", asks=True))["items"] == []


@pytest.mark.requirement("chat.agents")
async def test_a_session_of_a_subagent_gets_its_changed_prompt(desk: ChatDesk) -> None:
    asked: dict[str, Any] = {"model": "family/coder", "messages": [user("Hello")]}
    started = await desk.client.post("/v1/chat/completions", json=asked)
    (desk.root / "prompts" / "coder.md").write_text("You are <coder>, and careful.\n")
    await desk.client.post(f"/api/v1/projects/{desk.project_id}/reload")
    header = {SESSION: started.headers[SESSION]}
    again = await desk.client.post("/v1/chat/completions", json=asked, headers=header)
    assert again.status_code == 200
    systems = [request.json["messages"][0]["content"] for request in desk.cast.requests["coder"]]
    assert ["careful" in system for system in systems] == [False, True]
    # The event of the reload names the agent as the session does.
    page = await desk.get("/sync", sessions=f"{header[SESSION]}:0")
    reloaded = [f["payload"] for f in page["sessions"][0]["frames"] if f["type"] == "prompt.reloaded"]
    assert reloaded == [{"agents": ["primary"]}]
