"""The one protocol between the harness and a model provider.

Owns: the way of a request: `encode` makes the exact bytes, `stream` sends those and nothing else. Never: a
wire format. An operator can read what the model was sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import xxhash

from app.harness.providers.deltas import Delta
from app.messages import ModelMessage, SystemBlock, ToolSpec


class EncodingCache:
    """Each message's provider JSON, kept as bytes so that a turn encodes only what is new.

    One cache belongs to one append-only list of messages. `key` names a codec (a driver and
    the options that change its output); the caller promises that messages already encoded
    under a key never change.
    """

    def __init__(self) -> None:
        self._encoded: dict[str, list[bytes]] = {}

    def encode(
        self, key: str, messages: Sequence[ModelMessage], encode_one: Callable[[ModelMessage], bytes]
    ) -> list[bytes]:
        """Return one bytes object for each message. The list is the cache's own: do not change it."""
        cached = self._encoded.setdefault(key, [])
        if len(cached) > len(messages):
            del cached[len(messages) :]
        for message in messages[len(cached) :] if len(cached) < len(messages) else ():
            cached.append(encode_one(message))
        return cached


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call, in kaged's words. `max_output_tokens` None leaves it to the provider
    (or the adapter's documented default where the provider demands a value). `tools` are all that the model
    may call; the adapter sends those that are `full`, and others where the provider has means of its own for
    them. `reminder` is the last thing that the model reads: of this call alone, behind what is cached, in the
    system's name where the provider knows such a message there, else in the user's."""

    model: str
    system: tuple[SystemBlock, ...]
    messages: Sequence[ModelMessage]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    session_id: str = ""
    cache: EncodingCache = field(default_factory=EncodingCache)
    reminder: str | None = None


def in_full(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools that a request has in full."""
    return tuple(tool for tool in tools if tool.loading == "full")


@dataclass(frozen=True, slots=True)
class WireRequest:
    """Exactly what is sent. `body` is the JSON document; headers that carry credentials are
    added by the adapter while sending and never appear here."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def call_id(self, number: int) -> str:
        """Return an id for the answer's tool call `number` where the provider gives none: the same
        request always gets the same id, and another request of the conversation another one."""
        return f"call_{xxhash.xxh3_64_hexdigest(self.body)}_{number}"


class Provider(Protocol):
    """A configured provider: one name from the local config, one driver."""

    @property
    def name(self) -> str: ...

    @property
    def driver(self) -> str: ...

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes for `request`; pure and deterministic."""

    def stream(self, wire: WireRequest, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Send `wire` and yield deltas; the last one is `Finished`.

        Raises `ProviderError`. Closing the iterator (or cancelling the task that reads it)
        closes the connection at once.
        """


Source = TypeVar("Source")

_KEPT = 32


class EncodedOnce(Generic[Source]):
    """`encode` runs once for each distinct source; the last 32 are kept. Threads may share it: a call is
    encoded on the loop while another one, of the past, is encoded again in a thread."""

    def __init__(self, encode: Callable[[Source], bytes]) -> None:
        self._encode = encode
        self._known: deque[tuple[Source, bytes]] = deque(maxlen=_KEPT)

    def __call__(self, source: Source) -> bytes:
        kept = tuple(self._known)
        for known, encoded in kept:
            if known is source:
                return encoded
        for known, encoded in kept:
            if known == source:
                self._known.appendleft((source, encoded))
                return encoded
        encoded = self._encode(source)
        self._known.appendleft((source, encoded))
        return encoded
