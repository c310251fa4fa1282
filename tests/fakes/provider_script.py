"""What a fake provider is told to answer, in words that all wire protocols share.

Owns: the parts of a scripted answer. Never: a wire format (`wire_*`) or sockets
(`provider_server`). `Usage` is in kaged's own words; each wire module writes it its provider's way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import orjson

from app.messages import Usage

USAGE = Usage(input_tokens=10, output_tokens=5)


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning; `signature` is the opaque value that wires with signed reasoning attach."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call under its wire name. A string as `arguments` is sent as it is (malformed on purpose);
    `id` None leaves the id out where the wire allows it; `pieces` splits the arguments. Calls next to
    each other are parallel."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = "call_1"
    pieces: int = 1

    def argument_pieces(self) -> list[str]:
        text = self.arguments if isinstance(self.arguments, str) else orjson.dumps(self.arguments).decode()
        size = max(1, -(-len(text) // self.pieces))
        return [text[start : start + size] for start in range(0, len(text), size)] or [""]


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error event inside a stream that began with status 200. `payload` is sent as it is;
    without it the wire module builds its provider's usual shape."""

    message: str = "The server had an error"
    code: str = "server_error"
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes put on the wire untouched, as part of the event stream."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Delay:
    seconds: float


@dataclass(frozen=True, slots=True)
class Hold(Delay):
    """Say nothing more until the test sets `gate`."""

    seconds: float = 0.0
    gate: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Stall:
    """Say nothing more and keep the connection open until the client leaves."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Drop the connection in the middle of the answer."""


Control = Delay | Stall | Disconnect
Part = Text | Thinking | Refusal | ToolCall | StreamError | Raw | Control

FinishWord = Literal["auto", "stop", "length", "toolUse", "content_filter"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A streamed answer. `finish` None ends the HTTP message without a finish reason; "auto" is
    `toolUse` when there is a tool call, else `stop`. `usage` None leaves the counts out."""

    parts: tuple[Part, ...] = ()
    usage: Usage | None = USAGE
    finish: FinishWord | None = "auto"
    response_id: str = "resp_1"
    headers: Mapping[str, str] = field(default_factory=dict)

    def finish_word(self) -> str | None:
        if self.finish != "auto":
            return self.finish
        return "toolUse" if any(isinstance(part, ToolCall) for part in self.parts) else "stop"


@dataclass(frozen=True, slots=True)
class Document:
    """An answer that is no stream: an HTTP error, or a JSON document with status 200."""

    status: int
    body: Mapping[str, Any] | list[Any] | str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> tuple[bytes, str]:
        """Return the body's bytes and its media type."""
        if isinstance(self.body, bytes):
            return self.body, "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), "text/plain"
        return orjson.dumps(self.body), "application/json"


class RecordedRequest:
    """One request as the server received it. `body` is the exact bytes; header names are lower case."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes, at: float) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.at = at

    @cached_property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = orjson.loads(self.body)
        return value


Answer = Reply | Document
Responder = Callable[[RecordedRequest], Answer]


def text_reply(*chunks: str, usage: Usage | None = USAGE) -> Reply:
    """Return an answer that is only text, one delta for each chunk."""
    return Reply(tuple(Text(chunk) for chunk in chunks), usage=usage)
