"""What an MCP server writes to its stderr, and the lines of its stdout that are no messages.

Owns: bounds on size and rate, the last lines. Never: who may read them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from app.bridges.mcp.limits import McpLimits
from app.bridges.rpc.framing import FramingError
from app.bridges.rpc.paced_lines import paced_lines

log = logging.getLogger("kaged.mcp")


class ServerLog:
    """The log of one server; it lasts over restarts."""

    def __init__(self, server: str, limits: McpLimits) -> None:
        self._server = server
        self._limits = limits
        self._lines: deque[str] = deque(maxlen=limits.log_lines)
        self._noise = 0

    def last(self, count: int) -> tuple[str, ...]:
        return tuple(self._lines)[-count:]

    def began(self) -> None:
        """A new run begins."""
        self._noise = 0

    def noise(self, line: bytes, most: int) -> None:
        """Keep a line of stdout that is no message. Raises FramingError when there are too many."""
        self._noise += 1
        if self._noise > most:
            raise FramingError(f"more than {most} lines of its output are no messages")
        self.keep(line)

    def keep(self, line: bytes) -> None:
        limit = self._limits.log_characters
        text = line[: 4 * limit].decode("utf-8", "replace")[:limit]
        shown = "".join(one if one.isprintable() else " " for one in text).strip()
        if shown:
            self._lines.append(shown)
            log.debug("mcp server %s: %s", self._server, shown)

    async def drain(self, stream: asyncio.StreamReader | None) -> None:
        """Keep the last lines of stderr to its end, read at the allowed rate."""
        limits = self._limits
        async for line in paced_lines(
            stream,
            bytes_per_second=limits.log_bytes_per_second,
            most=limits.log_lines,
            longest=limits.log_characters,
        ):
            self.keep(line)
