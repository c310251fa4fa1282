"""Connects to an MCP server at its first use and again after failures, until it is stopped or disabled.

Owns: the present connection and its process, the state, the task that supervises it, its audit. Never: calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.bridges.mcp.entries import ServerEntry
from app.bridges.mcp.limits import MEGABYTE, McpLimits
from app.bridges.mcp.problems import ServerEnded, ServerRefused, ServerUnavailable
from app.bridges.mcp.server_cage import McpCages, ServerPlace, place_of
from app.bridges.mcp.server_log import ServerLog
from app.bridges.processes import proc
from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.supervisor import FailureWindow
from app.errors import ToolError
from app.states import PluginState, move

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.bridges.mcp.connection import Connection
    from app.bridges.mcp.pipe_transport import PipeTransport

log = logging.getLogger("kaged.mcp")

_MAX_SAID = 300
_EXIT_SECONDS = 1.0

Record = Callable[[str, str, dict[str, Any]], None]
"""Takes an audit event's name, the project's id and the data."""


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


class SupervisedServer:
    """One server for one project."""

    def __init__(self, entry: ServerEntry, project_id: str, root: Path, dependencies: Dependencies) -> None:
        self.entry = entry
        self.project_id = project_id
        self.root = root
        self.log = ServerLog(entry.name, dependencies.limits)
        self.reason: str | None = None
        """Why it does not run, or has last failed."""
        self._error: ToolError | None = None
        self._dependencies = dependencies
        self._limits = dependencies.limits
        self._failures = FailureWindow(dependencies.limits.restarts, now=dependencies.limits.clock.now)
        self._state = PluginState.STOPPED
        self._changed = asyncio.Event()
        self._connection: Connection | None = None
        self._child: Child | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped_for: str | None = None

    @property
    def state(self) -> PluginState:
        return self._state

    @property
    def failures(self) -> int:
        """How often it has failed since it is known."""
        return self._failures.total

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def is_over(self) -> bool:
        """Whether it was stopped and nothing is left of it."""
        return self._stopped_for is not None and (self._task is None or self._task.done())

    async def connected(self) -> Connection:
        """Return the present connection, begun if there is none. Waits for one under way, with no deadline of
        its own. Raises ServerUnavailable."""
        waited = False
        while True:
            if self._stopped_for is not None:
                raise ServerUnavailable(f"it was stopped ({self._stopped_for})")
            match self._state:
                case PluginState.READY if self._connection and not self._connection.broken.is_set():
                    return self._connection
                case PluginState.DISABLED:
                    reason = f"it is disabled: {self.reason}; enable it to try again"
                    raise ServerUnavailable(reason, self._error)
                case PluginState.RESTARTING:
                    soon = "" if waited else "it has failed and is started again soon: "
                    raise ServerUnavailable(f"{soon}{self.reason}")
                case PluginState.STOPPED:
                    self._begin()
            waited = True
            await self._changed.wait()

    async def failure(self) -> str:
        """Return why the connection that has just broken did so; waits until that is known."""
        while self._state is PluginState.READY and self._stopped_for is None:
            await self._changed.wait()
        return self.reason or "the connection was closed"

    def enable(self) -> bool:
        """Have a disabled server started again at its next use, its failures forgiven. Tell whether it was
        disabled."""
        if self._state is not PluginState.DISABLED or self._stopped_for is not None:
            return False
        self._failures.forgive()
        self.reason = self._error = None
        self._become(PluginState.STOPPED)
        self._record("enabled", {})
        return True

    def begin_stop(self, reason: str) -> None:
        """Begin to stop it for good; `ended` waits for the end."""
        if self._stopped_for is not None:
            return
        self._stopped_for = reason
        self._ring()
        if self._task is not None:
            self._task.cancel()

    async def ended(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task})

    # -- inside -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self._become(PluginState.STARTING)
        self._task = asyncio.create_task(self._supervise(), name=f"supervise mcp server {self.entry.name}")

    async def _supervise(self) -> None:
        """Connect over and over, until it is stopped or disabled."""
        try:
            while True:
                failure = await self._one_run()
                if isinstance(failure, ServerRefused):
                    self._error = failure.error
                    self._disable(f"it was refused: {failure.reason}")
                    return
                self._failures.failed()
                self.reason = failure.reason
                data = {"reason": failure.reason, "exit_code": failure.exit_code, "failures": self.failures}
                self._record("failed", data)
                if self._failures.exhausted:
                    limits = self._limits.restarts
                    often = f"{limits.failures} failures in {limits.window_seconds / 60:g} minutes"
                    self._disable(f"{often}, the last: {failure.reason}")
                    return
                self._become(PluginState.RESTARTING)
                await self._limits.clock.sleep(self._failures.wait_seconds)
                # Nobody may need it any more: it is connected to again at its next use.
                self._become(PluginState.STARTING)
        except asyncio.CancelledError:
            if self._stopped_for is None:
                raise
        except Exception:
            # Without this the next call would begin it again, and again.
            log.exception("the mcp server %s could not be supervised", self.entry.name)
            self._disable("an error of the daemon, which its log has")
        finally:
            if self._state not in (PluginState.DISABLED, PluginState.STOPPED):
                self._become(PluginState.STOPPED)

    async def _one_run(self) -> ServerEnded | ServerRefused:
        """Connect, watch, and return why it is over. Nothing is left of it then."""
        self.log.began()
        try:
            async with AsyncExitStack() as stack:
                if self.entry.url is not None:
                    return await self._over_http(self.entry.url)
                place = await place_of(
                    self._dependencies.children,
                    self._dependencies.cages,
                    self.entry,
                    project_id=self.project_id,
                    root=self.root,
                    environment=self._dependencies.environment,
                )
                stack.push_async_callback(place.end)
                return await self._over_pipes(place)
        except ServerEnded as failure:
            return failure
        except ToolError as problem:
            return ServerRefused(problem.message, problem)
        except ExceptionGroup as problem:
            from app.bridges.mcp.connection import in_words

            log.warning("the connection to the mcp server %s failed", self.entry.name, exc_info=problem)
            return ServerEnded(in_words(problem))

    async def _over_http(self, url: str) -> ServerEnded:
        from app.bridges.mcp.http_transport import HttpTransport

        signing = self._dependencies.credentials
        auth = signing(self.entry.name, url) if signing is not None else None
        transport = HttpTransport(url, self.entry.headers, self._limits.messages, auth)
        return await self._serve(transport, None, asyncio.Event())

    async def _over_pipes(self, place: ServerPlace) -> ServerEnded:
        from app.bridges.mcp.pipe_transport import PipeTransport

        async with self._process(place) as child:
            transport = PipeTransport(child, self._limits.messages, self.log)
            try:
                failure = await self._serve(transport, self.root, transport.ended)
            except ServerEnded as problem:
                failure = problem
            return await self._account(child, transport, failure)

    @asynccontextmanager
    async def _process(self, place: ServerPlace) -> AsyncIterator[Child]:
        """Lend the started process, ended as the protocol has it: stdin is closed, then it is killed."""
        program = place.command[0]
        try:
            child = await place.children.start(
                place.command,
                owner=f"mcp server {self.entry.name}",
                cwd=self.root,
                env=place.environment,
                stdin="pipe",
            )
        except SpawnFailed as failure:
            raise ServerEnded(f"`{program}` cannot be started: {failure.reason}") from None
        draining = asyncio.create_task(self.log.drain(child.stderr), name=f"stderr of {self.entry.name}")
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
            self._connection = connection
            try:
                self._failures.started()
                self._become(PluginState.READY)
                self._record("started", {"protocol": connection.client.protocol_version})
                return await self._watch(connection, ended)
            except asyncio.CancelledError:
                if self._stopped_for is not None:  # else the transport has failed
                    self._record("stopped", {"reason": self._stopped_for})
                raise
            finally:
                connection.broken.set()
                self._connection = None

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
                memory = await asyncio.to_thread(proc.memory_of_tree, self._child.pid)
                if memory > self._limits.memory_bytes:
                    allowed = self._limits.memory_bytes // MEGABYTE
                    return ServerEnded(f"it used {memory // MEGABYTE} MB of memory, {allowed} MB are allowed")
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

    def _disable(self, reason: str) -> None:
        self.reason = reason
        self._become(PluginState.DISABLED)
        self._record("disabled", {"reason": reason})

    def _record(self, event: str, data: dict[str, Any]) -> None:
        fields = {"mcp_server": self.entry.name, **data}
        self._dependencies.record(f"mcp.{event}", self.project_id, fields)

    def _become(self, state: PluginState) -> None:
        self._state = move(self._state, state)
        self._ring()

    def _ring(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
