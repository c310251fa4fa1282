"""JSON-RPC with another process, in both directions.

Owns: pairing answers with requests, and cancelling. Never: the stream (`message_stream`), the methods, the
process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeGuard

import orjson

from app.bridges.rpc.message_stream import BY_HEADERS, MAX_REQUESTS_AT_ONCE, Manner, MessageStream, PeerClosed

log = logging.getLogger("kaged.peers")

INTERNAL_ERROR, SERVER_BUSY, REQUEST_CANCELLED, UNKNOWN_ERROR = -32603, -32000, -32800, -32001

Id = int | str


class ResponseError(Exception):
    """An error as the answer to a request, received or sent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class JsonRpcPeer(MessageStream):
    """One end of a conversation. `on_notification` is called in the order of arrival; its errors are logged.
    `on_request` is awaited, several at a time; it returns the answer or raises ResponseError. `name` is for
    the log."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        name: str,
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Awaitable[Any]],
        manner: Manner = BY_HEADERS,
    ) -> None:
        super().__init__(reader, writer, name=name, manner=manner)
        self._on_notification = on_notification
        self._on_request = on_request

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request, in the order of calls, and return its result. Raises ResponseError for an error as
        answer, and PeerClosed when the conversation is over. Cancelling it sends a cancellation and drops the
        late answer."""
        if self.reason is not None:
            raise PeerClosed(self.reason)
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
            log.exception("a notification of %s was not taken", self.name)

    def _requested(self, number: Id, method: str, params: Any) -> None:
        if len(self._answering) >= MAX_REQUESTS_AT_ONCE or number in self._answering:
            self._answer_error(number, ResponseError(SERVER_BUSY, "too many requests at once"))
            return
        task = self._begin_answering(number, self._answer(number, method, params))
        task.add_done_callback(lambda _: self._settled(number, task))

    def _settled(self, number: Id, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self._answer_error(number, ResponseError(REQUEST_CANCELLED, "the request was cancelled"))

    async def _answer(self, number: Id, method: str, params: Any) -> None:
        try:
            result = await self._on_request(method, params)
            self._send(orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}))
        except ResponseError as refusal:
            self._answer_error(number, refusal)
        except Exception:
            log.exception("a request of %s was not answered", self.name)
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
