"""Starts a plugin at its first use and restarts it after failures, until it is stopped or disabled.

Owns: the present run, the state, the task that supervises it, its audit. Never: calls of the plugin.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.bridges.plugins.connection import BadAnswer, Connection, Setting
from app.bridges.plugins.journal import Journal
from app.bridges.plugins.limits import MEGABYTE, PluginLimits
from app.bridges.plugins.plugin_cage import PluginCages, PluginPlace, place_of
from app.bridges.plugins.problems import PluginEnded, PluginRefused, PluginUnavailable
from app.bridges.plugins.requests import PluginRequests, PluginStorage
from app.bridges.processes import proc
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.supervisor import FailureWindow
from app.bridges.rpc.peer import ResponseError
from app.errors import ToolError
from app.states import PluginState, move

log = logging.getLogger("kaged.plugins")

Record = Callable[[str, str, dict[str, Any]], None]
"""Takes an audit event's name, the project's id and the data."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of all plugins of a daemon."""

    children: ChildStarter
    cages: PluginCages | None
    storage: PluginStorage
    record: Record
    limits: PluginLimits


class SupervisedPlugin:
    """One plugin of one agent, or of a project's agents together (`agent_path` None)."""

    def __init__(self, setting: Setting, agent_path: str | None, dependencies: Dependencies) -> None:
        self.setting = setting
        self.agent_path = agent_path
        self.journal = Journal(setting.manifest.name, setting.project_id, dependencies.limits)
        self.reason: str | None = None
        """Why it does not run, or has last failed."""
        self._error: ToolError | None = None
        self._dependencies = dependencies
        self._limits = dependencies.limits
        clock = dependencies.limits.clock
        self._failures = FailureWindow(dependencies.limits.restarts, now=clock.now)
        self._state = PluginState.STOPPED
        self._changed = asyncio.Event()
        self._calls = 0
        self._used_at = clock.now()
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped_for: str | None = None

    @property
    def name(self) -> str:
        return self.setting.manifest.name

    @property
    def state(self) -> PluginState:
        return self._state

    @property
    def failures(self) -> int:
        """How often it has failed since it is known."""
        return self._failures.total

    @property
    def pid(self) -> int | None:
        return self._connection.child.pid if self._connection is not None else None

    @property
    def is_over(self) -> bool:
        """Whether it was stopped and nothing is left of it."""
        return self._stopped_for is not None and (self._task is None or self._task.done())

    def unused_for(self, seconds: float) -> bool:
        """Tell whether it was not called for so long, and no call is open."""
        return not self._calls and self._limits.clock.now() - self._used_at >= seconds

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[Connection]:
        """Lend the present run for a call; as `connected`."""
        self._calls += 1
        try:
            yield await self.connected()
        finally:
            self._calls -= 1
            self._used_at = self._limits.clock.now()

    async def connected(self) -> Connection:
        """Return the present run, started if it has not been. Waits for a start under way, with no
        deadline of its own. Raises PluginUnavailable."""
        while True:
            if self._stopped_for is not None:
                raise PluginUnavailable(f"it was stopped ({self._stopped_for})")
            match self._state:
                case PluginState.READY if self._connection is not None and not self._connection.ended:
                    return self._connection
                case PluginState.DISABLED:
                    reason = f"it is disabled: {self.reason}; enable it to try again"
                    raise PluginUnavailable(reason, self._error)
                case PluginState.RESTARTING:
                    raise PluginUnavailable(f"it has failed and is started again soon: {self.reason}")
                case PluginState.STOPPED:
                    self._begin()
            await self._changed.wait()

    def enable(self) -> bool:
        """Have a disabled plugin started again at its next use, its failures forgiven. Tell whether it
        was disabled."""
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

    def _begin(self) -> None:
        self._become(PluginState.STARTING)
        self._task = asyncio.create_task(self._supervise(), name=f"supervise plugin {self.name}")

    async def _supervise(self) -> None:
        """Run the plugin over and over, until it is stopped or disabled."""
        try:
            while True:
                failure = await self._one_run()
                if isinstance(failure, PluginRefused):
                    self._error = failure.error
                    self._disable(f"it was refused: {failure.reason}")
                    return
                self._failures.failed()
                self.reason = failure.reason
                self._record(
                    "failed",
                    {"reason": failure.reason, "exit_code": failure.exit_code, "failures": self.failures},
                )
                if self._failures.exhausted:
                    limits = self._limits.restarts
                    often = f"{limits.failures} failures in {limits.window_seconds / 60:g} minutes"
                    self._disable(f"{often}, the last: {failure.reason}")
                    return
                self._become(PluginState.RESTARTING)
                await self._limits.clock.sleep(self._failures.wait_seconds)
                self._become(PluginState.STARTING)
        except asyncio.CancelledError:
            if self._stopped_for is None:
                raise
        except Exception:
            # Without this the next call would begin it again, and again.
            log.exception("the plugin %s could not be supervised", self.name)
            self._disable("an error of the daemon, which its log has")
        finally:
            if self._state not in (PluginState.DISABLED, PluginState.STOPPED):
                self._become(PluginState.STOPPED)

    async def _one_run(self) -> PluginEnded | PluginRefused:
        """Start the plugin, watch it, and return why it is over. Nothing is left of it then. When this is
        cancelled it is ended in good order."""
        dependencies, setting = self._dependencies, self.setting
        requests = PluginRequests(
            setting.manifest, setting.project_id, dependencies.storage, self.journal, dependencies.limits
        )
        try:
            place = await place_of(
                dependencies.children,
                dependencies.cages,
                manifest=setting.manifest,
                folder=setting.package.folder,
                project_id=setting.project_id,
                project_root=setting.project_root,
                environment=setting.variables(),
            )
            try:
                return await self._run_at(place, requests)
            finally:
                await place.end()
        except PluginRefused as failure:
            return failure
        except ToolError as problem:
            return PluginRefused(problem.message, problem)

    async def _run_at(self, place: PluginPlace, requests: PluginRequests) -> PluginEnded | PluginRefused:
        dependencies, setting = self._dependencies, self.setting
        try:
            connection = await Connection.open(place, setting, requests, self.journal, dependencies.limits)
        except (PluginEnded, PluginRefused) as failure:
            return failure
        self._connection = connection
        try:
            self._failures.started()
            self._become(PluginState.READY)
            self._record("started", {"version": setting.manifest.version})
            return await self._watch(connection)
        except asyncio.CancelledError:
            self._connection = None
            await connection.shut_down(self._limits.shutdown_seconds or setting.manifest.shutdown_timeout_sec)
            self._record("stopped", {"reason": self._stopped_for})
            raise
        finally:
            self._connection = None
            self._ring()
            await connection.aclose()

    async def _watch(self, connection: Connection) -> PluginEnded:
        """Return when the plugin has ended, hangs, or has grown too large; then it may still be there."""
        interval = self._limits.health_seconds or self.setting.manifest.health_interval_sec
        missed = 0
        while True:
            asked = time.monotonic()
            missed = 0 if await self._answers(connection, interval) else missed + 1
            if connection.ended:
                return await connection.wait_until_ended()
            if missed >= self._limits.missed_pings:
                await connection.aclose(grace_seconds=self._limits.hanging_grace_seconds)
                return PluginEnded(f"it did not answer {missed} pings, {interval:g} s each")
            memory = await asyncio.to_thread(proc.memory_of_tree, connection.child.pid)
            if memory > self._limits.memory_bytes:
                allowed = self._limits.memory_bytes // MEGABYTE
                return PluginEnded(f"it used {memory // MEGABYTE} MB of memory, {allowed} MB are allowed")
            if await connection.ended_within(max(0.0, asked + interval - time.monotonic())):
                return await connection.wait_until_ended()

    async def _answers(self, connection: Connection, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await connection.call("ping", {})
        except (TimeoutError, ResponseError, BadAnswer, PluginEnded):
            return False
        return True

    def _disable(self, reason: str) -> None:
        self.reason = reason
        self._become(PluginState.DISABLED)
        self._record("disabled", {"reason": reason})

    def _record(self, event: str, data: dict[str, Any]) -> None:
        fields = {"plugin": self.name, "agent_path": self.agent_path, **data}
        self._dependencies.record(f"plugin.{event}", self.setting.project_id, fields)

    def _become(self, state: PluginState) -> None:
        self._state = move(self._state, state)
        self._ring()

    def _ring(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
