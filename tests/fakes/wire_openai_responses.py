"""The Responses wire: a script's answer as the events that OpenAI sends.

`Thinking` is one reasoning item: its signature is the encrypted content, and blank lines in its
text separate the parts of the summary.
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

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def frames(reply: Reply, request: RecordedRequest) -> Iterator[bytes | Control]:
    """Yield the answer's events; text next to text is one message item."""
    base = {"id": reply.response_id, "object": "response", "model": "fake-model"}
    yield _event("response.created", response={**base, "status": "in_progress", "output": []})
    yield _event("response.in_progress", response={**base, "status": "in_progress", "output": []})
    writer = _Items(searches=b'"type":"tool_search"' in request.body)
    for part in reply.parts:
        match part:
            case StreamError():
                error = {"type": "error", "code": part.code, "message": part.message, "param": None}
                yield _sse(part.payload or error)
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
    why = _INCOMPLETE.get(word)
    status = "incomplete" if why else "completed"
    ended: dict[str, Any] = {**base, "status": status, "error": None, "output": writer.done}
    ended["incomplete_details"] = {"reason": why} if why else None
    ended["usage"] = _usage(reply.usage) if reply.usage else None
    yield _event(f"response.{status}", response=ended)


class _Items:
    """Numbers the output items and keeps a message open while text follows."""

    def __init__(self, *, searches: bool) -> None:
        self.done: list[dict[str, Any]] = []
        self._searches = searches
        self._texts: list[str] = []

    def write(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Text):
            if not self._texts:
                yield self._added(
                    {"type": "message", "id": self._id("msg"), "role": "assistant", "content": []}
                )
            self._texts.append(part.text)
            yield self._piece("output_text.delta", content_index=0, delta=part.text)
            return
        yield from self.close()
        match part:
            case Thinking():
                yield from self._reasoning(part)
            case ToolCall():
                yield from self._call(part)
            case Refusal(text):
                yield self._added(
                    {"type": "message", "id": self._id("msg"), "role": "assistant", "content": []}
                )
                yield self._piece("refusal.delta", content_index=0, delta=text)
                yield self._piece("refusal.done", content_index=0, refusal=text)

    def close(self) -> Iterator[bytes]:
        if self._texts:
            text = "".join(self._texts)
            self._texts = []
            yield self._piece("output_text.done", content_index=0, text=text)
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {"type": "message", "id": self._id("msg"), "role": "assistant", "content": content}
            yield self._finished(item)

    def _reasoning(self, part: Thinking) -> Iterator[bytes]:
        start = {"type": "reasoning", "id": self._id("rs"), "summary": []}
        yield self._added(start)
        parts = part.text.split("\n\n") if part.text else []
        for index, text in enumerate(parts):
            yield self._piece("reasoning_summary_part.added", summary_index=index)
            yield self._piece("reasoning_summary_text.delta", summary_index=index, delta=text)
            yield self._piece("reasoning_summary_text.done", summary_index=index, text=text)
        summary = [{"type": "summary_text", "text": text} for text in parts]
        yield self._finished({**start, "summary": summary, "encrypted_content": part.signature})

    def _call(self, part: ToolCall) -> Iterator[bytes]:
        if self._searches and part.name == "tool_search":
            search = {"type": "tool_search_call", "id": self._id("tsc"), "call_id": part.id}
            search |= {"execution": "client", "status": "completed", "arguments": part.arguments}
            yield self._added({**search, "status": "in_progress", "arguments": {}})
            yield self._finished(search)
            return
        item = {"type": "function_call", "id": self._id("fc"), "call_id": part.id, "name": part.name}
        yield self._added({**item, "arguments": ""})
        pieces = part.argument_pieces()
        for piece in pieces:
            yield self._piece("function_call_arguments.delta", delta=piece)
        yield self._piece("function_call_arguments.done", arguments="".join(pieces))
        yield self._finished({**item, "arguments": "".join(pieces), "status": "completed"})

    def _id(self, prefix: str) -> str:
        return f"{prefix}_{len(self.done)}"

    def _added(self, item: dict[str, Any]) -> bytes:
        return self._piece("output_item.added", item=item)

    def _finished(self, item: dict[str, Any]) -> bytes:
        event = self._piece("output_item.done", item=item)
        self.done.append(item)
        return event

    def _piece(self, kind: str, **members: Any) -> bytes:
        return _event(f"response.{kind}", output_index=len(self.done), **members)


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": prompt,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": prompt + usage.output_tokens,
    }


def _event(kind: str, **members: Any) -> bytes:
    return _sse({"type": kind, **members})


def _sse(payload: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(payload.get("type", "")).encode(), orjson.dumps(payload))
