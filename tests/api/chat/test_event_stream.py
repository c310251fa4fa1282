"""The events of a chat completion whose source ends otherwise than by its last event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive

from app.api.chat.event_stream import KEEP_ALIVE, EventStream, event
from app.errors import KagedError

pytestmark = pytest.mark.requirement("chat.stream")


async def attend(work: Callable[[], Awaitable[None]], _receive: Receive) -> None:
    await work()


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nothing sets the event")


def refusal(problem: KagedError) -> bytes:
    raise AssertionError(problem)


async def test_a_source_that_is_cancelled_from_within_ends_the_stream() -> None:
    async def source() -> AsyncGenerator[bytes, None]:
        yield event(b"1")
        await asyncio.sleep(0.05)
        raise asyncio.CancelledError

    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    stream = EventStream(source(), attend, refusal=refusal, headers={}, quiet_seconds=0.01)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await stream({"type": "http"}, never, send)

    assert sent[1] == event(b"1")
    assert set(sent[2:]) == {KEEP_ALIVE}
