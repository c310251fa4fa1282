"""The chat completions wire: a script's answer as the events that OpenAI-like servers send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import orjson

from app.messages import Usage
from tests.fakes.provider_script import (
    Control,
    Delay,
    Disconnect,
    Raw,
    RecordedRequest,
    Refusal,
    Reply,
    Stall,
    StreamError,
    Text,
    Thinking,
    ToolCall,
)

_FINISH = {"stop": "stop", "length": "length", "toolUse": "tool_calls", "content_filter": "content_filter"}


def frames(reply: Reply, request: RecordedRequest) -> Iterator[bytes | Control]:
    """Yield the answer's events, ending with the usage event and `[DONE]`."""
    base = {"id": reply.response_id, "object": "chat.completion.chunk", "created": 1, "model": "fake-model"}
    yield _event(base, {"role": "assistant", "content": ""})
    calls: list[ToolCall] = []
    first_index = 0
    for part in (*reply.parts, None):
        if isinstance(part, ToolCall):
            calls.append(part)
            continue
        yield from (_event(base, {"tool_calls": [piece]}) for piece in _interleaved(calls, first_index))
        first_index += len(calls)
        calls = []
        match part:
            case Text(text):
                yield _event(base, {"content": text})
            case Thinking(text):
                yield _event(base, {"reasoning_content": text})
            case Refusal(text):
                yield _event(base, {"refusal": text})
            case StreamError():
                error = {"error": {"message": part.message, "type": part.code, "code": part.code}}
                yield _sse(part.payload or error)
                return
            case Raw(data):
                yield data
            case Delay() | Stall() | Disconnect():
                yield part
    word = reply.finish_word()
    if word is None:
        return
    yield _event(base, {}, finish_reason=_FINISH[word])
    if reply.usage is not None:
        yield _sse({**base, "choices": [], "usage": _usage(reply.usage)})
    yield b"data: [DONE]\n\n"


def _interleaved(calls: list[ToolCall], first_index: int) -> Iterator[dict[str, Any]]:
    """Yield the starts of parallel calls, then their argument pieces in turn, as servers may."""
    for index, call in enumerate(calls, first_index):
        start: dict[str, Any] = {"index": index, "type": "function"}
        if call.id is not None:
            start["id"] = call.id
        yield {**start, "function": {"name": call.name, "arguments": ""}}
    for row in zip_longest(*(call.argument_pieces() for call in calls)):
        for index, piece in enumerate(row, first_index):
            if piece:
                yield {"index": index, "function": {"arguments": piece}}


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _event(base: dict[str, Any], delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return _sse({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def _sse(payload: Any) -> bytes:
    return b"data: " + orjson.dumps(payload) + b"\n\n"
