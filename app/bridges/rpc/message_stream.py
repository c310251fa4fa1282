"""A stream of messages to and from an untrusted process.

Owns: reading, the order of sending, open requests, bounds, and the end. Never: the content of messages
(subclasses); the process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any

import orjson

from app.bridges.rpc.framing import Framing, FramingError, Headers
from app.errors import Failure

log = logging.getLogger("kaged.peers")

MAX_UNSENT = 64 * 1024 * 1024
MAX_REQUESTS_AT_ONCE = 64
"""How many requests of the counterpart are worked on at a time."""
PARSED_ASIDE = 1024 * 1024
"""From how many bytes on a message is parsed in a thread."""
MAX_CONTAINERS = 50_000
TURN_SECONDS = 0.005
"""How long messages are taken without letting others have the loop."""
PARTING_SECONDS = 1.0
"""How long a counterpart that has closed its input is still read. A process closes its input when it
ends; its last messages and the end of its output follow."""

END_OF_OUTPUT = "it has ended its output"


class PeerClosed(Failure):
    """The conversation is over; `reason` says why, in words."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How messages are read and sent. `parse` turns bytes into a value, or raises FramingError. `pace` gets
    the size of each message and returns the seconds to wait before the next, so that a fast sender blocks on
    its pipe. `max_unsent` bounds the bytes for a peer that does not read."""

    framing: Framing
    parse: Callable[[bytes], Any]
    pace: Callable[[int], float] | None = None
    max_unsent: int = MAX_UNSENT


def parse_leniently(body: bytes) -> Any:
    """Parse JSON, also with half a surrogate pair or a byte that is no UTF-8, in a text cut in the middle:
    some servers send that, and the message is good otherwise."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(body.decode("utf-8", "replace"))
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise FramingError("a message is no JSON") from None


def parse_strictly(body: bytes) -> Any:
    """Parse JSON of not too many lists and maps: these take far longer than their bytes let expect."""
    if body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        raise FramingError(f"a message has more than {MAX_CONTAINERS} lists and maps")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise FramingError("a message is no JSON") from None


BY_HEADERS = Manner(Headers(), parse_leniently)


class MessageStream(ABC):
    """One end of a conversation. `name` is for the log. A subclass takes what comes (`_take`), and
    sends by `_send`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        name: str,
        manner: Manner = BY_HEADERS,
    ) -> None:
        self.name = name
        self.bytes_taken = 0
        """The size of the message that is being taken, for who has to bound what is kept of it."""
        self.reason: str | None = None
        """Why the conversation is over; None while it goes on."""
        self._reader = reader
        self._manner = manner
        self._frames = manner.framing.reader(reader)
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[Hashable, asyncio.Task[None]] = {}
        self._closed = asyncio.Event()
        self._parting: asyncio.TimerHandle | None = None

    @property
    def pending(self) -> int:
        """How many requests wait for their answer."""
        return len(self._waiting)

    @property
    def bytes_waiting(self) -> int:
        """How many bytes the counterpart has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    @property
    def output_ended(self) -> bool:
        """Whether the counterpart has ended its output, if within a message."""
        return self._reader.at_eof()

    async def run(self) -> str:
        """Take messages until the conversation ends, and return why it did. When this is cancelled
        the conversation is closed. Called once."""
        reading = asyncio.create_task(self._read_all(), name=f"reading from {self.name}")
        closing = asyncio.create_task(self._closed.wait(), name=f"end of {self.name}")
        try:
            await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.close("the conversation was stopped")
            answering = list(self._answering.values())
            for task in (reading, closing):
                task.cancel()
            await asyncio.gather(reading, closing, *answering, return_exceptions=True)
        return self.reason or ""

    def close(self, reason: str) -> None:
        """End the conversation: all that wait for an answer get PeerClosed, and what was sent
        before still leaves if the counterpart takes it. Only the first reason counts."""
        if self.reason is not None:
            return
        self.reason = reason
        if self._parting is not None:
            self._parting.cancel()
        self._closed.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(PeerClosed(reason))
        self._waiting.clear()
        for task in self._answering.values():
            task.cancel()
        self._writer.close()

    @abstractmethod
    def _take(self, message: dict[str, Any]) -> None:
        """Take the next message, in the order of arrival. Must not raise."""

    def _send(self, body: bytes) -> None:
        """Send a message, in the order of calls. Nothing happens after the end."""
        if self.reason is not None:
            return
        if self._writer.transport.is_closing():
            self._hear_out()
            return
        self._writer.write(self._manner.framing.frame(body))
        if self.bytes_waiting > self._manner.max_unsent:
            self._writer.transport.abort()
            self.close("it does not read what it is sent")

    def _hear_out(self) -> None:
        """End the conversation with a counterpart that reads no more, unless it ends it itself meanwhile."""
        if self._parting is None:
            later = asyncio.get_running_loop().call_later
            self._parting = later(PARTING_SECONDS, self.close, "it has closed its input")

    def _begin_answering(self, key: Hashable, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have the answer to a request of the counterpart worked out, until the end of all."""
        task = asyncio.create_task(work, name=f"answering a request of {self.name}")
        self._answering[key] = task
        task.add_done_callback(lambda _: self._answering.pop(key))
        return task

    async def _read_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            turn = loop.time()
            while (body := await self._frames.read()) is not None:
                message = await self._message(body)
                self.bytes_taken = len(body)
                self._take(message)
                pause = self._manner.pace(len(body)) if self._manner.pace is not None else 0.0
                if pause or loop.time() - turn > TURN_SECONDS:
                    await asyncio.sleep(pause)
                    turn = loop.time()
            self.close(END_OF_OUTPUT)
        except FramingError as problem:
            self.close(f"it does not keep to the protocol: {problem}")
        except OSError as problem:
            self.close(f"its output cannot be read: {problem.strerror}")

    async def _message(self, body: bytes) -> dict[str, Any]:
        """Parse a message. Raises FramingError for what is none."""
        parse = self._manner.parse
        value = parse(body) if len(body) < PARSED_ASIDE else await asyncio.to_thread(parse, body)
        if not isinstance(value, dict):
            raise FramingError("a message is no object")
        return value
