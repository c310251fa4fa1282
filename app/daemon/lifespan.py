"""The composition root: builds every service in start order and stops them in reverse.

Owns: the order of starting and draining, and the background tasks of the daemon (heartbeat, retention,
config reload). Never: HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__
from app.access.tokens import AccessControl
from app.bridges.network.daemon_client import DaemonClient
from app.bridges.plugins.manager import Manifests, Plugins
from app.bridges.processes.deadline import Deadline
from app.bridges.pty.manager import TerminalManager
from app.config import (
    Proxies,
    Settings,
    child_environment,
    default_config_file,
    settings_not_in_effect,
)
from app.daemon.background import heartbeat_forever, reload_config_forever, trim_forever
from app.daemon.bridge_audit import BridgeAudit
from app.daemon.cage_setup import plugin_cages
from app.daemon.code_services import open_code_services
from app.daemon.debug_adapters import debug_adapters
from app.daemon.folder_services import FolderServices
from app.daemon.forwarding import Forwarding
from app.daemon.gauges import (
    show_children,
    show_ownership,
    show_sessions,
    show_storage,
    watch_loop_forever,
)
from app.daemon.log_store import stored_log
from app.daemon.machine import Machine
from app.daemon.mcp_services import agent_servers
from app.daemon.notice_listener import others_heard
from app.daemon.notify_services import notify_tasks, stored_beside
from app.daemon.ownership import Ownership
from app.daemon.plugin_storage import StoredPluginValues
from app.daemon.process_services import open_processes
from app.daemon.project_decisions import ProjectDecisions
from app.daemon.project_management import IssueRecords, ProjectManagement
from app.daemon.services import Services
from app.daemon.session_resources import SessionResources
from app.daemon.session_setup import SCRATCH, Foundation, session_services
from app.daemon.trace_destinations import open_traces
from app.daemon.workspace_services import open_workspaces, tend_workspaces
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.checkpoints.worktrees import NOTES_FOLDER, Worktrees
from app.harness.hooks.commands.command_hooks import CommandHooks
from app.harness.hooks.commands.hook import hooks_of_settings
from app.harness.hooks.commands.running import HookProcesses
from app.harness.hooks.plugin_catalog import ManifestCatalog
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.issues.agent_issues import AgentIssues
from app.harness.projects.project_loader import ProjectLoader
from app.harness.projects.project_trust import ProjectTrusts
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.sessions.overload import Overload
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.transfer.transfer_import import SessionImports
from app.harness.uploads.service import trim_uploads_forever
from app.harness.workflows.tool_port import WorkflowTools
from app.observability import Redactor, Telemetry
from app.storage.leases import Replica
from app.storage.storage import Storage
from app.tools.authorisation.guard import built_in
from app.tools.catalog import build_registry
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.web.access import WebAccess

if TYPE_CHECKING:
    from collections.abc import Coroutine

log = logging.getLogger("kaged.daemon")


@asynccontextmanager
async def open_services(
    settings: Settings,
    redactor: Redactor,
    *,
    url: str = "",
    lost: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Services]:
    """Start everything; on leaving drain the sessions while the stores are still open.

    With `storage.replicas` the lease of a project names this daemon's `url`. A daemon that has lost a lease
    calls `lost`, which should end the process."""
    deadline = Deadline() if settings.storage.replicas else None
    replica = None
    if deadline is not None:
        replica = Replica(settings.storage.replica_url or url, deadline.set, lost)
    async with (
        open_traces(settings, redactor) as traces,
        _open_storage(settings, redactor, replica) as storage,
    ):
        telemetry = Telemetry(traces)
        async with (
            stored_log(storage, redactor, telemetry.metrics, level=settings.log.level),
            _open_services(Foundation(settings, redactor, storage, telemetry), deadline, url) as services,
        ):
            show_storage(telemetry.metrics, storage)
            show_sessions(telemetry.metrics, services.sessions, services.events)
            show_ownership(telemetry.metrics, services.decisions.ownership)
            yield services


@asynccontextmanager
async def _open_storage(
    settings: Settings, redactor: Redactor, replica: Replica | None
) -> AsyncIterator[Storage]:
    url = settings.storage.url.get_secret_value() if settings.storage.url is not None else None
    storage = await Storage.open(url, settings.daemon.data_dir, redactor, replica=replica)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def _open_services(base: Foundation, deadline: Deadline | None, url: str) -> AsyncIterator[Services]:
    settings, redactor, storage, telemetry = base.settings, base.redactor, base.storage, base.telemetry
    for key, consequence in settings_not_in_effect(settings).items():
        log.warning("%s is set, but has no effect: %s", key, consequence)
    audit = BridgeAudit(storage, redactor, telemetry.metrics)
    projects = ProjectRegistry(ProjectTrusts(storage, tuple(settings.projects.trusted)))
    async with (
        open_processes(
            settings, record=audit, deadline=deadline, first_port=projects.workspaces.first_port
        ) as processes,
        open_code_services(settings, processes, projects, audit) as code,
    ):
        environment = child_environment()
        hub = EventHub(storage, stored_beside(settings.notify))
        records = IssueRecords.of(base, hub)
        reads = ReadTracker()
        terminals = TerminalManager(processes.own, per_session=settings.limits.ptys_per_session)
        debuggers = debug_adapters(
            processes.own, terminals, settings.dap, projects, environment=environment, record=audit
        )
        registry = build_registry(
            reads=reads,
            processes=processes,
            terminals=terminals,
            environment=environment,
            kept=code.kept,
            languages=code.languages,
            debuggers=debuggers,
            issues=AgentIssues(lambda: services.management.issues, records.uploads),
            todos=records.todos,
            workflows=WorkflowTools(lambda: services.management.workflows),
            subagents=lambda: services.management.folders.workspaces.child_changes,
            web=WebAccess(settings.search, Proxies.of_environment()),
            data_dir=settings.daemon.data_dir,
            config_file=settings.config_file or default_config_file(),
        )
        router = ProviderRouter(settings.models, settings.providers, settings.prices)
        hooks = _plugins(base, processes, registry, projects, audit)
        folder = settings.daemon.data_dir / NOTES_FOLDER
        notes = WorktreeNotes(storage, Worktrees(processes, environment, folder))
        resources = SessionResources(reads, terminals, code, debuggers, hooks, notes, processes)
        services = await _assemble(base, projects, hub, registry, router, resources, records)
        show_children(telemetry.metrics, processes.own, terminals, code.languages, debuggers)
        tasks = _background(services, redactor)
        tasks += notify_tasks(services, processes.own, url)
        try:
            if services.decisions.ownership is None:
                await services.management.start(services.sessions)
            else:
                services.management.workflows.begin()
                await services.decisions.ownership.start()
            async with others_heard(settings, hub):
                yield services
        finally:
            await _cancelled(tasks)
            await _end(services, resources)


def _plugins(
    base: Foundation,
    processes: CallProcesses,
    registry: ToolRegistry,
    projects: ProjectRegistry,
    audit: BridgeAudit,
) -> PluginHooks:
    settings, storage = base.settings, base.storage
    plugins = Plugins(
        processes.own,
        environment=child_environment(),
        manifests=Manifests(settings.daemon.data_dir, settings.plugins.paths, settings.plugins.config),
        storage=StoredPluginValues(storage),
        record=audit,
        daemon_version=__version__,
        cages=plugin_cages(processes.cages, settings),
    )
    servers = agent_servers(base, processes, registry, projects, audit)
    running = HookProcesses(processes, child_environment())
    commands = CommandHooks(hooks_of_settings(settings.hooks), projects, running, base.redactor)
    return PluginHooks(plugins, audit, storage, registry, projects, servers, commands)


async def _end(services: Services, resources: SessionResources) -> None:
    """Begin nothing more, drain the sessions, then end what they worked with."""
    if services.decisions.ownership is not None:
        await services.decisions.ownership.aclose()
    if services.decisions.forwarding is not None:
        await services.decisions.forwarding.aclose()
    await services.management.aclose()
    await services.sessions.drain(services.settings.daemon.shutdown_grace_seconds)
    await resources.notes.aclose()
    await resources.hooks.aclose()
    await resources.debuggers.aclose()
    await resources.terminals.aclose()
    services.events.close()
    await services.decisions.loader.close()
    await services.providers.aclose()


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _assemble(
    base: Foundation,
    projects: ProjectRegistry,
    hub: EventHub,
    registry: ToolRegistry,
    router: ProviderRouter,
    resources: SessionResources,
    records: IssueRecords,
) -> Services:
    settings, storage, redactor = base.settings, base.storage, base.redactor
    tools = _tools(settings, registry, resources, redactor)
    workspaces = open_workspaces(base, projects, hub, resources)
    needed = session_services(
        base,
        projects,
        router,
        tools,
        resources.hooks,
        resources.notes,
        records.proposals,
        workspaces,
        resources.on_run_end,
    )
    sessions = SessionManager(needed, hub, records.uploads, resources.close_session)
    folders = await FolderServices.open(base, hub, projects, resources, workspaces, needed.tasks)
    management = ProjectManagement.of(base, records, hub, projects, sessions, folders, router)
    loader = ProjectLoader(
        projects,
        storage,
        registry,
        known_models=lambda: [entry.alias for entry in router.list_models()],
        prompts_changed=sessions.prompts_changed,
        plugins=ManifestCatalog.of(settings),
        reloaded=resources.hooks.reloaded,
    )
    ownership = None
    if storage.leases is None:
        await loader.restore()
    else:
        ownership = owner = Ownership(storage, storage.leases, loader, management, sessions, hub.take_over)
        hub.follow_others(lambda: owner.served)
        loader.claims, projects.elsewhere = ownership, ownership.problem
    return Services(
        settings=settings,
        storage=storage,
        projects=projects,
        registry=registry,
        providers=router,
        sessions=sessions,
        imports=SessionImports(storage, projects, hub, settings.daemon.data_dir / SCRATCH),
        events=hub,
        access=await _access(settings, redactor, storage),
        hooks=resources.hooks,
        metrics=base.telemetry.metrics,
        management=management,
        decisions=await _decisions(loader, sessions, management, resources, ownership),
        redactor=redactor,
        machine=Machine(settings, resources.processes.tier, resources.terminals),
    )


async def _decisions(
    loader: ProjectLoader,
    sessions: SessionManager,
    management: ProjectManagement,
    resources: SessionResources,
    ownership: Ownership | None,
) -> ProjectDecisions:
    hooks, languages, worktrees = resources.hooks, resources.code.languages, resources.notes.worktrees
    forwarding = None if ownership is None else Forwarding(ownership, await DaemonClient.open())

    async def carry(project_id: str, before: Path, after: Path) -> None:
        await worktrees.move(before, after)
        await management.folders.workspaces.follow(project_id, before, after)

    return ProjectDecisions(loader, sessions, management, hooks, languages, carry, ownership, forwarding)


def _tools(
    settings: Settings, registry: ToolRegistry, resources: SessionResources, redactor: Redactor
) -> ToolService:
    return ToolService(
        registry,
        watchdogs=built_in(settings.daemon.data_dir, home=Path.home()),
        after_edit=resources.code.feedback,
        hooks=resources.hooks.commands,
        redactor=redactor,
        settle=resources.processes.settle,
    )


async def _access(settings: Settings, redactor: Redactor, storage: Storage) -> AccessControl:
    access = await AccessControl.open(storage, settings.auth, settings.daemon.data_dir)
    redactor.add((await asyncio.to_thread(access.token_file.read_text)).strip())
    return access


def _retention(services: Services) -> Coroutine[None, None, None]:
    delete, settings = services.sessions.delete, services.settings.storage
    ownership = services.decisions.ownership
    return trim_forever(
        services.storage,
        services.events,
        delete,
        settings,
        may_trim=_tends_database(services),
        own_projects=None if ownership is None else lambda: {one.id for one in services.projects.all()},
    )


def _tends_database(services: Services) -> Callable[[], bool]:
    ownership = services.decisions.ownership
    return lambda: ownership is None or ownership.tends_database


def _loop_watch(services: Services) -> Coroutine[None, None, None]:
    overload = Overload(services.settings.limits.sessions_in_overload)
    return watch_loop_forever(services.metrics, services.sessions.capacity, overload)


def _background(services: Services, redactor: Redactor) -> list[asyncio.Task[None]]:
    settings, may_trim = services.settings, _tends_database(services)
    jobs: list[tuple[str, Coroutine[None, None, None]]] = [
        ("heartbeat", heartbeat_forever(services.events, settings.daemon.heartbeat_seconds)),
        ("loop watch", _loop_watch(services)),
        ("retention", _retention(services)),
        ("uploads", trim_uploads_forever(services.management.uploads, may_trim)),
        ("workspaces", tend_workspaces(services)),
        ("config reload", reload_config_forever(settings, services.providers, redactor)),
    ]
    return [asyncio.create_task(job, name=name) for name, job in jobs]
