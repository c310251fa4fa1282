"""Each request that an adapter can send is one of the request types of the vendor's own SDK, strictly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from app.harness.providers.driver import DriverOptions
from app.harness.providers.drivers.anthropic.adapter import AnthropicOptions
from app.harness.providers.drivers.google.adapter import GoogleOptions
from app.harness.providers.drivers.openai.adapter import OpenAIOptions
from app.harness.providers.drivers.openai_responses.adapter import ResponsesOptions
from tests.fakes.provider_script import Raw, RecordedRequest, Thinking, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.providers.vendors.talks import SIGNATURE, Talk, held
from tests.harness.providers.vendors.typed_dicts import problems

_SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
_STRUCTURED = {"type": "json_schema", "json_schema": {"name": "answer", "schema": _SCHEMA, "strict": True}}
_FORMAT = {"type": "json_schema", "schema": _SCHEMA}
_REDACTED = (Thinking("", SIGNATURE),)


def _said(phase: str) -> tuple[Raw, ...]:
    """Return what a model of OpenAI says before its calls, as events that name the phase."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": phase}
    events = (
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "First of all."},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": []}},
    )
    return tuple(Raw(b"data: " + orjson.dumps(event) + b"\n\n") for event in events)


OPENAI = (
    Talk("openai", "gpt-5"),
    Talk(
        "openai",
        "gpt-5",
        {
            "max_tokens_field": "max_completion_tokens",
            "system_role": "developer",
            "reminder_role": "developer",
            "include_usage": False,
            "auth_header": "api-key",
            "path": "/v1/chat/completions",
            "body": {"temperature": 0.2, "reasoning_effort": "high", "response_format": _STRUCTURED},
        },
        {"max_output_tokens": 99},
    ),
    Talk(
        "openai",
        "local",
        {"max_tokens_field": "max_tokens", "reminder_role": "user", "reasoning_field": "reasoning_content"},
        {"max_output_tokens": 99},
    ),
)
RESPONSES = (
    Talk("openai-responses", "gpt-5.4", opens=_said("commentary")),
    Talk(
        "openai-responses",
        "gpt-5.4",
        {
            "reasoning": True,
            "reasoning_effort": "high",
            "reasoning_summary": "auto",
            "max_output_tokens": 99,
            "native_tool_search": True,
            "path": "/v1/responses",
            "body": {
                "service_tier": "flex",
                "text": {"format": {**_FORMAT, "name": "answer", "strict": True}},
            },
        },
    ),
    Talk("openai-responses", "gpt-4.1", {"reasoning": False}, {"max_output_tokens": 99}),
)
ANTHROPIC = (
    Talk("anthropic", "claude-sonnet-4-5"),
    Talk("anthropic", "claude-sonnet-4-5", {"thinking_budget": 2048}, {"max_output_tokens": 9000}, _REDACTED),
    Talk(
        "anthropic",
        "claude-opus-4-6",
        {
            "thinking": "adaptive",
            "effort": "high",
            "max_output_tokens": 999,
            "native_tool_search": True,
            "body": {"output_config": {"format": _FORMAT}},
        },
        opens=_REDACTED,
    ),
    Talk("anthropic", "claude-3-haiku-20240307", {"cache": False, "body": {"metadata": {"user_id": "u"}}}),
)
GOOGLE = (
    Talk("google", "gemini-3-pro-preview"),
    Talk(
        "google",
        "gemini-2.5-pro",
        {
            "thinking_budget": 512,
            "include_thoughts": True,
            "max_output_tokens": 99,
            "generation": {"temperature": 0.1, "responseMimeType": "application/json"},
            "body": {
                "safetySettings": [
                    {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"},
                ]
            },
        },
    ),
    Talk("google", "gemini-3-pro-preview", {"thinking_level": "high"}, {"max_output_tokens": 99}),
)


@pytest.mark.requirement("providers.vendor_types")
@pytest.mark.parametrize(
    ("options", "talks"),
    [
        (OpenAIOptions, OPENAI),
        (ResponsesOptions, RESPONSES),
        (AnthropicOptions, ANTHROPIC),
        (GoogleOptions, GOOGLE),
    ],
)
def test_each_option_of_a_driver_is_part_of_a_conversation(
    options: type[DriverOptions], talks: tuple[Talk, ...]
) -> None:
    assert options.model_fields.keys() == {key for talk in talks for key in talk.options}


def test_the_comparison_finds_what_is_unknown_missing_and_wrong() -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    def found(**members: Any) -> list[str]:
        request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "q"}], **members}
        return problems(request, CompletionCreateParamsStreaming)

    assert found() == []
    assert found(temprature=1) == [".temprature: unknown"]
    assert found(temperature="hot") == [".temperature: 'hot' is no float"]
    assert found(messages=[{"role": "tool", "content": "x"}]) == [".messages[0].tool_call_id: missing"]
    assert found(messages=[{"role": "user", "content": [{"type": "text", "txt": "q"}]}]) == [
        ".messages[0].content[0].text: missing",
        ".messages[0].content[0].txt: unknown",
    ]
    assert found(stream=False) == [".stream: False is none of (True,)"]


@pytest.mark.requirement("providers.vendor_types")
@pytest.mark.parametrize("talk", OPENAI, ids=str)
async def test_chat_completions_are_requests_of_openai(talk: Talk) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    requests = await held(talk)
    for request in requests:
        body = request.json
        if field := talk.options.get("reasoning_field"):
            # OpenAI does not know this field; the servers that do refuse a request without it.
            said = [message.pop(field, None) for message in body["messages"]]
            assert "Let me see." in said or request is requests[0]
        assert problems(body, CompletionCreateParamsStreaming) == []
    _has_everything(
        requests, talk, '"image_url"', '"tool_calls"', '"role":"tool"', "INVALID_JSON", "call_tool"
    )


@pytest.mark.requirement("providers.vendor_types")
@pytest.mark.parametrize("talk", RESPONSES, ids=str)
async def test_responses_are_requests_of_openai(talk: Talk) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    requests = await held(talk)
    for request in requests:
        assert problems(request.json, ResponseCreateParamsStreaming) == []
    native = talk.options.get("native_tool_search")
    search = ('"tool_search"', '"tool_search_call"', '"tool_search_output"') if native else ("call_tool",)
    phase = ('"phase":"commentary"',) if talk.opens else ()
    thinks = () if talk.options.get("reasoning") is False else ('"encrypted_content"',)
    _has_everything(
        requests, talk, '"input_image"', '"function_call_output"', "INVALID_JSON", *search, *thinks, *phase
    )


@pytest.mark.requirement("providers.vendor_types")
@pytest.mark.parametrize("talk", ANTHROPIC, ids=str)
async def test_messages_are_requests_of_anthropic(talk: Talk) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    requests = await held(talk)
    for request in requests:
        assert problems(request.json, MessageCreateParamsStreaming) == []
    native = talk.options.get("native_tool_search")
    search = ('"defer_loading":true', '"tool_reference"') if native else ("call_tool",)
    marks = () if talk.options.get("cache") is False else ('"cache_control"',)
    redacted = ('"redacted_thinking"',) if talk.opens else ()
    _has_everything(
        requests,
        talk,
        '"image"',
        '"is_error":true',
        '"signature"',
        "INVALID_JSON",
        *search,
        *marks,
        *redacted,
    )


@pytest.mark.requirement("providers.vendor_types")
@pytest.mark.parametrize("talk", GOOGLE, ids=str)
async def test_contents_are_requests_of_google(talk: Talk) -> None:
    """Google's types are not those of the wire: what its own client sends of a request is compared."""
    requests = await held(talk)
    theirs = await _sent_by_google(requests, talk.model)
    for request, sent in zip(requests, theirs, strict=True):
        assert request.path == sent.path
        assert _plain(request.json) == _plain(sent.json)
    _has_everything(
        requests, talk, '"inlineData"', '"functionResponse"', '"error"', '"thoughtSignature"', "call_tool"
    )


def _has_everything(requests: list[RecordedRequest], talk: Talk, *words: str) -> None:
    """The comparison would be worth nothing if what it compares were left out."""
    said = b"".join(request.body for request in requests).decode()
    missing = [word for word in words if word not in said]
    assert missing == [], talk


async def _sent_by_google(requests: list[RecordedRequest], model: str) -> list[RecordedRequest]:
    """Return the requests that Google's own client sends of the same; its models refuse unknown keys."""
    from google import genai
    from google.genai import types

    async with FakeProvider(lambda _: text_reply("ok")) as fake:
        options = {"base_url": fake.base_url, "api_version": "v1beta"}
        client = genai.Client(api_key="k", http_options=options)
        try:
            for body in (request.json for request in requests):
                flat = {**body, **body.get("generationConfig", {})}
                rest = {key: flat[key] for key in flat.keys() - {"contents", "generationConfig"}}
                async with asyncio.timeout(60):
                    async for _ in await client.aio.models.generate_content_stream(
                        model=model,
                        contents=[types.Content.model_validate(one) for one in body["contents"]],
                        config=types.GenerateContentConfig.model_validate(rest),
                    ):
                        pass
        finally:
            await client.aio.aclose()
            client.close()
        return list(fake.requests)


def _plain(value: Any) -> Any:
    """Return a request without what means the same in either form: names of keys in either style, Base64
    with or without its padding and in either alphabet, and levels in any case."""
    if isinstance(value, Mapping):
        camel = {re.sub("_([a-z])", lambda one: one[1].upper(), key): one for key, one in value.items()}
        return {key: one.upper() if key == "thinkingLevel" else _plain(one) for key, one in camel.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return value.replace("-", "+").replace("_", "/").rstrip("=")
    return value
