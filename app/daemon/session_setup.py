"""What all sessions work with, put together once.

Owns: the bundles that sessions and their runs are given. Never: what any part of them does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.config import Settings, default_config_file
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.compaction.ports import CompactionServices
from app.harness.delegation.hooks import DelegationHooks
from app.harness.guidance.session_guidance import GuidanceSources
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.issues.proposals import TodoProposals
from app.harness.loop.pipeline.audit import AuditProcessor
from app.harness.loop.pipeline.observe import ObservabilityProcessor
from app.harness.loop.pipeline.policy import PolicyProcessor
from app.harness.loop.run_services import OnRunEnd, RunServices
from app.harness.projects.permissions import PermissionRules
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.questions.queue import Questions
from app.harness.run.limits import Limits
from app.harness.run.processor import ProcessorPipeline
from app.harness.run.shared_budgets import SharedBudgets
from app.harness.sessions.capacity import Capacity
from app.harness.sessions.session_services import SessionServices, WorkspaceGate
from app.harness.sessions.session_tasks import SessionTasks
from app.observability import Redactor, Telemetry
from app.storage.storage import Storage
from app.tools.dispatch.service import ToolService

SCRATCH = "scratch"
"""The folder below the data folder that holds what was cut from the answers of tools."""


@dataclass(frozen=True, slots=True)
class Foundation:
    """What nearly every service stands on."""

    settings: Settings
    redactor: Redactor
    storage: Storage
    telemetry: Telemetry


def session_services(  # noqa: PLR0913
    base: Foundation,
    projects: ProjectRegistry,
    router: ProviderRouter,
    tools: ToolService,
    hooks: PluginHooks,
    notes: WorktreeNotes,
    proposals: TodoProposals,
    workspaces: WorkspaceGate,
    on_run_end: OnRunEnd,
) -> SessionServices:
    """Return what sessions are given. `on_run_end` ends what tools keep
    for a run."""
    settings, limits, tasks = base.settings, base.settings.limits, SessionTasks()
    runs = RunServices(
        storage=base.storage,
        projects=projects,
        router=router,
        pipeline=ProcessorPipeline(
            [AuditProcessor(), PolicyProcessor(router.catalog.context_window), ObservabilityProcessor()]
        ),
        tools=tools,
        limits=Limits(
            max_steps=limits.max_steps,
            tokens=limits.tokens,
            cost_usd=limits.cost_usd,
            walltime_seconds=limits.walltime_seconds,
        ),
        scratch_root=settings.daemon.data_dir / SCRATCH,
        redactor=base.redactor,
        questions=Questions(PermissionRules(base.storage, base.redactor), tasks.spawn),
        spawn=tasks.spawn,
        on_run_end=on_run_end,
        compaction=CompactionServices(base.storage, router, router.catalog, plugins=hooks.compaction),
        hooks=hooks,
        telemetry=base.telemetry,
        sources=guidance_sources(settings),
    )
    return SessionServices(
        runs=runs,
        capacity=Capacity(per_project=limits.sessions_per_project, per_operator=limits.sessions_per_operator),
        tasks=tasks,
        queue_limit=limits.queue_per_session,
        checkpoint_limit=limits.checkpoints_per_session,
        notes=notes,
        delegation_hooks=DelegationHooks(),
        proposals=proposals,
        workspaces=workspaces,
        budgets=SharedBudgets(base.storage),
    )


def guidance_sources(settings: Settings) -> GuidanceSources:
    """Return where files for agents are looked for beside the projects."""
    home = Path.home() if settings.instructions.user else None
    return GuidanceSources(home, (settings.daemon.data_dir, settings.config_file or default_config_file()))
