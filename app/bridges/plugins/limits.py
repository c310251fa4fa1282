"""How long, how often and how much: the bounds on plugins.

Owns: the figures and what they mean. Never: keeping to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.bridges.processes.supervised_child import MEGABYTE, ChildLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimits:
    """A line above `line_bytes` ends the process; an answer above `result_bytes` is an error. Above
    `per_second` and `bytes_per_second` the plugin's pipe blocks."""

    line_bytes: int = 2 * MEGABYTE
    result_bytes: int = MEGABYTE
    params_bytes: int = 16 * MEGABYTE
    depth: int = 64
    unsent_bytes: int = 32 * MEGABYTE
    per_second: float = 1_000.0
    bytes_per_second: float = 8.0 * MEGABYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimits:
    """What a plugin may write to the log. Above `stderr_per_second` its pipe blocks."""

    lines_per_second: float = 20.0
    line_characters: int = 2_000
    lines_kept: int = 100
    stderr_per_second: float = 1.0 * MEGABYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginLimits(ChildLimits):
    """Times in seconds, sizes in bytes. `health_seconds` and `shutdown_seconds` override the manifest's.
    After a change of its declaration a process is kept until it is unused for `unused_seconds`, for sessions
    with the old project file."""

    health_seconds: float | None = None
    shutdown_seconds: float | None = None
    missed_pings: int = 3
    processes: int = 256
    unused_seconds: float = 60.0
    hanging_grace_seconds: float = 0.5
    storage_seconds: float = 10.0
    messages: MessageLimits = MessageLimits()
    log: LogLimits = LogLimits()
