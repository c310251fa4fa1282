"""Runs a plugin's process at its first use and again after failures, until it is stopped or disabled.

Owns: one run of the process, its health, when it was used last. Never: restarts, and what the state means
(`supervised_child`); calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.bridges.plugins.connection import BadAnswer, Connection, Setting
from app.bridges.plugins.journal import Journal
from app.bridges.plugins.limits import PluginLimits
from app.bridges.plugins.plugin_cage import PluginCages, place_of
from app.bridges.plugins.problems import PluginEnded
from app.bridges.plugins.requests import PluginRequests, PluginStorage
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.place import Place
from app.bridges.processes.supervised_child import Refused, SupervisedChild
from app.bridges.rpc.peer import ResponseError
from app.errors import ToolError


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of all plugins of a daemon."""

    children: ChildStarter
    cages: PluginCages | None
    storage: PluginStorage
    record: Record
    limits: PluginLimits


class SupervisedPlugin(SupervisedChild[Connection]):
    """One plugin of one agent, or of a project's agents together (`agent_path` None)."""

    noun = "plugin"
    audited_as = "plugin"

    def __init__(self, setting: Setting, agent_path: str | None, dependencies: Dependencies) -> None:
        name, limits = setting.manifest.name, dependencies.limits
        about = {"plugin": name, "agent_path": agent_path}
        super().__init__(name, setting.project_id, about, dependencies.record, limits)
        self.setting = setting
        self.agent_path = agent_path
        self.journal = Journal(name, setting.project_id, limits)
        self._dependencies = dependencies
        self._limits = limits
        self._calls = 0
        self._used_at = limits.clock.now()

    @property
    def pid(self) -> int | None:
        return self._connection.child.pid if self._connection is not None else None

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

    async def _run(self) -> PluginEnded | Refused:
        dependencies, setting = self._dependencies, self.setting
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
                return await self._run_at(place)
            finally:
                await place.end()
        except (PluginEnded, Refused) as failure:
            return failure
        except ToolError as problem:
            return Refused(problem.message, problem)

    async def _run_at(self, place: Place) -> PluginEnded:
        """Start the plugin and watch it; when this is cancelled it is ended in good order."""
        manifest, limits = self.setting.manifest, self._limits
        requests = PluginRequests(manifest, self.project_id, self._dependencies.storage, self.journal, limits)
        connection = await Connection.open(place, self.setting, requests, self.journal, limits)
        try:
            with self._lending(connection, version=manifest.version):
                return await self._watch(connection)
        except asyncio.CancelledError:
            await connection.shut_down(limits.shutdown_seconds or manifest.shutdown_timeout_sec)
            raise
        finally:
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
            outgrown = await self._outgrown(connection.child.pid)
            if outgrown is not None:
                return PluginEnded(outgrown)
            if await connection.ended_within(max(0.0, asked + interval - time.monotonic())):
                return await connection.wait_until_ended()

    async def _answers(self, connection: Connection, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await connection.call("ping", {})
        except (TimeoutError, ResponseError, BadAnswer, PluginEnded):
            return False
        return True
