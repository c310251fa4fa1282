"""The Messages wire: a script's answer as the events that Anthropic sends.

`Thinking("", signature)` is a redacted block whose data is the signature. An unfinished answer
(`finish` None) ends after the last part, before any `message_delta`.
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
    Part,
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

_FINISH = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use", "content_filter": "refusal"}


def frames(reply: Reply, request: RecordedRequest) -> Iterator[bytes | Control]:
    """Yield the answer's events; text next to text is one block."""
    message = {"id": reply.response_id, "type": "message", "role": "assistant", "model": "fake-model"}
    usage = reply.usage or Usage()
    yield _event("message_start", message={**message, "content": [], "usage": _usage(usage, output=1)})
    yield _event("ping")
    writer = _Blocks()
    for part in reply.parts:
        match part:
            case StreamError():
                error = {"type": "error", "error": {"type": part.code, "message": part.message}}
                yield _sse("error", part.payload or error)
                return
            case Raw(data):
                yield data
            case Delay() | Stall() | Disconnect():
                yield part
            case _:
                yield from writer.write(part)
    word = reply.finish_word()
    if word is None:
        return
    yield from writer.close()
    refused = any(isinstance(part, Refusal) for part in reply.parts)
    reason = "refusal" if refused else _FINISH[word]
    counts = {} if reply.usage is None else {"usage": {"output_tokens": usage.output_tokens}}
    yield _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, **counts)
    yield _event("message_stop")


class _Blocks:
    """Numbers the content blocks and keeps a text block open while text follows."""

    def __init__(self) -> None:
        self._index = -1
        self._text_open = False

    def write(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Text | Refusal):
            if not self._text_open:
                yield self._start({"type": "text", "text": ""})
                self._text_open = True
            yield self._delta({"type": "text_delta", "text": part.text})
            return
        yield from self.close()
        if isinstance(part, Thinking):
            yield from self._thinking(part)
        elif isinstance(part, ToolCall):
            yield self._start({"type": "tool_use", "id": part.id, "name": part.name, "input": {}})
            for piece in part.argument_pieces():
                yield self._delta({"type": "input_json_delta", "partial_json": piece})
            yield self._stop()

    def close(self) -> Iterator[bytes]:
        if self._text_open:
            self._text_open = False
            yield self._stop()

    def _thinking(self, part: Thinking) -> Iterator[bytes]:
        if not part.text:
            yield self._start({"type": "redacted_thinking", "data": part.signature})
            yield self._stop()
            return
        yield self._start({"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": part.text})
        if part.signature is not None:
            yield self._delta({"type": "signature_delta", "signature": part.signature})
        yield self._stop()

    def _start(self, block: dict[str, Any]) -> bytes:
        self._index += 1
        return _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> bytes:
        return _event("content_block_stop", index=self._index)


def _usage(usage: Usage, *, output: int) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": output,
    }


def _event(kind: str, **members: Any) -> bytes:
    return _sse(kind, {"type": kind, **members})


def _sse(kind: str, payload: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(payload))
