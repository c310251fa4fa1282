"""What is refused, in the protocol's error shape; and whom a token lets a client talk to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from app.config import Settings
from tests.driver.chat_client import SESSION, ChatDesk, user
from tests.fakes.provider_script import Hold, Reply, Text

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
SHAPE = {"message", "type", "param", "code"}


def body(**more: Any) -> dict[str, Any]:
    return {"model": "family/primary", "messages": [user("Hello")], **more}


def picture(url: str) -> dict[str, Any]:
    return user([{"type": "image_url", "image_url": {"url": url}}])


@pytest.mark.parametrize(
    ("more", "param", "code"),
    [
        ({"tools": [TOOL]}, "tools", "unsupported_parameter"),
        ({"functions": [{"name": "weather"}]}, "functions", "unsupported_parameter"),
        ({"n": 2}, "n", "unsupported_parameter"),
        ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
        ({"stop": ["END"]}, "stop", "unsupported_parameter"),
        ({"logprobs": True}, "logprobs", "unsupported_parameter"),
        ({"modalities": ["text", "audio"]}, "modalities", "unsupported_parameter"),
        ({"messages": []}, "messages", "validation_failed"),
        ({"messages": [{"role": "user"}]}, "messages.0.content", "missing_content"),
        ({"messages": [user(" ")]}, "messages.0.content", "empty_message"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "messages.0.role", "no_question"),
        ({"messages": [{"role": "tool", "content": "1"}, user("Hi")]}, "messages.0.role", "unsupported_role"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "1"}]}, user("Hi")]},
            "messages.0.tool_calls",
            "unsupported_parameter",
        ),
        (
            {"messages": [user([{"type": "input_audio", "input_audio": {}}])]},
            "messages.0.content.0.type",
            "unsupported_part",
        ),
        (
            {"messages": [picture("http://10.0.0.1/a.png")]},
            "messages.0.content.0.image_url.url",
            "image_not_inline",
        ),
        (
            {"messages": [picture("data:image/svg+xml;base64,PHN2Zz4=")]},
            "messages.0.content.0.image_url.url",
            "unsupported_image",
        ),
        (
            {"messages": [picture("data:image/png;base64,%%")]},
            "messages.0.content.0.image_url.url",
            "invalid_image",
        ),
        ({"stream": "perhaps"}, "stream", "validation_failed"),
    ],
)
@pytest.mark.requirement("chat.refusals")
async def test_a_request_that_an_agent_cannot_serve_is_400_and_names_the_field(
    desk: ChatDesk, more: dict[str, Any], param: str, code: str
) -> None:
    answer = await desk.client.post("/v1/chat/completions", json=body(**more))
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert set(error) == SHAPE
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert (await desk.get("/sessions"))["total"] == 0
    assert desk.model.request_count == 0


@pytest.mark.requirement("chat.refusals")
async def test_parameters_of_a_model_and_unknown_fields_are_ignored(desk: ChatDesk) -> None:
    more = {
        "temperature": 0.1,
        "max_tokens": 1,
        "seed": 7,
        "user": "somebody",
        "tools": [],
        "tool_choice": "none",
        "response_format": {"type": "text"},
        "chat_id": {"anything": [1]},
    }
    answer = await desk.client.post("/v1/chat/completions", json=body(**more))
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    sent = desk.cast.requests["primary"][0].json
    assert "temperature" not in sent
    assert "seed" not in sent


@pytest.mark.requirement("chat.refusals")
async def test_errors_before_a_route_have_the_protocols_shape_too(desk: ChatDesk) -> None:
    async with desk.daemon.client(token="") as nobody, desk.daemon.client() as client:
        answers = [
            await nobody.get("/v1/models"),
            await client.get("/v1/nothing"),
            await client.delete("/v1/models"),
            await client.post(
                "/v1/chat/completions", content=b"{", headers={"content-type": "application/json"}
            ),
            await client.post(
                "/v1/chat/completions", json=body(), headers={"origin": "https://evil.example"}
            ),
            await client.get("/v1/models", headers={"host": "evil.example"}),
        ]
    found = [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]
    assert found == [
        (401, "token_missing"),
        (404, "no_such_route"),
        (405, "method_not_allowed"),
        (400, "invalid_json"),
        (403, "origin_not_allowed"),
        (403, "host_not_allowed"),
    ]
    for answer in answers:
        assert set(answer.json()["error"]) == SHAPE
        assert answer.headers["x-request-id"]


@pytest.mark.requirement("chat.refusals")
async def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(desk: ChatDesk) -> None:
    async def megabytes(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b" " * 2**20

    # The answer comes before the body has been sent: how much of it follows is the client's.
    for count, headers in ((1024, {"content-length": str(2**30)}), (1024, {})):
        answer = await desk.client.post("/v1/chat/completions", content=megabytes(count), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("settings", [{"chat_completions": {"enabled": False}}])
@pytest.mark.requirement("chat.access")
async def test_the_endpoint_is_off_unless_it_is_enabled(desk: ChatDesk) -> None:
    for answer in (
        await desk.client.get("/v1/models"),
        await desk.client.get("/v1/models/family/primary"),
        await desk.client.post("/v1/chat/completions", json=body(messages="not looked at")),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "chat_completions_disabled")
    assert not Settings().chat_completions.enabled


@pytest.mark.requirement("chat.access")
async def test_a_chat_token_talks_to_the_agents_that_it_names_and_does_nothing_else(desk: ChatDesk) -> None:
    one = await desk.chat_token("primary.subagents.coder")
    every = await desk.chat_token()
    async with desk.sdk(one) as sdk, desk.sdk(every) as wide:
        assert [model.id async for model in sdk.models.list()] == ["family/coder"]
        assert len([model.id async for model in wide.models.list()]) == 4
        answer = await sdk.chat.completions.create(model="family/coder", messages=[user("Hello")])
        assert answer.choices[0].message.content == "coder is done."
        refusals = []
        for model in ("family/primary", "family/nobody", "other/primary", "family", ""):
            with pytest.raises((openai.NotFoundError, openai.BadRequestError)) as refused:
                await sdk.chat.completions.create(model=model, messages=[user("Hello")])
            refusals.append(refused.value.code)
    assert refusals == ["model_not_found"] * 4 + ["validation_failed"]
    async with desk.daemon.client(token=one) as client:
        for path in ("/sessions", "/projects", "/tokens", f"/projects/{desk.project_id}"):
            refused_path = await client.get(f"/api/v1{path}")
            assert refused_path.status_code == 403
            assert refused_path.json()["error"]["details"]["reason"] == "out_of_scope"
        posted = await client.post("/api/v1/sessions", json={"project_id": desk.project_id})
        assert posted.status_code == 403


@pytest.mark.requirement("chat.access")
async def test_a_chat_token_continues_its_own_sessions_alone(desk: ChatDesk) -> None:
    mine, others = await desk.chat_token(), await desk.chat_token()
    async with desk.daemon.client(token=mine) as client, desk.daemon.client(token=others) as other:
        started = await client.post("/v1/chat/completions", json=body())
        header = {SESSION: started.headers[SESSION]}
        again = await client.post("/v1/chat/completions", json=body(), headers=header)
        stolen = await other.post("/v1/chat/completions", json=body(), headers=header)
    operators = await desk.client.post("/v1/chat/completions", json=body(), headers=header)
    assert (started.status_code, again.status_code, operators.status_code) == (200, 200, 200)
    assert (stolen.status_code, stolen.json()["error"]["code"]) == (404, "session_not_found")


@pytest.mark.requirement("chat.access")
async def test_tokens_that_only_read_or_belong_to_agents_and_plugins_do_not_talk(desk: ChatDesk) -> None:
    session = (await desk.client.post("/api/v1/sessions", json={"project_id": desk.project_id})).json()["id"]
    reader = await desk.token("read-only")
    agent = await desk.token("agent", session_id=session, agent_path="primary")
    plugin = await desk.token("plugin", project_id=desk.project_id, plugin="notes")
    for token, code in ((reader, "read_only"), (agent, "out_of_scope"), (plugin, "out_of_scope")):
        async with desk.sdk(token) as sdk:
            with pytest.raises(openai.PermissionDeniedError) as refused:
                await sdk.chat.completions.create(model="family/primary", messages=[user("Hello")])
        assert refused.value.code == code
    async with desk.sdk("kgd_wrong-token-wrong-token") as sdk:
        with pytest.raises(openai.AuthenticationError) as unknown:
            await sdk.models.list()
    assert unknown.value.code == "token_unknown"


@pytest.mark.requirement("chat.access")
async def test_a_revoked_token_ends_the_stream_and_the_run(desk: ChatDesk) -> None:
    made = (
        await desk.client.post(
            "/api/v1/tokens", json={"name": "ui", "scope": "chat", "project_id": desk.project_id}
        )
    ).json()
    desk.cast.script("primary", Reply((Text("One "), Hold(), Text("two."))))
    async with desk.sdk(made["token"]) as sdk:
        stream = await sdk.chat.completions.create(**body(stream=True))
        seen = [await anext(stream), await anext(stream)]
        assert seen[1].choices[0].delta.content == "One "
        await desk.client.delete(f"/api/v1/tokens/{made['id']}")
        with pytest.raises(openai.APIError) as ended:
            _ = [chunk async for chunk in stream]
        assert (ended.value.type, ended.value.code) == ("authentication_error", "token_revoked")
    await desk.model.until_disconnects(1, seconds=60)


@pytest.mark.parametrize("settings", [{"projects": {"trusted": []}}])
@pytest.mark.requirement("chat.access")
async def test_an_untrusted_project_is_not_served(desk: ChatDesk) -> None:
    async with desk.sdk() as sdk:
        models = [model.id async for model in sdk.models.list()]
        with pytest.raises(openai.ConflictError) as refused:
            await sdk.chat.completions.create(model="family/primary", messages=[user("Hello")])
    assert models == []
    assert refused.value.code == "project_untrusted"
