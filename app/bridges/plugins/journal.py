"""The log and stderr of a plugin.

Owns: bounds on size and rate, tagging with the plugin's name, the last lines. Never: who may read them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

from app.bridges.plugins.limits import PluginLimits
from app.bridges.rpc.allowance import Allowance
from app.bridges.rpc.paced_lines import paced_lines

log = logging.getLogger("kaged.plugins")

LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}


class Journal:
    """The journal of one plugin of one agent; it lasts over restarts."""

    def __init__(self, plugin: str, project_id: str, limits: PluginLimits) -> None:
        self._plugin = plugin
        self._project_id = project_id
        self._limits = limits
        self._lines: deque[str] = deque(maxlen=limits.log.lines_kept)
        self._allowed = Allowance(limits.log.lines_per_second)
        self._left_out = 0

    def last(self, count: int) -> tuple[str, ...]:
        return tuple(self._lines)[-count:]

    def say(self, level: str, text: str, *, source: str = "log") -> None:
        """Log a line, with unprintable characters replaced."""
        line = _plain(text, self._limits.log.line_characters)
        if not line:
            return
        if not self._allowed.has(1.0):
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        if left_out:
            self._keep(logging.WARNING, "log", f"{left_out} lines are left out: too many in a short time")
        self._keep(LEVELS.get(level, logging.INFO), source, line)

    async def drain(self, stream: asyncio.StreamReader | None) -> None:
        """Log a plugin's stderr to its end, at the allowed rate."""
        limits = self._limits.log
        async for line in paced_lines(
            stream,
            bytes_per_second=limits.stderr_per_second,
            most=limits.lines_kept,
            longest=limits.line_characters,
        ):
            text = line[: 4 * limits.line_characters].decode("utf-8", "replace")
            self.say("info", text, source="stderr")

    def _keep(self, level: int, source: str, line: str) -> None:
        self._lines.append(f"{source}: {line}")
        fields: dict[str, Any] = {"plugin": self._plugin, "project_id": self._project_id, "source": source}
        log.log(level, "plugin %s: %s", self._plugin, line, extra=fields)


def _plain(text: str, limit: int) -> str:
    cut = text[:limit]
    shown = "".join(one if one.isprintable() or one == "\t" else " " for one in cut).strip()
    return shown + " ..." if len(text) > limit else shown
