"""A listener on the event hub that collects what it is given, as a client would hold it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson

from app.harness.stream.event_hub import EventHub
from app.harness.stream.subscription import Source
from tests.driver.daemon_process import WAIT_SECONDS

Frame = dict[str, Any]


class Listener:
    """`texts` is the text of each message as the client shows it: a snapshot replaces, deltas add."""

    def __init__(self, source: Source) -> None:
        self.frames: list[Frame] = []
        self.encoded: list[str] = []
        self.texts: dict[str, str] = defaultdict(str)
        self.highest_seq = 0
        self._source = source
        self._changed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def on(
        cls, hub: EventHub, session_id: str, *, after_seq: int = 0, all_snapshots: bool = False
    ) -> AsyncIterator[Listener]:
        """Listen to a session while the block runs."""
        listener = cls(await hub.subscribe(session_id, after_seq, all_snapshots=all_snapshots))
        task = asyncio.create_task(listener.listen())
        try:
            yield listener
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            listener.close()

    def close(self) -> None:
        self._source.close()

    async def listen(self, *, until: str | None = None) -> None:
        """Collect frames for ever, or through the first one of type `until`."""
        async for batch in self._source.batches():
            for seq, _, text in batch:
                self._take(seq, text)
            self._changed.set()
            if until is not None and self.of(until):
                return

    async def until(self, condition: Callable[[], bool], *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the condition holds for what has been collected."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_type(self, *types: str) -> None:
        await self.until(lambda: bool(self.of(*types)))

    def of(self, *types: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in types]

    def numbers(self) -> list[int]:
        """Return the `seq` of every frame that is the session's own."""
        return [frame["seq"] for frame in self.frames if frame["type"] not in ("sync", "resync")]

    def _take(self, seq: int, text: str) -> None:
        frame = orjson.loads(text)
        assert frame["seq"] == seq
        self.frames.append(frame)
        self.encoded.append(text)
        self.highest_seq = max(self.highest_seq, seq)
        payload = frame["payload"]
        if frame["type"] == "message.snapshot":
            self.texts[payload["messageId"]] = payload["text"]
        elif frame["type"] == "message.delta" and payload["kind"] == "text":
            self.texts[payload["messageId"]] += payload["delta"]
