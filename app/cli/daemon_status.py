"""What is known about a daemon: its process, its answers, and what it does at the moment.

Owns: asking, within a deadline, and what a missing answer means. Never: printing (`status`, `stop`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.bridges.processes import proc
from app.cli.client import DaemonClient
from app.cli.daemon_address import DaemonAddress
from app.cli.local_daemon import LocalDaemon
from app.cli.output import CommandFailed
from app.ids import now_ms

Condition = Literal["running", "starting", "unresponsive", "stopped"]
ANSWER_SECONDS = 5.0
"""How long an answer may take, unless the caller says otherwise."""
_SHOWN = 20
"""How many sessions are named; all are counted."""
_PROCESS_STATES = {
    "T": "the process is suspended by a signal; `kill -CONT {pid}` continues it",
    "t": "a debugger holds the process",
    "D": "the process waits for the disk",
    "Z": "the process has ended, and its parent has not noticed",
}


@dataclass(slots=True)
class DaemonStatus:
    """`problem` says in a sentence why something is missing. What is not known is None."""

    condition: Condition
    data_dir: Path | None = None
    url: str | None = None
    pid: int | None = None
    started_at: int | None = None
    problem: str | None = None
    versions: dict[str, Any] = field(default_factory=dict)
    readiness: dict[str, Any] = field(default_factory=dict)
    projects: list[dict[str, Any]] | None = None
    sessions: dict[str, int] | None = None
    working: list[dict[str, Any]] = field(default_factory=list)
    """Sessions that run or wait for an answer, the newest of each."""

    @property
    def uptime_seconds(self) -> int | None:
        return None if self.started_at is None else max(0, (now_ms() - self.started_at) // 1000)

    @property
    def cages(self) -> dict[str, str] | None:
        """The tier of cages, and how the daemon explains it."""
        tier, colon, reason = str(
            self.readiness.get("checks", {}).get("sandbox", {}).get("detail")
        ).partition(": ")
        return {"tier": tier, "reason": reason} if colon else None

    @property
    def failed_checks(self) -> dict[str, str]:
        checks = self.readiness.get("checks", {})
        return {name: str(one.get("detail")) for name, one in checks.items() if one.get("status") == "failed"}


async def local_status(
    daemon: LocalDaemon, find: Callable[[], DaemonAddress], *, seconds: float = ANSWER_SECONDS
) -> DaemonStatus:
    """Return what is known about the daemon of a data folder."""
    if not daemon.held or daemon.ended:
        return DaemonStatus("stopped", daemon.folder)
    if daemon.holder is None:
        problem = f"a process holds the data folder {daemon.folder}, and its lock does not say which"
        return DaemonStatus("unresponsive", daemon.folder, problem=problem)
    status = DaemonStatus("running", daemon.folder, daemon.url, daemon.pid, daemon.holder.started_at)
    if daemon.url is None:
        status.condition = "starting"
        status.problem = (
            f"the process {daemon.holder.pid} holds the data folder and has no address yet: a daemon that "
            "starts, or a command such as `kaged db restore`"
        )
        return status
    await _ask(status, find, seconds)
    if status.condition == "unresponsive":
        status.problem = f"{status.problem}; {_why_silent(daemon)}"
    return status


async def remote_status(address: DaemonAddress, *, seconds: float = ANSWER_SECONDS) -> DaemonStatus:
    """Return what is known about the daemon at an address."""
    status = DaemonStatus("running", url=address.url)
    await _ask(status, lambda: address, seconds)
    return status


async def _ask(status: DaemonStatus, find: Callable[[], DaemonAddress], seconds: float) -> None:
    """Fill in what the daemon answers. One that does not answer in time is `unresponsive`."""
    async with DaemonClient(find, seconds=seconds) as client:
        try:
            async with asyncio.timeout(seconds):
                status.versions = await client.request("GET", "/versions")
                status.readiness = await client.readiness()
        except (CommandFailed, TimeoutError) as failure:
            status.condition = "unresponsive"
            silent = f"the daemon at {status.url} does not answer within {seconds:g} s"
            status.problem = failure.message if isinstance(failure, CommandFailed) else silent
            return
        try:
            async with asyncio.timeout(seconds):
                status.projects = (await client.whole_list("/projects"))["items"]
                status.sessions, status.working = await _sessions(client.request)
        except (CommandFailed, TimeoutError) as failure:
            why = failure.message if isinstance(failure, CommandFailed) else "the database does not answer"
            status.problem = f"projects and sessions are not known: {why}"


async def _sessions(
    request: Callable[..., Awaitable[Any]],
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    pages = {
        "running": await request("GET", "/sessions", params={"state": "running", "limit": _SHOWN}),
        "waiting": await request("GET", "/sessions", params={"asks": "true", "limit": _SHOWN}),
        "queued": await request("GET", "/sessions", params={"state": "queued", "limit": 1}),
    }
    found = {item["id"]: item for name in ("running", "waiting") for item in pages[name]["items"]}
    return {name: page["total"] for name, page in pages.items()}, list(found.values())


def _why_silent(daemon: LocalDaemon) -> str:
    holder = daemon.holder
    assert holder is not None
    if daemon.pid is None:
        return (
            f"it calls itself process {holder.pid}, which is another process here: it runs in another "
            "container or on another machine"
        )
    found = proc.process(daemon.pid)
    known = _PROCESS_STATES.get(found.state) if found is not None else None
    if known is not None:
        return known.format(pid=daemon.pid)
    return f"the process {daemon.pid} runs; `kaged stop --now` ends it"
