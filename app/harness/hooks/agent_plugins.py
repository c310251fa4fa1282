"""The plugins that an agent declares, as the harness calls them.

Owns: from an agent's entries in the project file to declarations, in the order of the file, the ones of
them that take part in a hook, and one call of a hook. Never: when a hook fires, or what its result means.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.bridges.plugins.calls import CallContext, HookOutcome, PluginDeclaration
from app.bridges.plugins.manager import Plugins
from app.bridges.plugins.manifest import PluginManifest
from app.bridges.plugins.problems import PluginProblem
from app.bridges.processes.audit import Record
from app.harness.dsl.compiled import CompiledAgent
from app.harness.run.scope import Scope
from app.ids import ROOT_AGENT, new_id

log = logging.getLogger("kaged.plugins")

HookName = Literal["on_session_start", "on_session_idle", "pre_compact", "post_compact"]
SESSION_HOOKS: tuple[HookName, ...] = ("on_session_start", "on_session_idle")
"""Only the root agent's plugins have them: subagents have no sessions."""
MAX_REPORTED = 1_000


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf plugins are called: an agent of a project in a session, and the operator. Plugins and
    MCP servers belong to the project, so that `project_root` is its own folder for every session."""

    operator_id: str
    project_id: str
    project_root: Path
    agent: CompiledAgent
    session_id: str | None

    @classmethod
    def of(cls, scope: Scope) -> Caller:
        """Return the agent of a run as the caller."""
        return cls(scope.actor, scope.project_id, scope.root.project, scope.agent, scope.session_id)

    @property
    def is_root(self) -> bool:
        return self.agent.path == ROOT_AGENT

    def context(self, *, dry_run: bool = False) -> CallContext:
        """Return the context of one call; each has a request id of its own."""
        return CallContext(
            operator_id=self.operator_id,
            project_id=self.project_id,
            project_root=self.project_root,
            agent_path=self.agent.path,
            session_id=self.session_id,
            request_id=new_id("req"),
            dry_run=dry_run,
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """A plugin that can be read: what the project says of it and what it says of itself."""

    declaration: PluginDeclaration
    manifest: PluginManifest

    @property
    def name(self) -> str:
        return self.declaration.name


class AgentPlugins:
    """The plugins of all agents. One instance; `record` keeps an audit event and must not raise."""

    def __init__(self, plugins: Plugins, record: Record) -> None:
        self.plugins = plugins
        self._record = record
        self._reported: set[tuple[str, str, str]] = set()

    async def of(self, caller: Caller) -> list[Declared]:
        """Return the agent's plugins in the order of the project file. One that cannot be read is noted in
        the log and left out."""
        found = []
        for declaration in declarations(caller.project_id, caller.project_root, caller.agent):
            try:
                manifest = await self.plugins.manifest(declaration)
            except PluginProblem as problem:
                self._report(declaration, problem)
                continue
            found.append(Declared(declaration, manifest))
        return found

    async def with_hook(self, caller: Caller, hook: HookName, role: str = "observer") -> list[Declared]:
        """Return those of the agent's plugins that have a hook in a role, in the order of the file."""
        if hook in SESSION_HOOKS and not caller.is_root:
            return []
        return [
            one for one in await self.of(caller) if hook in one.manifest.hooks and role in one.manifest.roles
        ]

    async def fire(
        self,
        declared: Declared,
        hook: HookName,
        params: Mapping[str, Any],
        context: CallContext,
        *,
        role: Literal["observer", "compactor"] = "observer",
    ) -> HookOutcome:
        """Call a hook of one plugin within its time-out; raises nothing but a cancellation."""
        return await self.plugins.hook(declared.declaration, hook, params, context, role=role)

    def _report(self, declaration: PluginDeclaration, problem: PluginProblem) -> None:
        """Say once in the log why a plugin is left out."""
        failure = (declaration.project_id, declaration.name, problem.message)
        if failure not in self._reported:
            if len(self._reported) >= MAX_REPORTED:
                self._reported.clear()
            self._reported.add(failure)
            log.warning("plugin %s of %s: %s", declaration.name, declaration.agent_path, problem.message)

    def malformed(self, declared: Declared, hook: HookName, context: CallContext, why: str) -> None:
        """Put into the audit trail that a result is not what its hook may give."""
        log.warning("plugin %s: the result of %s is not usable: %s", declared.name, hook, why)
        data = {
            "plugin": declared.name,
            "hook": hook,
            "agent_path": context.agent_path,
            "session_id": context.session_id,
            "request_id": context.request_id,
            "dry_run": context.dry_run,
            "result": "malformed",
            "error": why,
        }
        self._record("plugin.hook.failed", context.project_id, data)


def declarations(project_id: str, root: Path, agent: CompiledAgent) -> list[PluginDeclaration]:
    """Return what an agent declares, in the order of the project file."""
    return [
        PluginDeclaration(
            project_id=project_id,
            project_root=root,
            agent_path=agent.declared_path,
            name=name,
            package=spec.package,
            isolation=spec.isolation,
            config=spec.config,
        )
        for name, spec in agent.plugins.items()
    ]
