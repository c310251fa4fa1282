"""The protocol's messages on standard input and output, one JSON document per line.

Owns: framing, limits, refusing what is no message; nothing else of this process can write to standard output
from then on. Never: what a message means.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from contextlib import suppress
from typing import Any

import orjson

from app.cli.output import CommandFailed

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
CLOSE_SECONDS = 2.0
_PERMISSION = "session/request_permission"
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class StdioTransport:
    """A transport of the library `acp`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._asked: dict[str, int | str] = {}

    @classmethod
    async def open(cls) -> StdioTransport:
        """Take standard input and output over; prints go to standard error. Raises `CommandFailed`."""
        sys.stdout.flush()
        if not (_can_wait(0) and _can_wait(1)):
            raise CommandFailed(
                "usage",
                "standard input and output must be pipes: an editor starts `kaged acp`",
                exit_code=2,
            )
        incoming, outgoing = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        # The protocol of a writer that is only written to still needs a reader.
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb", buffering=0)
        )
        pipe, _ = await loop.connect_write_pipe(lambda: flow, os.fdopen(outgoing, "wb", buffering=0))
        return cls(reader, asyncio.StreamWriter(pipe, flow, None, loop))

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of input."""
        while True:
            line = await self._line()
            if line is None:
                return None
            if line.strip():
                message = await self._message(line)
                if message is not None:
                    return message

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Waits while the editor does not read. Raises ConnectionError."""
        if message.get("method") == _PERMISSION and "id" in message:
            self._asked[message["params"]["toolCall"]["toolCallId"]] = message["id"]
        self._writer.write(_encoded(message) + b"\n")
        await self._writer.drain()

    async def withdraw_permission(self, tool_call_id: str) -> None:
        """Tell the editor that nobody waits for its answer about a call any more."""
        request_id = self._asked.pop(tool_call_id, None)
        if request_id is not None:
            await self.send(
                {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request_id}}
            )

    async def close(self) -> None:
        """Close standard output once the editor has read what was written, or after some seconds."""
        with suppress(OSError, TimeoutError):
            self._writer.close()
            await asyncio.wait_for(self._writer.wait_closed(), CLOSE_SECONDS)

    async def _line(self) -> bytes | None:
        """Return the next line; None at the end of input. One that is too long is dropped and refused."""
        dropped = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line:
                    return None
            except asyncio.LimitOverrunError as overrun:
                dropped = True
                await self._reader.readexactly(overrun.consumed)
                continue
            except OSError:
                return None
            if not dropped:
                return line
            dropped = False
            await self._refuse(_INVALID_REQUEST, f"a message has more than {MAX_MESSAGE_BYTES:,} bytes", None)

    async def _message(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            await self._refuse(_PARSE_ERROR, f"the line is not JSON: {error}", None)
            return None
        problem = _problem(message)
        if problem is not None:
            number = message.get("id") if isinstance(message, dict) else None
            await self._refuse(_INVALID_REQUEST, problem, number if _is_id(number) else None)
            return None
        assert isinstance(message, dict)
        if isinstance(message.get("params"), dict):
            message["params"].pop("_meta", None)  # the library would pass its entries as arguments
        elif "method" not in message:
            self._forget(message["id"])
        return message

    def _forget(self, request_id: Any) -> None:
        for call, number in list(self._asked.items()):
            if number == request_id:
                del self._asked[call]

    async def _refuse(self, code: int, text: str, request_id: Any) -> None:
        error = {"code": code, "message": text}
        await self.send({"jsonrpc": "2.0", "id": request_id, "error": error})


def _can_wait(descriptor: int) -> bool:
    """Tell whether one can wait for a descriptor: not for a file, nor for `/dev/null`."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _problem(message: Any) -> str | None:
    """Return why a document is no message of JSON-RPC; None when it is one."""
    if not isinstance(message, dict):
        return "a message is a JSON object"
    if not _is_id(message.get("id")):
        return "an id is a string, an integer or null"
    if "method" not in message:
        return None if "id" in message else "a message has a method or an id"
    if not isinstance(message["method"], str):
        return "a method is a string"
    if not isinstance(message.get("params", {}), dict):
        return "params are an object"
    return None


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _encoded(message: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(message, default=str)
    except TypeError:  # a lone surrogate or a huge number; escaped, it still is JSON
        return json.dumps(message, separators=(",", ":"), default=str).encode()
