"""The streams of a child process as the MCP library takes them: a message on each line.

Owns: bounds on messages and their pace, and why the stream has ended. Never: the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from app.bridges.mcp.limits import MessageLimits
from app.bridges.mcp.server_log import ServerLog
from app.bridges.processes.child import Child
from app.bridges.rpc.allowance import Allowance
from app.bridges.rpc.framing import FramingError, LineReader
from app.bridges.rpc.message_stream import END_OF_OUTPUT, PARSED_ASIDE, parse_strictly
from app.json_schema import is_deeper

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class PipeTransport:
    """The conversation with one child, which is read and written until the end of either stream."""

    def __init__(self, child: Child, limits: MessageLimits, log: ServerLog) -> None:
        self._child = child
        self._limits = limits
        self._log = log
        self.reason = END_OF_OUTPUT
        self.ended = asyncio.Event()

    def streams(self) -> Transport:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Streams, None]:
        arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, leaving = anyio.create_memory_object_stream[SessionMessage](0)
        async with arriving, read, write, leaving, anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, arriving)
            tasks.start_soon(self._send, leaving, arriving)
            try:
                yield read, write
            finally:
                tasks.cancel_scope.cancel()

    async def _receive(self, arriving: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert self._child.stdout is not None
        limits = self._limits
        lines = LineReader(self._child.stdout, max_line=limits.line_bytes)
        messages, volume = Allowance(limits.per_second), Allowance(limits.bytes_per_second)
        async with arriving:
            try:
                while (line := await lines.read()) is not None:
                    message = await self._message(line)
                    if message is not None:
                        await arriving.send(message)
                    await asyncio.sleep(max(messages.spend(1.0), volume.spend(len(line))))
            except FramingError as problem:
                self.reason = str(problem)
            except _BROKEN:
                return  # the conversation was ended on this side
            self.ended.set()  # before the library learns of the end, so that the reason is known

    async def _message(self, line: bytes) -> SessionMessage | None:
        """Return the message of a line; None for a line that is none, as servers print them by mistake."""
        if not line.startswith(b"{"):
            self._log.noise(line, self._limits.noise)
            return None
        if len(line) > PARSED_ASIDE:
            return await asyncio.to_thread(self._parsed, line)
        return self._parsed(line)

    def _parsed(self, line: bytes) -> SessionMessage:
        value = parse_strictly(line)
        if is_deeper(value, self._limits.depth):
            raise FramingError(f"a message is nested more than {self._limits.depth} deep")
        try:
            message = jsonrpc_message_adapter.validate_python(with_sound_tools(value), by_name=False)
        except ValidationError:
            raise FramingError("a line is no message of the protocol") from None
        return SessionMessage(message)

    async def _send(
        self,
        leaving: MemoryObjectReceiveStream[SessionMessage],
        arriving: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        try:
            async with leaving:
                async for one in leaving:
                    text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode("utf-8", "replace") + b"\n")
                    await stdin.drain()
        except (ConnectionError, *_BROKEN):
            await arriving.aclose()


def with_sound_tools(message: Any) -> Any:
    """Return a message whose list of tools, if it is one, has no schemas of results, and no tool that would
    make the library refuse the whole list. Checking results against a stranger's schema would cost the daemon
    any amount of time."""
    result = message.get("result") if isinstance(message, dict) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    if isinstance(result, dict) and isinstance(tools, list):
        result["tools"] = [_without_output_schema(one) for one in tools if _is_sound(one)]
    return message


def _is_sound(tool: Any) -> bool:
    schema = tool.get("inputSchema") if isinstance(tool, dict) else None
    return isinstance(schema, dict) and schema.get("type") == "object" and isinstance(tool.get("name"), str)


def _without_output_schema(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != "outputSchema"}
