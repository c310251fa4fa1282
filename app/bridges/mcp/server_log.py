"""What an MCP server writes to its stderr, and the lines of its stdout that are no messages.

Owns: bounds on size and rate, the last lines. Never: who may read them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from app.bridges.mcp.limits import McpLimits
from app.bridges.rpc.allowance import Allowance
from app.bridges.rpc.framing import FramingError

log = logging.getLogger("kaged.mcp")

_CHUNK = 64 * 1024


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
        allowed = Allowance(self._limits.log_bytes_per_second)
        rest = b""
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines[-self._limits.log_lines :]:
                self.keep(line)
            rest = rest[-_CHUNK:]
            await asyncio.sleep(allowed.spend(len(chunk)))
        self.keep(rest)
