"""From a provider's events to deltas: what the adapters of streams share.

Owns: when a stream counts as complete, how long a farewell may take, and leaving the connection fit for the
next call. Never: what one provider's events mean (each adapter has its `Fold`), retries, encoding.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from app.harness.providers.connection import Connection, StreamEvent
from app.harness.providers.deltas import Delta, Finished, UsageSoFar
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.providers.wire_json import ToolNames
from app.messages import StopReason, Usage

_DRAIN_SECONDS = 0.25
_FAREWELL_SECONDS = 15.0
"""For what follows the reason why an answer ended, when that came alone: only counts can be missing."""


class Fold(ABC):
    """One answer being read. Pure: the same events always give the same deltas.

    A subclass sets `stop_reason` when the provider has said why the answer ended, and `called` when the
    answer has a tool call."""

    complete = False
    """True when no further event can change the answer; without it the stream is read to its end."""

    def __init__(self, connection: Connection, request: ModelRequest) -> None:
        self.stop_reason: StopReason | None = None
        self.called = False
        self._connection = connection
        self._model = request.model
        self._names = ToolNames(request.tools)
        self._answering_model: str | None = None
        self._response_id: str | None = None

    @abstractmethod
    def take(self, event: Mapping[str, Any]) -> Iterable[Delta]:
        """Return the deltas of one event. Raises `ProviderError` for an error or a refusal."""

    @abstractmethod
    def usage(self) -> Usage:
        """Return what the provider has counted so far."""

    def finish(self) -> Iterable[Delta]:
        """Return the end of the answer, `Finished` last. Raises `truncated_stream` while the provider has
        not said that it is over."""
        if self.stop_reason is None:
            raise self._connection.truncated(self._model)
        reason = "toolUse" if self.called and self.stop_reason == "stop" else self.stop_reason
        yield Finished(reason, self.usage(), self._answering_model, self._response_id)


async def fold_stream(
    connection: Connection, wire: WireRequest, *, model: str, headers: Mapping[str, str], fold: Fold
) -> AsyncGenerator[Delta, None]:
    """Send `wire`, yield the deltas of its answer and then `Finished`. Raises `ProviderError`."""
    async with aclosing(connection.events(wire, model=model, headers=headers)) as events:
        quiet = False
        while (
            event := await _next_event(events, ended=fold.stop_reason is not None, quiet=quiet)
        ) is not None:
            quiet = True
            for delta in fold.take(event.payload):
                quiet = quiet and isinstance(delta, UsageSoFar)
                yield delta
            if fold.complete:
                break
        for delta in fold.finish():
            yield delta
        await _drain(events)


async def _next_event(
    events: AsyncGenerator[StreamEvent, None], *, ended: bool, quiet: bool
) -> StreamEvent | None:
    """Return the next event, or None when there is none. Raises `ProviderError`.

    Once the provider has said how the answer `ended`, what breaks, or does not come soon, is only the
    farewell: a server that keeps the connection open would hold up a whole answer. A server that was not
    `quiet` with its last event is waited for as before: some say with each piece that it is the end."""
    if not ended:
        return await anext(events, None)
    try:
        async with asyncio.timeout(_FAREWELL_SECONDS if quiet else None):
            return await anext(events, None)
    except TimeoutError:
        return None
    except ProviderError as error:
        if error.kind != "network":
            raise
        return None


async def _drain(events: AsyncIterator[StreamEvent]) -> None:
    """Read the rest of the HTTP message, so that the connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass
    except (TimeoutError, ProviderError):
        return
