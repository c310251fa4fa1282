"""The plugins of the daemon.

Owns: which process serves which declaration, calls with their deadlines, the audit of hooks. Never: when a
hook fires, and the use of its result.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from app.bridges.plugins.calls import CallContext, HookOutcome, OutcomeKind, PluginDeclaration, PluginStatus
from app.bridges.plugins.connection import BadAnswer, Setting
from app.bridges.plugins.limits import PluginLimits
from app.bridges.plugins.manifest import HOOK_PREFIX, PluginManifest, Role
from app.bridges.plugins.package import Package, Packages
from app.bridges.plugins.plugin_cage import PluginCages
from app.bridges.plugins.problems import PluginEnded, PluginProblem
from app.bridges.plugins.requests import PluginStorage
from app.bridges.plugins.supervision import Dependencies, SupervisedPlugin
from app.bridges.processes import proc
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.supervised_child import Unavailable
from app.bridges.rpc.peer import ResponseError
from app.errors import ToolError, invalid_params
from app.json_schema import violations

MAX_ERROR = 1_000
SHOWN_LINES = 20
_Key = tuple[str, str | None, str, str]
_Outcome = tuple[OutcomeKind, Any, str | None]


def installed_plugins(data_dir: Path, search_paths: Sequence[Path]) -> list[tuple[Path, str | PluginProblem]]:
    """Return the folders of installed plugins, each with its version or what is wrong with it. Blocks."""
    return [
        (folder, found if isinstance(found, PluginProblem) else found.manifest.version)
        for folder, found in Packages(data_dir, search_paths).installed()
    ]


class Manifests:
    """The manifests of plugins on disk. Blocks. `search_paths` are further folders with installed plugins;
    `system_config` is the operator's configuration by plugin name."""

    def __init__(
        self,
        data_dir: Path,
        search_paths: Sequence[Path],
        system_config: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._packages = Packages(data_dir, search_paths)
        self.system_config = system_config or {}

    def inspect(self, declaration: PluginDeclaration) -> PluginManifest:
        """Return the manifest, the declaration's config checked against it. Raises PluginProblem."""
        return self.read(declaration).manifest

    def read(self, declaration: PluginDeclaration) -> Package:
        """Return the package that is declared; as `inspect`."""
        package = self._packages.read(declaration.name, declaration.package, declaration.project_root)
        self._check_config(package.manifest, declaration)
        return package

    def _check_config(self, manifest: PluginManifest, declaration: PluginDeclaration) -> None:
        system = self.system_config.get(declaration.name, {})
        problems: list[str] = []
        if manifest.config_schema is not None:
            problems += [
                f"config.{one}" for one in violations(manifest.config_schema, dict(declaration.config))
            ]
        elif declaration.config:
            problems.append("config: the plugin takes none; take it out")
        if manifest.system_config_schema is not None:
            place = f"plugins.config.{declaration.name}"
            found = violations(manifest.system_config_schema, dict(system), is_secret=True)
            problems += [f"{place}.{one}" for one in found]
        if problems:
            raise PluginProblem(
                "plugin_config_invalid",
                f"the config of the plugin {declaration.name} is not what its schema says: "
                + "; ".join(problems),
                tuple(problems),
            )


class Plugins:
    """All plugins of this daemon. One instance, closed before the children are.

    `record` keeps an audit event and must not raise. With `cages` each plugin runs in one.
    """

    def __init__(
        self,
        children: ChildStarter,
        *,
        environment: Mapping[str, str],
        manifests: Manifests,
        storage: PluginStorage,
        record: Record,
        daemon_version: str,
        limits: PluginLimits | None = None,
        cages: PluginCages | None = None,
    ) -> None:
        self._dependencies = Dependencies(children, cages, storage, record, limits or PluginLimits())
        self._environment = environment
        self._manifests = manifests
        self._daemon_version = daemon_version
        self._plugins: dict[_Key, SupervisedPlugin] = {}
        self._users: dict[_Key, set[str]] = {}
        self._leaving: set[SupervisedPlugin] = set()
        self._unloads: Counter[str] = Counter()
        self._closed = False

    async def manifest(self, declaration: PluginDeclaration) -> PluginManifest:
        """Return the manifest as it is on disk now, the declaration's config checked against it. Raises
        PluginProblem."""
        return (await self._package(declaration)).manifest

    async def hook(
        self,
        declaration: PluginDeclaration,
        hook: str,
        params: Mapping[str, Any],
        context: CallContext,
        *,
        role: Role = "observer",
    ) -> HookOutcome:
        """Call a hook, the plugin started when it has not been, within its `hook_timeout_sec`. Whatever the
        plugin does is an outcome; only cancellation is raised."""
        began = time.monotonic()
        kind, result, error = await self._hook(declaration, hook, params, context, role)
        outcome = HookOutcome(declaration.name, role, (time.monotonic() - began) * 1000, kind, result, error)
        self._record_hook(declaration, hook, context, outcome)
        return outcome

    async def call_tool(
        self,
        declaration: PluginDeclaration,
        tool: str,
        params: Mapping[str, Any],
        context: CallContext,
        *,
        seconds: float,
    ) -> Any:
        """Call a tool by its name without the plugin's, and return its result: any JSON. Raises ToolError
        `invalid_params`, `plugin_unavailable`, `plugin_tool_failed` and `plugin_timeout`."""
        detail = {"plugin": declaration.name, "tool": tool}
        try:
            unloads = self._unloads[declaration.project_id]
            async with asyncio.timeout(seconds):
                package = await self._package(declaration)
                await _check_params(package.manifest, tool, params)
                method = f"{package.manifest.name}.{tool}"
                async with self._plugin(declaration, package, unloads).in_use() as connection:
                    return await connection.call(method, {**params, "_context": context.wire()})
        except TimeoutError:
            message = f"the plugin {declaration.name} did not answer within {seconds:g} s"
            raise ToolError("plugin_timeout", f"{message}; go on without it", detail=detail) from None
        except (PluginProblem, Unavailable, PluginEnded) as problem:
            if isinstance(problem, Unavailable) and (known := problem.error) is not None:
                raise ToolError(known.code, known.message, detail=known.detail) from None
            reason = problem.message if isinstance(problem, PluginProblem) else problem.reason
            message = f"the plugin {declaration.name} cannot be used: {reason}"[:MAX_ERROR]
            raise ToolError("plugin_unavailable", f"{message}; go on without it", detail=detail) from None
        except ResponseError as refusal:
            raise ToolError("plugin_tool_failed", refusal.message[:MAX_ERROR], detail=detail) from None
        except BadAnswer as bad:
            message = f"the plugin {declaration.name} gave no usable answer: {bad.reason}"
            raise ToolError("plugin_tool_failed", message[:MAX_ERROR], detail=detail) from None

    async def inspect(self, declaration: PluginDeclaration) -> tuple[PluginManifest, PluginStatus | None]:
        """Return the manifest as `manifest` does, and how the plugin fares when it has been used: as it is
        declared now, else as it was before."""
        package = await self._package(declaration)
        exact = _key_of(declaration, package)
        found = [key for key in self._plugins if key[:3] == exact[:3]]
        if not found:
            return package.manifest, None
        plugin = self._plugins[exact if exact in found else found[-1]]
        return package.manifest, (await self._statuses([plugin]))[0]

    async def status(self, project_id: str | None = None) -> list[PluginStatus]:
        """Return how the plugins fare that have been used, of one project or of all: by project, by plugin,
        and by agent, those that agents share first; of those that are alike the one that was used first."""
        chosen = [one for one in self._plugins.values() if project_id in (None, one.setting.project_id)]
        chosen.sort(key=lambda one: (one.setting.project_id, one.name, one.agent_path or ""))
        return await self._statuses(chosen)

    async def _statuses(self, chosen: list[SupervisedPlugin]) -> list[PluginStatus]:
        pids = [one.pid for one in chosen]
        memory = await asyncio.to_thread(
            lambda: [0 if pid is None else proc.memory_of_tree(pid) for pid in pids]
        )
        return [_status(one, pid, size) for one, pid, size in zip(chosen, pids, memory, strict=True)]

    async def enable(self, project_id: str, name: str, agent_path: str | None = None) -> int:
        """Have plugins of that name that are disabled started again at their next use: that of one agent,
        or all. Return how many were disabled."""
        chosen = [
            one
            for one in self._plugins.values()
            if one.setting.project_id == project_id
            and one.name == name
            and agent_path in (None, one.agent_path)
        ]
        return sum(one.enable() for one in chosen)

    def keep_only(self, project_id: str, declared: Collection[tuple[str, str]]) -> None:
        """Begin to end what a project has running for agents and plugins (agent path, name) other than
        these; for when the project file has changed."""
        for key in [one for one in self._plugins if one[0] == project_id]:
            users = self._users[key]
            users -= {user for user in users if (user, key[2]) not in declared}
            if not users:
                self._part_from(key, "no_longer_declared")

    async def end_project(self, project_id: str) -> None:
        """End the plugins of a project, also for calls that have begun."""
        self._unloads[project_id] += 1
        keys = [key for key in self._plugins if key[0] == project_id]
        leaving = [self._part_from(key, "project_unload") for key in keys]
        await asyncio.gather(*(one.stopped() for one in leaving))

    async def aclose(self) -> None:
        self._closed = True
        for key in list(self._plugins):
            self._part_from(key, "daemon_shutdown")
        await asyncio.gather(*(one.stopped() for one in self._leaving))
        self._leaving.clear()

    async def _hook(
        self,
        declaration: PluginDeclaration,
        hook: str,
        params: Mapping[str, Any],
        context: CallContext,
        role: Role,
    ) -> _Outcome:
        unloads = self._unloads[declaration.project_id]
        try:
            package = await self._package(declaration)
        except PluginProblem as problem:
            return "unavailable", None, problem.message[:MAX_ERROR]
        manifest = package.manifest
        if hook not in manifest.hooks or role not in manifest.roles:
            return "error", None, f"its manifest has no hook {hook} as {role}"
        try:
            async with asyncio.timeout(manifest.hook_timeout_sec):
                arguments = {**params, "role": role, "_context": context.wire()}
                async with self._plugin(declaration, package, unloads).in_use() as connection:
                    result = await connection.call(HOOK_PREFIX + hook, arguments)
        except TimeoutError:
            return "timeout", None, f"no answer within {manifest.hook_timeout_sec:g} s"
        except Unavailable as problem:
            return "unavailable", None, problem.reason[:MAX_ERROR]
        except (PluginEnded, BadAnswer) as problem:
            return "error", None, problem.reason[:MAX_ERROR]
        except ResponseError as refusal:
            return "error", None, f"it answered an error: {refusal.message}"[:MAX_ERROR]
        if result is None:
            return "null", None, None
        if not isinstance(result, dict):
            return "error", None, "it answered neither an object nor null"
        return "result", result, None

    async def _package(self, declaration: PluginDeclaration) -> Package:
        return await asyncio.to_thread(self._manifests.read, declaration)

    def _plugin(self, declaration: PluginDeclaration, package: Package, unloads: int) -> SupervisedPlugin:
        """Return the plugin that serves a declaration, for a call that began after `unloads` of the project.
        Plugins of the agent's earlier declarations are ended when neither another agent nor an older session
        uses them."""
        if self._closed:
            raise Unavailable("the daemon is stopping")
        if unloads != self._unloads[declaration.project_id]:
            raise Unavailable("its project was unloaded")
        key = _key_of(declaration, package)
        self._leaving = {one for one in self._leaving if not one.is_over}
        for other in [one for one in self._plugins if one != key and one[0] == key[0] and one[2] == key[2]]:
            if not self._is_superseded(other, package):
                continue
            self._users[other].discard(declaration.agent_path)
            if not self._users[other]:
                self._part_from(other, "redeclared")
        plugin = self._plugins.get(key)
        if plugin is None:
            if len(self._plugins) >= self._dependencies.limits.processes:
                raise Unavailable(f"{len(self._plugins)} plugins run already")
            setting = Setting(
                package=package,
                project_id=declaration.project_id,
                project_root=declaration.project_root,
                config=declaration.config,
                system_config=self._manifests.system_config.get(declaration.name, {}),
                environment=self._environment,
                daemon_version=self._daemon_version,
            )
            plugin = self._plugins[key] = SupervisedPlugin(setting, key[1], self._dependencies)
        self._users.setdefault(key, set()).add(declaration.agent_path)
        return plugin

    def _is_superseded(self, key: _Key, package: Package) -> bool:
        """Tell whether a process is of no more use now that another declaration of its plugin is used: its
        manifest is not there any more, or no session with its config has called it of late."""
        other = self._plugins[key]
        known = other.setting.package
        edited = known.folder == package.folder and known.content != package.content
        return edited or other.unused_for(self._dependencies.limits.unused_seconds)

    def _part_from(self, key: _Key, reason: str) -> SupervisedPlugin:
        plugin = self._plugins.pop(key)
        self._users.pop(key, None)
        plugin.begin_stop(reason)
        self._leaving.add(plugin)
        return plugin

    def _record_hook(
        self, declaration: PluginDeclaration, hook: str, context: CallContext, outcome: HookOutcome
    ) -> None:
        what = {"result": "fired", "null": "fired", "timeout": "timeout"}.get(outcome.kind, "failed")
        data: dict[str, Any] = {
            "plugin": declaration.name,
            "hook": hook,
            "role": outcome.role,
            "agent_path": context.agent_path,
            "session_id": context.session_id,
            "request_id": context.request_id,
            "dry_run": context.dry_run,
            "duration_ms": round(outcome.duration_ms, 1),
            "result": outcome.kind,
        }
        if outcome.error is not None:
            data["error"] = outcome.error
        self._dependencies.record(f"plugin.hook.{what}", declaration.project_id, data)


async def _check_params(manifest: PluginManifest, name: str, params: Mapping[str, Any]) -> None:
    tool = manifest.tool(name)
    if tool is None:
        raise PluginProblem("plugin_manifest_invalid", f"its manifest has no tool {name[:100]!r}")
    found = await asyncio.to_thread(violations, tool.parameters_schema, dict(params))
    if found:
        message = "the parameters are not what the tool takes: " + "; ".join(found)
        raise invalid_params(message, {}, plugin=manifest.name, tool=name, problems=found)


def _key_of(declaration: PluginDeclaration, package: Package) -> _Key:
    """Return the identity of a declared plugin, with a digest of its folder, manifest and config."""
    parts = [str(package.folder), declaration.config]
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=str)
    digest = hashlib.sha256(text + b"\0" + package.content).hexdigest()
    agent = declaration.agent_path if declaration.isolation == "agent" else None
    return declaration.project_id, agent, declaration.name, digest


def _status(plugin: SupervisedPlugin, pid: int | None, memory: int) -> PluginStatus:
    return PluginStatus(
        project_id=plugin.setting.project_id,
        agent_path=plugin.agent_path,
        name=plugin.name,
        version=plugin.setting.manifest.version,
        package=str(plugin.setting.package.folder),
        state=plugin.state,
        reason=plugin.reason,
        failures=plugin.failures,
        pid=pid,
        memory_bytes=memory,
        log=plugin.journal.last(SHOWN_LINES),
    )
