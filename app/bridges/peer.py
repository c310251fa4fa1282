"""Conversations by JSON-RPC with another process, in both directions at once.

Owns: pairing answers with requests, the one order in which messages leave, cancelling, and the end
of it all. The counterpart is not trusted: whatever it sends, nothing here grows without bounds,
blocks the loop or waits for ever after the end. Never: what methods mean, and the process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard

import orjson

from app.bridges.framing import FrameReader, FramingError, frame

log = logging.getLogger("kaged.peers")

MAX_UNSENT = 64 * 1024 * 1024
MAX_REQUESTS_AT_ONCE = 64
PARSED_ASIDE = 1024 * 1024
"""From how many bytes on a message is parsed in a thread."""
TURN_SECONDS = 0.005
"""How long messages are taken without letting others have the loop."""
INTERNAL_ERROR, SERVER_BUSY, REQUEST_CANCELLED, UNKNOWN_ERROR = -32603, -32000, -32800, -32001

END_OF_OUTPUT = "it has ended its output"

Id = int | str


class PeerClosed(Exception):
    """The conversation is over; `reason` says why, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ResponseError(Exception):
    """An answer that is an error: one received, or one to give."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class JsonRpcPeer:
    """One end of a conversation.

    `on_notification` is called for each notification, in the order of arrival; what it raises is
    logged. `on_request` is awaited for each request, several at a time; what it returns is the
    answer, a ResponseError is an error as answer. `name` is for the log.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        name: str,
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Awaitable[Any]],
    ) -> None:
        self._frames = FrameReader(reader)
        self._writer = writer
        self._name = name
        self._on_notification = on_notification
        self._on_request = on_request
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[Id, asyncio.Task[None]] = {}
        self._reason: str | None = None
        self._closed = asyncio.Event()
        self.bytes_taken = 0
        """The size of the message that is being taken, for who has to bound what is kept of it."""

    @property
    def pending(self) -> int:
        """How many requests wait for their answer."""
        return len(self._waiting)

    @property
    def bytes_waiting(self) -> int:
        """How many bytes the counterpart has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    async def run(self) -> str:
        """Take messages until the conversation ends, and return why it did. When this is cancelled
        the conversation is closed. Called once."""
        reading = asyncio.create_task(self._read_all(), name=f"reading from {self._name}")
        closing = asyncio.create_task(self._closed.wait(), name=f"end of {self._name}")
        try:
            await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.close("the conversation was stopped")
            answering = list(self._answering.values())
            for task in (reading, closing):
                task.cancel()
            await asyncio.gather(reading, closing, *answering, return_exceptions=True)
        return self._reason or ""

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return the result that is answered.

        It leaves at once, in the order of calls. Raises ResponseError when the answer is an error
        and PeerClosed when the conversation ends before it, or has. When the caller is cancelled
        the counterpart is told, and its late answer is dropped.
        """
        if self._reason is not None:
            raise PeerClosed(self._reason)
        number = next(self._numbers)
        body = _encoded({"jsonrpc": "2.0", "id": number, "method": method}, params)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send(body)
            return await answer
        except asyncio.CancelledError:
            if number in self._waiting:
                self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, in the order of calls. Nothing happens after the end."""
        self._send(_encoded({"jsonrpc": "2.0", "method": method}, params))

    def close(self, reason: str) -> None:
        """End the conversation: all that wait for an answer get PeerClosed, and what was sent
        before still leaves if the counterpart takes it. Only the first reason counts."""
        if self._reason is not None:
            return
        self._reason = reason
        self._closed.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(PeerClosed(reason))
        self._waiting.clear()
        for task in self._answering.values():
            task.cancel()
        self._writer.close()

    def _send(self, body: bytes) -> None:
        if self._reason is not None:
            return
        if self._writer.transport.is_closing():
            self.close("it has closed its input")
            return
        self._writer.write(frame(body))
        if self.bytes_waiting > MAX_UNSENT:
            self._writer.transport.abort()
            self.close("it does not read what it is sent")

    async def _read_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            turn = loop.time()
            while (body := await self._frames.read()) is not None:
                message = await _message(body)
                self.bytes_taken = len(body)
                self._take(message)
                if loop.time() - turn > TURN_SECONDS:
                    await asyncio.sleep(0)
                    turn = loop.time()
            self.close(END_OF_OUTPUT)
        except FramingError as problem:
            self.close(f"it does not keep to the protocol: {problem}")
        except OSError as problem:
            self.close(f"its output cannot be read: {problem.strerror}")

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            if number is None:
                self._notified(method, message.get("params"))
            elif _is_id(number):
                self._requested(number, method, message.get("params"))
        elif _is_id(number):
            self._answered(number, message)

    def _answered(self, number: Id, message: dict[str, Any]) -> None:
        answer = self._waiting.pop(number, None) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(_response_error(error))

    def _notified(self, method: str, params: Any) -> None:
        if method == "$/cancelRequest":
            number = params.get("id") if isinstance(params, dict) else None
            task = self._answering.get(number) if _is_id(number) else None
            if task is not None:
                task.cancel()
            return
        try:
            self._on_notification(method, params)
        except Exception:
            log.exception("a notification of %s was not taken", self._name)

    def _requested(self, number: Id, method: str, params: Any) -> None:
        if len(self._answering) >= MAX_REQUESTS_AT_ONCE or number in self._answering:
            self._answer_error(number, ResponseError(SERVER_BUSY, "too many requests at once"))
            return
        task = asyncio.create_task(
            self._answer(number, method, params), name=f"answering a request of {self._name}"
        )
        self._answering[number] = task
        task.add_done_callback(lambda _: self._settled(number, task))

    def _settled(self, number: Id, task: asyncio.Task[None]) -> None:
        del self._answering[number]
        if task.cancelled():
            self._answer_error(number, ResponseError(REQUEST_CANCELLED, "the request was cancelled"))

    async def _answer(self, number: Id, method: str, params: Any) -> None:
        try:
            result = await self._on_request(method, params)
            self._send(orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}))
        except ResponseError as refusal:
            self._answer_error(number, refusal)
        except Exception:
            log.exception("a request of %s was not answered", self._name)
            self._answer_error(number, ResponseError(INTERNAL_ERROR, "the request could not be answered"))

    def _answer_error(self, number: Id, refusal: ResponseError) -> None:
        error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
        if refusal.data is not None:
            error["data"] = refusal.data
        self._send(orjson.dumps({"jsonrpc": "2.0", "id": number, "error": error}))


def _encoded(message: dict[str, Any], params: Any) -> bytes:
    if params is not None:
        message["params"] = params
    return orjson.dumps(message)


def _is_id(number: Any) -> TypeGuard[Id]:
    return isinstance(number, str) or (isinstance(number, int) and not isinstance(number, bool))


def _response_error(error: Any) -> ResponseError:
    """Return the error of an answer, whatever it is made of."""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return ResponseError(
        code if isinstance(code, int) else UNKNOWN_ERROR,
        message if isinstance(message, str) else "an error without a message",
        fields.get("data"),
    )


async def _message(body: bytes) -> dict[str, Any]:
    """Parse a message. Raises FramingError for what is none."""
    value = _parsed(body) if len(body) < PARSED_ASIDE else await asyncio.to_thread(_parsed, body)
    if not isinstance(value, dict):
        raise FramingError("a message is no object")
    return value


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    # Half a surrogate pair or a byte that is no UTF-8, in a text cut in the middle: some servers do
    # that, and the message is good otherwise.
    try:
        lenient = json.loads(body.decode("utf-8", "replace"))
        return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise FramingError("a message is no JSON") from None
