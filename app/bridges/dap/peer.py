"""Conversations by the Debug Adapter Protocol with another process, in both directions at once.

Owns: pairing answers with requests, events, and the requests of the adapter. Never: what commands and
events mean, the stream of messages and its end, and the process.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from app.bridges.rpc.message_stream import MAX_REQUESTS_AT_ONCE, MessageStream, PeerClosed

log = logging.getLogger("kaged.peers")

MAX_REFUSAL = 4_000
"""How many characters of the adapter's words an error has."""
MAX_VALUE = 500
"""Likewise of each value within those words."""
WITHOUT_WORDS = "an error without a message"
_PLACE = re.compile(r"\{(\w{1,64})\}")


class AdapterRefusal(Exception):
    """The adapter answered a request with an error. `message` is what it says for a person to read,
    `body` the body of the answer as it came (or empty)."""

    def __init__(self, command: str, message: str, body: dict[str, Any]) -> None:
        super().__init__(f"{command}: {message}")
        self.command = command
        self.message = message
        self.body = body


class RequestRefused(Exception):
    """Raised by `on_request`: the adapter's request is answered with this message as an error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DapPeer(MessageStream):
    """One end of a conversation.

    `on_event` is called for each event, in the order of arrival, before who waits for an answer that
    came earlier goes on; what it raises is logged. `on_request` is awaited for each request of the
    adapter, several at a time; what it returns is the body of the answer, RequestRefused is an error
    as answer. A body or arguments that are no object count as empty. `name` is for the log.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        name: str,
        on_event: Callable[[str, dict[str, Any]], None],
        on_request: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> None:
        super().__init__(reader, writer, name=name)
        self.cancels = False
        """Whether the adapter takes `cancel`; set by who knows its capabilities."""
        self._on_event = on_event
        self._on_request = on_request
        self._commands: dict[int, str] = {}

    def send(
        self, command: str, arguments: Mapping[str, Any] | None = None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a request, and return the future body of its answer.

        It leaves at once, in the order of calls. The future fails with AdapterRefusal when the answer
        is an error, or the arguments are nothing that can be sent (numbers beyond 64 bits, lists within
        lists without end), and with PeerClosed when the conversation ends before it, or has; nobody has
        to look. When it is cancelled, a late answer is dropped, and an adapter that takes `cancel` gets one.
        """
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_looked_at)
        if self.reason is not None:
            answer.set_exception(PeerClosed(self.reason))
            return answer
        try:
            number, body = self._request(command, arguments)
        except TypeError as problem:
            answer.set_exception(AdapterRefusal(command, f"the arguments cannot be sent: {problem}", {}))
            return answer
        self._waiting[number] = answer
        self._commands[number] = command
        answer.add_done_callback(lambda _: self._settled(number, answer))
        self._send(body)
        return answer

    async def request(self, command: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the body of its answer. Raises AdapterRefusal and PeerClosed as
        `send` says."""
        return await self.send(command, arguments)

    def _request(self, command: str, arguments: Mapping[str, Any] | None) -> tuple[int, bytes]:
        number = next(self._numbers)
        message: dict[str, Any] = {"seq": number, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = dict(arguments)
        return number, orjson.dumps(message)

    def _settled(self, number: int, answer: asyncio.Future[dict[str, Any]]) -> None:
        self._commands.pop(number, None)
        if self._waiting.pop(number, None) is not None and answer.cancelled() and self.cancels:
            self._send(self._request("cancel", {"requestId": number})[1])

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "response":
                self._answered(message)
            case "event" if isinstance(event := message.get("event"), str):
                self._happened(event, _object(message.get("body")))
            case "request" if isinstance(command := message.get("command"), str):
                self._requested(_number(message.get("seq")), command, _object(message.get("arguments")))

    def _answered(self, message: dict[str, Any]) -> None:
        number = _number(message.get("request_seq"))
        answer = self._waiting.pop(number, None)
        if answer is None or answer.done():
            return
        body = _object(message.get("body"))
        if message.get("success") in (True, None):
            answer.set_result(body)
        else:
            words = _words(message.get("message"), body)
            answer.set_exception(AdapterRefusal(self._commands.get(number, ""), words, body))

    def _happened(self, event: str, body: dict[str, Any]) -> None:
        try:
            self._on_event(event, body)
        except Exception:
            log.exception("an event of %s was not taken", self.name)

    def _requested(self, seq: int, command: str, arguments: dict[str, Any]) -> None:
        if len(self._answering) >= MAX_REQUESTS_AT_ONCE:
            self._answer(seq, command, "too many requests at once")
            return
        # Not by the adapter's own numbers: some number all of their messages 0.
        self._begin_answering(object(), self._work_out(seq, command, arguments))

    async def _work_out(self, seq: int, command: str, arguments: dict[str, Any]) -> None:
        try:
            self._answer(seq, command, await self._on_request(command, arguments))
        except RequestRefused as refusal:
            self._answer(seq, command, refusal.message)
        except Exception:
            log.exception("a request of %s was not answered", self.name)
            self._answer(seq, command, "the request could not be answered")

    def _answer(self, seq: int, command: str, answer: dict[str, Any] | str) -> None:
        message: dict[str, Any] = {"seq": 0, "type": "response", "request_seq": seq, "command": command}
        if isinstance(answer, str):
            error = {"id": 1, "format": answer.replace("{", "(").replace("}", ")"), "showUser": False}
            message |= {"success": False, "message": answer, "body": {"error": error}}
        else:
            message |= {"success": True, "body": answer}
        body = orjson.dumps(message | {"seq": next(self._numbers)})
        self._send(body)


def _looked_at(answer: asyncio.Future[dict[str, Any]]) -> None:
    """Have a failure that nobody waits for not reported as forgotten."""
    if not answer.cancelled():
        answer.exception()


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int:
    """Return the number of a message, 0 when it has none: no request of ours has that."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _words(message: Any, body: Mapping[str, Any]) -> str:
    """Return what a refusal says: its short message, and the longer one that is made of a format."""
    error = _object(body.get("error"))
    short = message.strip() if isinstance(message, str) else ""
    form, variables = error.get("format"), _object(error.get("variables"))
    long = _filled(form[:MAX_REFUSAL], variables).strip() if isinstance(form, str) else ""
    if short and long and short not in long:
        long = short if long in short else f"{short}: {long}"
    return (long or short or WITHOUT_WORDS)[:MAX_REFUSAL]


def _filled(form: str, variables: Mapping[str, Any]) -> str:
    def value(place: re.Match[str]) -> str:
        found = variables.get(place[1])
        return found[:MAX_VALUE] if isinstance(found, str) else place[0]

    return _PLACE.sub(value, form)
