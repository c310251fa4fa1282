"""Sessions of chat clients: continued by the header, started from messages, one request at a time."""

from __future__ import annotations

import asyncio
import base64

import httpx2
import openai
import pytest

from tests.driver.chat_client import SESSION, ChatDesk, user
from tests.fakes.provider_script import Hold, Reply, Text

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()


def completion(desk: ChatDesk, content: str, **headers: str) -> asyncio.Task[httpx2.Response]:
    body = {"model": "family/primary", "messages": [user(content)]}
    return asyncio.create_task(desk.client.post("/v1/chat/completions", json=body, headers=headers))


@pytest.mark.requirement("chat.sessions")
async def test_the_header_continues_a_session_with_the_last_message_alone(desk: ChatDesk) -> None:
    desk.cast.script("primary", Reply((Text("One."),)), Reply((Text("Two."),)))
    async with desk.sdk() as sdk:
        first = await sdk.chat.completions.with_raw_response.create(
            model="family/primary", messages=[user("First")]
        )
        session_id = first.headers[SESSION]
        second = await sdk.chat.completions.with_raw_response.create(
            model="family/primary",
            messages=[user("Other"), {"role": "assistant", "content": "Invented"}, user("Second")],
            extra_headers={SESSION: session_id},
        )
    assert second.headers[SESSION] == session_id
    assert second.parse().choices[0].message.content == "Two."
    assert await desk.messages(session_id) == [
        ("operator", "First"),
        ("primary", "One."),
        ("operator", "Second"),
        ("primary", "Two."),
    ]


@pytest.mark.requirement("chat.sessions")
async def test_a_new_session_starts_from_all_messages_with_images_and_instructions(desk: ChatDesk) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
    async with desk.sdk() as sdk:
        raw = await sdk.chat.completions.with_raw_response.create(
            model="family/primary",
            messages=[
                {"role": "system", "content": "Answer in French."},
                user([{"type": "text", "text": "Look:"}, picture, {"type": "text", "text": "What is it?"}]),
                {"role": "assistant", "content": "Un chat.", "tool_calls": None},
                {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
                user("Sure?"),
            ],
        )
    sent = desk.cast.messages("primary")
    assert [message["role"] for message in sent] == ["user", "user", "assistant", "user", "user"]
    assert sent[0]["content"] == "<client_instructions>\nAnswer in French.\n</client_instructions>"
    assert [part["type"] for part in sent[1]["content"]] == ["image_url", "text"]
    assert sent[1]["content"][0]["image_url"]["url"] == f"data:image/png;base64,{PNG}"
    assert sent[1]["content"][1]["text"] == "Look:\n\nWhat is it?"
    assert sent[2]["content"] == "Un chat."
    assert "Be brief." in sent[3]["content"]
    assert sent[4]["content"] == "Sure?"
    roles = [role for role, _ in await desk.messages(raw.headers[SESSION])]
    assert roles == ["system", "operator", "primary", "system", "operator", "primary"]


@pytest.mark.requirement("chat.sessions")
async def test_a_conversation_that_begins_with_an_answer_has_a_message_before_it(desk: ChatDesk) -> None:
    async with desk.sdk() as sdk:
        await sdk.chat.completions.create(
            model="family/primary", messages=[{"role": "assistant", "content": "Hello!"}, user("Hello")]
        )
    assert [message["role"] for message in desk.cast.messages("primary")] == ["user", "assistant", "user"]


@pytest.mark.requirement("chat.sessions")
async def test_a_busy_session_answers_409_and_two_requests_without_it_run_at_once(desk: ChatDesk) -> None:
    holds = [Hold(), Hold()]
    desk.cast.script("primary", *(Reply((hold, Text("Done."))) for hold in holds))
    first = completion(desk, "First")
    second = completion(desk, "Second")
    await desk.model.until_requests(2)
    sessions = [one["id"] for one in (await desk.get("/sessions", state="running"))["items"]]
    assert len(sessions) == 2
    async with desk.sdk() as sdk:
        with pytest.raises(openai.ConflictError) as refused:
            await sdk.chat.completions.create(
                model="family/primary", messages=[user("Third")], extra_headers={SESSION: sessions[0]}
            )
    assert (refused.value.code, refused.value.type) == ("session_busy", "conflict_error")
    assert refused.value.response.headers["x-should-retry"] == "false"
    for hold in holds:
        hold.gate.set()
    answers = await asyncio.gather(first, second)
    assert {answer.headers[SESSION] for answer in answers} == set(sessions)
    assert {answer.json()["choices"][0]["message"]["content"] for answer in answers} == {"Done."}


@pytest.mark.parametrize("settings", [{"limits": {"sessions_per_project": 1}}])
@pytest.mark.requirement("chat.sessions")
async def test_beyond_the_limit_of_sessions_a_request_is_429_and_leaves_no_session(desk: ChatDesk) -> None:
    hold = Hold()
    desk.cast.script("primary", Reply((hold, Text("Done."))))
    first = completion(desk, "First")
    await desk.model.until_requests(1)
    refused = await completion(desk, "Second")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "5"
    assert "x-should-retry" not in refused.headers
    assert refused.json()["error"]["code"] == "no_capacity"
    assert (await desk.get("/sessions"))["total"] == 1
    hold.gate.set()
    assert (await first).status_code == 200


@pytest.mark.requirement("chat.sessions")
async def test_an_idempotency_key_gives_the_first_answer_whole_or_streamed(desk: ChatDesk) -> None:
    desk.cast.script("primary", Reply((Text("Only once."),)))
    key = {"idempotency-key": "k-1"}
    first = await completion(desk, "Go", **key)
    again = await completion(desk, "Go", **key)
    other = await completion(desk, "Stop", **key)
    assert again.json() == first.json()
    assert again.headers[SESSION] == first.headers[SESSION]
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    desk.cast.script("primary", Reply((Text("Streamed "), Text("once."))))
    body = {"model": "family/primary", "messages": [user("Go")], "stream": True}
    streams = [
        await desk.client.post("/v1/chat/completions", json=body, headers={"idempotency-key": "k-2"})
        for _ in range(2)
    ]
    assert streams[0].headers[SESSION] == streams[1].headers[SESSION]
    for stream in streams:
        assert stream.text.endswith("data: [DONE]\n\n")
    assert "Streamed once." in streams[1].text
    assert desk.model.request_count == 2


@pytest.mark.requirement("chat.sessions")
async def test_a_session_of_another_agent_or_with_people_in_it_is_not_continued(desk: ChatDesk) -> None:
    open_session = await desk.client.post("/api/v1/sessions", json={"project_id": desk.project_id})
    coders = await desk.client.post(
        "/v1/chat/completions", json={"model": "family/coder", "messages": [user("Hello")]}
    )
    refused = [
        await completion(desk, "Hello", **{SESSION: session_id})
        for session_id in (open_session.json()["id"], coders.headers[SESSION], "ses_nothing")
    ]
    errors = [answer.json()["error"] for answer in refused]
    assert [(answer.status_code, error["code"]) for answer, error in zip(refused, errors, strict=True)] == [
        (409, "session_not_headless"),
        (400, "session_of_another_agent"),
        (404, "session_not_found"),
    ]
    assert errors[1]["param"] == "model"


@pytest.mark.requirement("chat.sessions")
async def test_an_archived_session_takes_no_message(desk: ChatDesk) -> None:
    session_id = (await completion(desk, "Hello")).headers[SESSION]
    await desk.client.post(f"/api/v1/sessions/{session_id}/archive")
    refused = await completion(desk, "Hello", **{SESSION: session_id})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_archived")


@pytest.mark.requirement("chat.sessions")
async def test_ten_thousand_messages_are_one_conversation(desk: ChatDesk) -> None:
    messages = [
        user(f"Question {n}") if n % 2 == 0 else {"role": "assistant", "content": f"Answer {n}"}
        for n in range(10_000)
    ]
    body = {"model": "family/primary", "messages": [*messages, user("How many?")]}
    # Not by the SDK, which works for seconds on so many.
    answer = await desk.client.post("/v1/chat/completions", json=body, timeout=120)
    assert answer.json()["choices"][0]["message"]["content"] == "primary is done."
    page = await desk.get(f"/sessions/{answer.headers[SESSION]}/messages", limit=1)
    assert page["total"] == 10_002
    assert desk.cast.messages("primary")[-1]["content"] == "How many?"
