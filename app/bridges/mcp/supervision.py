"""Connects to an MCP server at its first use and again after failures, until it is stopped or disabled.

Owns: one connection and its process. Never: restarts, and what the state means (`supervised_child`); calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.bridges.mcp.entries import ServerEntry
from app.bridges.mcp.limits import McpLimits
from app.bridges.mcp.problems import ServerEnded, SignInNeeded
from app.bridges.mcp.server_cage import McpCages, place_of
from app.bridges.mcp.server_log import ServerLog
from app.bridges.processes.audit import Record
from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.place import Place
from app.bridges.processes.supervised_child import Refused, SupervisedChild
from app.errors import ToolError

if TYPE_CHECKING:
    from app.bridges.mcp.connection import Connection
    from app.bridges.mcp.pipe_transport import PipeTransport

log = logging.getLogger("kaged.mcp")

_MAX_SAID = 300
_EXIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of all servers of a daemon. `credentials` gives what signs the requests of a server by
    its name and address, None for one without a sign-in."""

    children: ChildStarter
    cages: McpCages | None
    environment: Mapping[str, str]
    record: Record
    limits: McpLimits
    version: str
    credentials: Callable[[str, str], Any] | None = None


class SupervisedServer(SupervisedChild["Connection"]):
    """One server for one project."""

    noun = "mcp server"
    audited_as = "mcp"

    def __init__(self, entry: ServerEntry, project_id: str, root: Path, dependencies: Dependencies) -> None:
        about, limits = {"mcp_server": entry.name}, dependencies.limits
        super().__init__(entry.name, project_id, about, dependencies.record, limits)
        self.entry = entry
        self.root = root
        self.log = ServerLog(entry.name, limits)
        self._dependencies = dependencies
        self._limits = limits
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def _while_restarting(self, waited: bool) -> str:
        return str(self.reason) if waited else super()._while_restarting(waited)

    async def _run(self) -> ServerEnded | Refused | SignInNeeded:
        self.log.began()
        try:
            async with AsyncExitStack() as stack:
                if self.entry.url is not None:
                    return await self._over_http(self.entry.url)
                place, command = await place_of(
                    self._dependencies.children,
                    self._dependencies.cages,
                    self.entry,
                    project_id=self.project_id,
                    root=self.root,
                    environment=self._dependencies.environment,
                )
                stack.push_async_callback(place.end)
                return await self._over_pipes(place, command)
        except ServerEnded as failure:
            return failure
        except ToolError as problem:
            return Refused(problem.message, problem)
        except ExceptionGroup as problem:
            from app.bridges.mcp.connection import in_words

            log.warning("the connection to the mcp server %s failed", self.name, exc_info=problem)
            return ServerEnded(in_words(problem))

    async def _over_http(self, url: str) -> ServerEnded | SignInNeeded:
        from app.bridges.mcp.http_transport import HttpTransport

        signing = None if self.entry.brings_authorization else self._dependencies.credentials
        auth = signing(self.name, url) if signing is not None else None
        transport = HttpTransport(url, self.entry.headers, self._limits.messages, auth)
        try:
            failure: ServerEnded | SignInNeeded = await self._serve(transport, None, asyncio.Event())
        except (ServerEnded, ExceptionGroup):
            if auth is None or auth.needed is None:
                raise
            failure = auth.needed
        return failure if auth is None or auth.needed is None else auth.needed

    async def _over_pipes(self, place: Place, command: tuple[str, ...]) -> ServerEnded:
        from app.bridges.mcp.pipe_transport import PipeTransport

        async with self._process(place, command) as child:
            transport = PipeTransport(child, self._limits.messages, self.log)
            try:
                failure = await self._serve(transport, self.root, transport.ended)
            except ServerEnded as problem:
                failure = problem
            return await self._account(child, transport, failure)

    @asynccontextmanager
    async def _process(self, place: Place, command: tuple[str, ...]) -> AsyncIterator[Child]:
        """Lend the started process, ended as the protocol has it: stdin is closed, then it is killed."""
        try:
            child = await place.children.start(
                command,
                owner=f"mcp server {self.name}",
                cwd=self.root,
                env=place.environment,
                stdin="pipe",
            )
        except SpawnFailed as failure:
            raise ServerEnded(f"`{command[0]}` cannot be started: {failure.reason}") from None
        draining = asyncio.create_task(self.log.drain(child.stderr), name=f"stderr of {self.name}")
        self._child = child
        try:
            yield child
            if child.stdin is not None:
                child.stdin.close()
            await child.has_ended(self._limits.stop_seconds)
        finally:
            self._child = None
            draining.cancel()
            try:
                await child.aclose()
            finally:
                await asyncio.gather(draining, return_exceptions=True)

    async def _serve(self, transport: Any, root: Path | None, ended: asyncio.Event) -> ServerEnded:
        from app.bridges.mcp.connection import Connection

        version = self._dependencies.version
        async with Connection.open(transport, self._limits, version=version, root=root) as connection:
            with self._lending(connection, protocol=connection.client.protocol_version):
                return await self._watch(connection, ended)

    async def _watch(self, connection: Connection, ended: asyncio.Event) -> ServerEnded:
        """Return when the connection is over, or the server has grown too large."""
        waits = [asyncio.create_task(one.wait()) for one in (ended, connection.broken)]
        try:
            while True:
                seconds = self._limits.watch_seconds
                done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    return ServerEnded("the connection was closed")
                if self._child is None:
                    continue
                outgrown = await self._outgrown(self._child.pid)
                if outgrown is not None:
                    return ServerEnded(outgrown)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _account(self, child: Child, transport: PipeTransport, failure: ServerEnded) -> ServerEnded:
        """Return why a process is over, with its exit code and its last words."""
        from app.bridges.rpc.message_stream import END_OF_OUTPUT

        if not transport.ended.is_set():
            return failure
        how = transport.reason
        if how == END_OF_OUTPUT:
            await child.has_ended(_EXIT_SECONDS)
            how = how if child.exit_code is None else f"exit code {child.exit_code}"
        words = self.log.last(1)
        return ServerEnded(
            f"it ended ({how})" + (f"; {words[0][:_MAX_SAID]}" if words else ""), child.exit_code
        )
