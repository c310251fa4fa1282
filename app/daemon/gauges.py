"""What the daemon is doing at this moment, as numbers for its metrics.

Owns: the names and numbers that are read from memory when metrics are asked for, and the watch on the event
loop. Never: counting what happens (`telemetry`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from app.bridges.dap.manager import DebugAdapters
from app.bridges.lsp.manager import LanguageServers
from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.daemon.ownership import Ownership
from app.harness.sessions.capacity import Capacity
from app.harness.sessions.overload import Look, Overload
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.observability.metrics import LOOP_LAG_SECONDS, Gauge, Labels, Metrics
from app.storage.storage import Storage

LAG_EVERY_SECONDS = 0.5


def show_sessions(metrics: Metrics, sessions: SessionManager, hub: EventHub) -> None:
    """Show sessions by state and who listens to them."""
    metrics.show(
        Gauge("kaged_sessions", "Sessions in memory.", lambda: _by(sessions.states()), ("state",)),
        _gauge("kaged_subscribers", "WebSockets that listen.", lambda: hub.subscribers),
        _gauge(
            "kaged_overload_sessions",
            "How many sessions may run because of an overload; 0 without one.",
            lambda: sessions.capacity.ceiling or 0,
        ),
    )


def show_storage(metrics: Metrics, storage: Storage) -> None:
    """Show what waits to be written, and what was."""
    metrics.show(
        _gauge("kaged_storage_waiting_writes", "Units of work that wait.", lambda: storage.waiting),
        _total("kaged_storage_commits", "Commits.", lambda: storage.statistics.commits),
        _total(
            "kaged_storage_commit_seconds",
            "Time spent in commits.",
            lambda: storage.statistics.commit_seconds,
        ),
        _total("kaged_storage_writes", "Units of work written.", lambda: storage.statistics.units),
        _total("kaged_storage_failed_writes", "Units that failed.", lambda: storage.statistics.failed_units),
    )


def show_ownership(metrics: Metrics, ownership: Ownership | None) -> None:
    """Show how many projects this daemon owns, where several share a database."""
    if ownership is not None:
        metrics.show(
            _gauge("kaged_projects_owned", "Projects that this daemon owns.", lambda: len(ownership.served))
        )


def show_children(
    metrics: Metrics,
    children: ChildProcesses,
    terminals: TerminalManager,
    languages: LanguageServers,
    debuggers: DebugAdapters,
) -> None:
    """Show the processes that the daemon has started and what they are for."""
    metrics.show(
        _gauge("kaged_child_processes", "Child processes.", lambda: children.alive),
        _gauge("kaged_terminals", "Shell commands that run on a terminal.", lambda: terminals.running),
        Gauge("kaged_language_servers", "Language servers.", lambda: _by(languages.running()), ("language",)),
        _gauge("kaged_debug_sessions", "Debug sessions.", lambda: debuggers.active),
    )


async def watch_loop_forever(
    metrics: Metrics,
    capacity: Capacity,
    overload: Overload,
    *,
    cpu_time: Callable[[], float] = time.process_time,
) -> None:
    """Note how late the event loop is, and let fewer sessions run in an overload; costs two wake-ups a
    second."""
    loop = asyncio.get_running_loop()
    before, cpu_before = loop.time(), cpu_time()
    while True:
        due = loop.time() + LAG_EVERY_SECONDS
        await asyncio.sleep(LAG_EVERY_SECONDS)
        now, cpu = loop.time(), cpu_time()
        late = max(0.0, now - due)
        metrics.observe(LOOP_LAG_SECONDS, value=late)
        look = Look(now - before, cpu - cpu_before, late)
        before, cpu_before = now, cpu
        if overload.take(look, running=capacity.running):
            capacity.limit_to(overload.ceiling)


def _gauge(name: str, text: str, read: Callable[[], float]) -> Gauge:
    return Gauge(name, text, lambda: {(): float(read())})


def _total(name: str, text: str, read: Callable[[], float]) -> Gauge:
    return Gauge(name, text, lambda: {(): float(read())}, is_total=True)


def _by(counts: Mapping[str, int]) -> dict[Labels, float]:
    return {(name,): float(count) for name, count in counts.items()}
