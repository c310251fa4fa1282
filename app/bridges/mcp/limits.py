"""How long, how often and how much: the bounds on MCP servers.

Owns: the figures. Never: keeping to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.bridges.processes.supervised_child import MEGABYTE, ChildLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimits:
    """A longer line or deeper message ends the connection. Above `per_second` and `bytes_per_second` the
    server's pipe blocks. `noise` is how many lines that are no messages may come."""

    line_bytes: int = 16 * MEGABYTE
    depth: int = 64
    per_second: float = 1_000.0
    bytes_per_second: float = 16.0 * MEGABYTE
    noise: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """What is taken of a server's lists."""

    tools: int = 512
    pages: int = 32
    entries: int = 1_000
    description: int = 4_000
    instructions: int = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits(ChildLimits):
    """Times in seconds, sizes in bytes."""

    list_seconds: float = 30.0
    relist_seconds: float = 2.0
    stop_seconds: float = 2.0
    watch_seconds: float = 30.0
    servers: int = 256
    log_lines: int = 50
    log_characters: int = 1_000
    log_bytes_per_second: float = 1.0 * MEGABYTE
    messages: MessageLimits = MessageLimits()
    lists: ListLimits = ListLimits()
