"""A client of one daemon that follows one session, and comes back with the last number that it has seen.

Owns: every stored frame that it was given, in order and once. Never: what the frames mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import orjson
from websockets.exceptions import WebSocketException

from tests.driver.daemon_process import DaemonProcess
from tests.driver.ledger import TRANSIENT

_OPENING = ("sync", "heartbeat")


class StreamFollower:
    """`daemon` returns the process that lives now. `resyncs` counts how often the log was not enough."""

    def __init__(self, daemon: Callable[[], DaemonProcess], session_id: str) -> None:
        self.frames: dict[int, str] = {}
        self.resyncs = 0
        self.broken = ""
        self._daemon, self._session_id = daemon, session_id
        self._after = 0

    async def follow(self) -> None:
        """Follow until this is cancelled."""
        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                path = f"/sessions/{self._session_id}/ws?after_seq={self._after}"
                async with self._daemon().websocket(path) as socket:
                    async for text in socket:
                        self._take(str(text))
            await asyncio.sleep(0.1)

    def _take(self, text: str) -> None:
        frame = orjson.loads(text)
        if frame["type"] in _OPENING:
            return
        if frame["type"] == "resync":
            self.resyncs += 1
            return
        number = frame["seq"]
        if number <= self._after:
            self.broken = self.broken or f"frame {number} after {self._after}: {text[:200]}"
        self._after = max(self._after, number)
        if frame["type"] not in TRANSIENT:
            self.frames[number] = text
