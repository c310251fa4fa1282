"""The composition root: builds every service in start order and stops them in reverse.

Owns: `Services`, the background tasks of the daemon (heartbeat, retention, config reload), and
the order of draining. Never: HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__
from app.access_tokens import AccessControl
from app.bridges.dap.manager import DebugAdapters
from app.bridges.plugins.manager import Plugins
from app.bridges.pty.manager import TerminalManager
from app.bridges.sandbox.manager import Tier
from app.config import (
    LimitSettings,
    Settings,
    child_environment,
    default_config_file,
    settings_not_in_effect,
)
from app.harness.bridge_audit import BridgeAudit
from app.harness.bridge_cages import plugin_cages
from app.harness.capacity import Capacity
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.checkpoints.worktrees import Worktrees
from app.harness.code_services import open_code_services
from app.harness.debug_adapters import debug_adapters
from app.harness.event_hub import EventHub
from app.harness.hooks.plugin_catalog import ManifestCatalog
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.housekeeping import heartbeat_forever, reload_config_forever, trim_forever
from app.harness.limits import Limits
from app.harness.log_store import stored_log
from app.harness.permissions import PermissionRules
from app.harness.pipeline.audit import AuditProcessor
from app.harness.pipeline.observe import ObservabilityProcessor
from app.harness.pipeline.policy import PolicyProcessor
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.plugin_storage import StoredPluginValues
from app.harness.process_services import open_processes
from app.harness.project_management import ProjectManagement
from app.harness.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.readings import show_children, show_sessions, show_storage, watch_loop_forever
from app.harness.session_manager import SessionManager
from app.harness.trace_destinations import open_traces
from app.harness.uploads.retention import trim_uploads_forever
from app.observability import Metrics, Redactor, Telemetry
from app.storage.storage import Storage
from app.tools.authorisation.guard import built_in
from app.tools.call_processes import CallProcesses
from app.tools.catalog import build_registry
from app.tools.edit_feedback import EditFeedback
from app.tools.read_tracker import ReadTracker
from app.tools.registry import ToolRegistry
from app.tools.service import ToolService

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

log = logging.getLogger("kaged.daemon")


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that routes and the command line are given."""

    settings: Settings
    storage: Storage
    projects: ProjectRegistry
    registry: ToolRegistry
    tools: ToolService
    providers: ProviderRouter
    permissions: PermissionRules
    sessions: SessionManager
    events: EventHub
    access: AccessControl
    terminals: TerminalManager
    plugins: Plugins
    hooks: PluginHooks
    metrics: Metrics
    management: ProjectManagement
    redactor: Redactor
    tier: Tier


@dataclass(frozen=True, slots=True)
class Lasting:
    """What tools keep beyond a call: what has been read, commands, late findings, debug sessions; and the
    plugins."""

    reads: ReadTracker
    terminals: TerminalManager
    feedback: EditFeedback
    debuggers: DebugAdapters
    hooks: PluginHooks
    notes: WorktreeNotes
    processes: CallProcesses

    async def run_over(self, session_id: str, agent_path: str, run_id: str, *, last: bool = True) -> None:
        """End what is kept for one run of an agent only, and with its `last` one what is the agent's."""
        try:
            if last:
                await self.debuggers.end_run(session_id, agent_path)
        finally:
            await self.processes.end_run(session_id, run_id)

    async def session_over(self, session_id: str) -> None:
        """End and forget everything that is kept for a session."""
        self.reads.forget(session_id)
        self.feedback.forget(session_id)
        await self.debuggers.end_session(session_id)
        await self.terminals.end_session(session_id)
        await self.processes.end_session(session_id)


@asynccontextmanager
async def open_services(settings: Settings, redactor: Redactor) -> AsyncIterator[Services]:
    """Start everything; on leaving drain the sessions while the stores are still open."""
    async with open_traces(settings, redactor) as traces, _open_storage(settings, redactor) as storage:
        telemetry = Telemetry(traces)
        async with (
            stored_log(storage, redactor, telemetry.metrics, level=settings.log.level),
            _open_services(settings, redactor, storage, telemetry) as services,
        ):
            show_storage(telemetry.metrics, storage)
            show_sessions(telemetry.metrics, services.sessions, services.events)
            yield services


@asynccontextmanager
async def _open_storage(settings: Settings, redactor: Redactor) -> AsyncIterator[Storage]:
    url = settings.storage.url.get_secret_value() if settings.storage.url is not None else None
    storage = await Storage.open(url, settings.daemon.data_dir, redactor)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def _open_services(
    settings: Settings, redactor: Redactor, storage: Storage, telemetry: Telemetry
) -> AsyncIterator[Services]:
    for key, consequence in settings_not_in_effect(settings).items():
        log.warning("%s is set, but has no effect: %s", key, consequence)
    audit = BridgeAudit(storage, redactor, telemetry.metrics)
    async with (
        open_processes(settings, record=audit) as processes,
        open_code_services(settings, processes, audit) as code,
    ):
        environment = child_environment()
        hub = EventHub(storage)
        management = ProjectManagement.of(settings, storage, hub, redactor)
        reads = ReadTracker()
        terminals = TerminalManager(processes.own, per_session=settings.limits.ptys_per_session)
        debuggers, debugged = debug_adapters(
            processes.own, terminals, settings.dap, environment=environment, record=audit
        )
        registry = build_registry(
            reads=reads,
            processes=processes,
            terminals=terminals,
            environment=environment,
            kept=code.kept,
            languages=code.languages,
            debuggers=debuggers,
            issues=management.agent_issues,
            todos=management.todos,
            workflows=management.agent_workflows,
            data_dir=settings.daemon.data_dir,
            config_file=settings.config_file or default_config_file(),
        )
        router = ProviderRouter(settings.models, settings.providers, settings.prices)
        hooks = _plugins(processes, storage, settings, registry, audit)
        folder = settings.daemon.data_dir / "worktrees"
        notes = WorktreeNotes(storage, Worktrees(processes, environment, folder))
        lasting = Lasting(reads, terminals, code.feedback, debuggers, hooks, notes, processes)
        services = await _assemble(
            settings, redactor, storage, hub, registry, router, lasting, telemetry, management
        )
        show_children(telemetry.metrics, processes.own, terminals, code.languages, debuggers)
        code.declared.attach(services.projects)
        debugged.attach(services.projects)
        tasks = _background(services, redactor)
        try:
            await management.start(hub, services.projects, services.sessions)
            yield services
        finally:
            await _cancelled(tasks)
            await _end(services, lasting)


def _plugins(
    processes: CallProcesses,
    storage: Storage,
    settings: Settings,
    registry: ToolRegistry,
    audit: BridgeAudit,
) -> PluginHooks:
    plugins = Plugins(
        processes.own,
        environment=child_environment(),
        data_dir=settings.daemon.data_dir,
        search_paths=settings.plugins.paths,
        storage=StoredPluginValues(storage),
        record=audit,
        daemon_version=__version__,
        system_config=settings.plugins.config,
        cages=plugin_cages(processes.cages, settings),
    )
    return PluginHooks(plugins, audit, storage, registry)


async def _end(services: Services, lasting: Lasting) -> None:
    """Begin nothing more, drain the sessions, then end what they worked with."""
    await services.management.aclose()
    await services.sessions.drain(services.settings.daemon.shutdown_grace_seconds)
    await lasting.notes.aclose()
    await lasting.hooks.aclose()
    await lasting.debuggers.aclose()
    await lasting.terminals.aclose()
    services.events.close()
    await services.projects.close()
    await services.providers.aclose()


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _assemble(
    settings: Settings,
    redactor: Redactor,
    storage: Storage,
    hub: EventHub,
    registry: ToolRegistry,
    router: ProviderRouter,
    lasting: Lasting,
    telemetry: Telemetry,
    management: ProjectManagement,
) -> Services:
    tools = _tools(settings, registry, lasting, redactor)

    async def prompts_changed(project_id: str, agents: tuple[str, ...]) -> None:
        await sessions.prompts_changed(project_id, agents)

    projects = _projects(settings, storage, registry, router, lasting, prompts_changed)
    permissions = PermissionRules(storage, redactor)
    limits = settings.limits
    sessions = SessionManager(
        storage=storage,
        hub=hub,
        projects=projects,
        router=router,
        pipeline=_pipeline(router),
        tools=tools,
        capacity=Capacity(per_project=limits.sessions_per_project, per_operator=limits.sessions_per_operator),
        limits=_run_limits(limits),
        queue_limit=limits.queue_per_session,
        checkpoint_limit=limits.checkpoints_per_session,
        scratch_root=settings.daemon.data_dir / "scratch",
        session_over=lasting.session_over,
        run_over=lasting.run_over,
        redactor=redactor,
        permissions=permissions,
        hooks=lasting.hooks,
        notes=lasting.notes,
        proposals=management.proposals,
        telemetry=telemetry,
    )
    await projects.restore()
    return Services(
        settings=settings,
        storage=storage,
        projects=projects,
        registry=registry,
        tools=tools,
        providers=router,
        permissions=permissions,
        sessions=sessions,
        events=hub,
        access=await _access(settings, redactor, storage),
        terminals=lasting.terminals,
        plugins=lasting.hooks.plugins,
        hooks=lasting.hooks,
        metrics=telemetry.metrics,
        management=management,
        redactor=redactor,
        tier=lasting.processes.tier,
    )


def _tools(settings: Settings, registry: ToolRegistry, lasting: Lasting, redactor: Redactor) -> ToolService:
    return ToolService(
        registry,
        watchdogs=built_in(settings.daemon.data_dir, home=Path.home()),
        after_edit=lasting.feedback,
        redactor=redactor,
        settle=lasting.processes.settle,
    )


def _projects(
    settings: Settings,
    storage: Storage,
    registry: ToolRegistry,
    router: ProviderRouter,
    lasting: Lasting,
    prompts_changed: Callable[[str, tuple[str, ...]], Awaitable[None]],
) -> ProjectRegistry:
    return ProjectRegistry(
        storage,
        registry,
        known_models=lambda: [entry.alias for entry in router.list_models()],
        prompts_changed=prompts_changed,
        plugins=ManifestCatalog.of(settings),
        reloaded=lasting.hooks.reloaded,
    )


async def _access(settings: Settings, redactor: Redactor, storage: Storage) -> AccessControl:
    access = await AccessControl.open(storage, settings.auth, settings.daemon.data_dir)
    redactor.add((await asyncio.to_thread(access.token_file.read_text)).strip())
    return access


def _pipeline(router: ProviderRouter) -> ProcessorPipeline:
    return ProcessorPipeline(
        [AuditProcessor(), PolicyProcessor(router.catalog.context_window), ObservabilityProcessor()]
    )


def _run_limits(settings: LimitSettings) -> Limits:
    return Limits(
        max_steps=settings.max_steps,
        tokens=settings.tokens,
        cost_usd=settings.cost_usd,
        walltime_seconds=settings.walltime_seconds,
    )


def _background(services: Services, redactor: Redactor) -> list[asyncio.Task[None]]:
    settings = services.settings
    jobs: list[tuple[str, Coroutine[None, None, None]]] = [
        ("heartbeat", heartbeat_forever(services.events, settings.daemon.heartbeat_seconds)),
        ("loop watch", watch_loop_forever(services.metrics)),
        ("retention", trim_forever(services.storage, services.events, settings.storage)),
        ("uploads", trim_uploads_forever(services.management.uploads)),
        ("config reload", reload_config_forever(settings, services.providers, redactor)),
    ]
    return [asyncio.create_task(job, name=name) for name, job in jobs]
