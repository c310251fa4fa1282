"""The Gemini wire: a script's answer as the chunks that streamGenerateContent sends.

`Thinking("", signature)` is no part of its own before a call: the signature then stands on the
call, as the API does it; elsewhere it is an empty text part. A `ToolCall` whose arguments are a
string is what the API reports as a malformed call.
"""

from __future__ import annotations

from collections.abc import Iterator
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

_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "toolUse": "STOP", "content_filter": "SAFETY"}


def frames(reply: Reply, request: RecordedRequest) -> Iterator[bytes | Control]:
    """Yield the answer's chunks. The last one has the finish reason and the counts; nothing follows."""
    base: dict[str, Any] = {"modelVersion": "fake-model", "responseId": reply.response_id}
    held: str | None = None
    last: dict[str, Any] = {}
    for number, part in enumerate(reply.parts):
        following = reply.parts[number + 1] if number + 1 < len(reply.parts) else None
        match part:
            case Thinking("", signature) if isinstance(following, ToolCall):
                held = signature
            case Thinking("", signature):
                yield _chunk(base, {"text": "", "thoughtSignature": signature})
            case Thinking(text, signature):
                yield _chunk(base, {"text": text, "thought": True, **_signed(signature)})
            case Text(text):
                yield _chunk(base, {"text": text})
            case ToolCall(name, str(words)):
                message = f"Malformed function call: print(default_api.{name}({words}))"
                last = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": message}
            case ToolCall(name, arguments, identity):
                call: dict[str, Any] = {"name": name, "args": arguments}
                identifier = {} if identity is None else {"id": identity}
                yield _chunk(base, {"functionCall": {**identifier, **call}, **_signed(held)})
                held = None
            case Refusal(text):
                last = {"finishReason": "PROHIBITED_CONTENT", "finishMessage": text}
            case StreamError():
                error = {"code": 500, "message": part.message, "status": part.code}
                yield _sse(part.payload or {"error": error})
                return
            case Raw(data):
                yield data
            case Delay() | Stall() | Disconnect():
                yield part
    word = reply.finish_word()
    if word is None:
        return
    candidate = last or {"finishReason": _FINISH[word], "content": {"role": "model", "parts": [{"text": ""}]}}
    counts = {} if reply.usage is None else {"usageMetadata": _usage(reply.usage)}
    yield _sse({"candidates": [{**candidate, "index": 0}], **counts, **base})


def _signed(signature: str | None) -> dict[str, str]:
    return {} if signature is None else {"thoughtSignature": signature}


def _usage(usage: Usage) -> dict[str, int]:
    prompt = usage.input_tokens + usage.cache_read_tokens
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "totalTokenCount": prompt + usage.output_tokens,
    }


def _chunk(base: dict[str, Any], part: dict[str, Any]) -> bytes:
    return _sse({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], **base})


def _sse(payload: Any) -> bytes:
    return b"data: " + orjson.dumps(payload) + b"\r\n\r\n"
