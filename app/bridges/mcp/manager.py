"""The MCP servers that the agents of this daemon use.

Owns: which connection serves which declaration, requests with their deadlines, what is known of each server.
Never: which servers an agent has; its tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.bridges.mcp.entries import Listing, ServerEntry
from app.bridges.mcp.limits import McpLimits
from app.bridges.mcp.problems import BadAnswer, ServerEnded, unavailable
from app.bridges.mcp.server_cage import McpCages
from app.bridges.mcp.supervision import Dependencies, SupervisedServer
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.supervised_child import Unavailable
from app.errors import ToolError
from app.states import PluginState

if TYPE_CHECKING:
    from app.bridges.mcp.connection import Connection

T = TypeVar("T")
SHOWN_LINES = 20
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server as an operator is shown it. `listing` is what it offered when it was asked last."""

    state: PluginState
    reason: str | None
    failures: int
    pid: int | None
    listing: Listing | None
    log: tuple[str, ...]


class McpServers:
    """All servers of this daemon. One instance, closed before the children are."""

    def __init__(
        self,
        children: ChildStarter,
        *,
        environment: Mapping[str, str],
        record: Record,
        version: str,
        cages: McpCages | None = None,
        limits: McpLimits | None = None,
        credentials: Callable[[str, str], Any] | None = None,
    ) -> None:
        self._limits = limits or McpLimits()
        self._dependencies = Dependencies(
            children, cages, environment, record, self._limits, version, credentials
        )
        self._servers: dict[_Key, SupervisedServer] = {}
        self._listings: dict[_Key, Listing] = {}
        self._leaving: set[SupervisedServer] = set()
        self._closed = False

    async def listing(self, project_id: str, root: Path, entry: ServerEntry) -> Listing:
        """Return what a server offers now. Raises Unavailable."""
        try:
            async with asyncio.timeout(self._limits.start_seconds + self._limits.list_seconds):
                async with self._asked(project_id, root, entry) as connection:
                    listing = await connection.listing()
        except TimeoutError:
            raise Unavailable("it did not list its tools in time") from None
        except BadAnswer as bad:
            raise Unavailable(f"it cannot list its tools: {bad.reason}") from None
        self._listings[_key(project_id, entry)] = listing
        return listing

    async def listing_now(self, project_id: str, root: Path, entry: ServerEntry) -> Listing | None:
        """Return what a server offers now, if it is connected and answers soon; else what is known of it. It
        is not started for this."""
        server = self._servers.get(_key(project_id, entry))
        if server is not None and server.state is PluginState.READY:
            with suppress(TimeoutError, Unavailable):
                async with asyncio.timeout(self._limits.relist_seconds):
                    return await self.listing(project_id, root, entry)
        return self.known_listing(project_id, entry)

    def known_listing(self, project_id: str, entry: ServerEntry) -> Listing | None:
        """Return what a server offered when it was asked last, None when it never was."""
        return self._listings.get(_key(project_id, entry))

    async def call(
        self,
        project_id: str,
        root: Path,
        entry: ServerEntry,
        tool: str,
        request: Callable[[Connection], Awaitable[T]],
        clock: CallClock | None = None,
    ) -> T:
        """Ask a server for something within its `timeout_seconds`; time that `clock` is stopped for does not
        count. Raises ToolError `mcp_unavailable`, `mcp_tool_failed` and `mcp_timeout`."""
        detail = {"server": entry.name, "tool": tool}
        try:
            async with asyncio.timeout(entry.timeout_seconds) as deadline:
                if clock is not None:
                    clock.begin(deadline, entry.timeout_seconds)
                async with self._asked(project_id, root, entry) as connection:
                    return await request(connection)
        except TimeoutError:
            message = f"the mcp server {entry.name} did not answer within {entry.timeout_seconds:g} s"
            raise ToolError("mcp_timeout", f"{message}; go on without it", detail=detail) from None
        except Unavailable as problem:
            raise unavailable(entry.name, problem.reason, problem.error) from None
        except BadAnswer as bad:
            raise ToolError("mcp_tool_failed", bad.reason, detail=detail) from None

    async def content(
        self, project_id: str, root: Path, entry: ServerEntry
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the resources and the prompts of a server. Raises ToolError as `call` does."""

        async def both(connection: Connection) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
            has = connection.client.server_capabilities
            resources = await connection.resources() if has.resources is not None else []
            return resources, await connection.prompts() if has.prompts is not None else []

        return await self.call(project_id, root, entry, "list", both)

    def status(self, project_id: str, entry: ServerEntry) -> ServerStatus:
        key = _key(project_id, entry)
        server, listing = self._servers.get(key), self._listings.get(key)
        if server is None:
            return ServerStatus(PluginState.STOPPED, None, 0, None, listing, ())
        reason = None if server.state is PluginState.READY else server.reason
        lines = server.log.last(SHOWN_LINES)
        return ServerStatus(server.state, reason, server.failures, server.pid, listing, lines)

    def enable(self, project_id: str, name: str) -> int:
        """Have servers of that name that are disabled started again at their next use; return how many."""
        chosen = [one for key, one in self._servers.items() if key[:2] == (project_id, name)]
        return sum(one.enable() for one in chosen)

    def keep_only(self, project_id: str, entries: Collection[ServerEntry]) -> None:
        """Begin to end the connections of a project to servers other than these."""
        kept = {_key(project_id, entry) for entry in entries}
        for key in [one for one in self._servers if one[0] == project_id and one not in kept]:
            self._part_from(key, "no_longer_declared")
        for key in [one for one in self._listings if one[0] == project_id and one not in kept]:
            del self._listings[key]

    async def end_project(self, project_id: str) -> None:
        """End the connections of a project."""
        keys = [key for key in self._servers if key[0] == project_id]
        await asyncio.gather(*(self._part_from(key, "project_unload").stopped() for key in keys))

    async def aclose(self) -> None:
        self._closed = True
        for key in list(self._servers):
            self._part_from(key, "daemon_shutdown")
        await asyncio.gather(*(one.stopped() for one in self._leaving))
        self._leaving.clear()

    # -- inside -----------------------------------------------------------------------------

    @asynccontextmanager
    async def _asked(self, project_id: str, root: Path, entry: ServerEntry) -> AsyncIterator[Connection]:
        """Lend the connection for one request. Raises Unavailable also when it breaks meanwhile."""
        server = self._server(project_id, root, entry)
        connection = await server.connected()
        try:
            yield connection
        except ServerEnded:
            raise Unavailable(await server.failure()) from None

    def _server(self, project_id: str, root: Path, entry: ServerEntry) -> SupervisedServer:
        if self._closed:
            raise Unavailable("the daemon is stopping")
        key = _key(project_id, entry)
        self._leaving = {one for one in self._leaving if not one.is_over}
        for other in [one for one in self._servers if one != key and one[:2] == key[:2]]:
            self._part_from(other, "redeclared")
        server = self._servers.get(key)
        if server is None:
            if len(self._servers) >= self._limits.servers:
                raise Unavailable(f"{len(self._servers)} mcp servers run already")
            server = self._servers[key] = SupervisedServer(entry, project_id, root, self._dependencies)
        return server

    def _part_from(self, key: _Key, reason: str) -> SupervisedServer:
        server = self._servers.pop(key)
        server.begin_stop(reason)
        self._leaving.add(server)
        return server


class CallClock:
    """The time that a call may take, which stands still while a person is asked."""

    def __init__(self) -> None:
        self._deadline: asyncio.Timeout | None = None
        self._seconds = 0.0

    def begin(self, deadline: asyncio.Timeout, seconds: float) -> None:
        self._deadline, self._seconds = deadline, seconds

    def stop(self) -> None:
        if self._deadline is not None:
            self._deadline.reschedule(None)

    def go_on(self) -> None:
        """Give the server its whole time again."""
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._seconds)


def _key(project_id: str, entry: ServerEntry) -> _Key:
    return project_id, entry.name, entry.digest()
