"""What a session needs from the daemon.

Owns: the one bundle of services that all sessions are given, and what they ask of several at once.
Never: session state, or what a run is made of (`run_factory`).
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from app.errors import Conflict, NotFound, Unavailable
from app.harness.capacity import Capacity
from app.harness.compaction.compactor import CompactionServices
from app.harness.consent import Consents
from app.harness.delegation.hooks import DelegationHooks
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.interactions.live import LiveQuestions
from app.harness.limits import Limits
from app.harness.permissions import PermissionRules
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.positions import Positions
from app.harness.providers.catalog import Catalog
from app.harness.providers.router import ProviderRouter
from app.harness.workflows.narrowed import as_session_sees
from app.observability import Redactor, Telemetry
from app.storage.models import Checkpoint
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork
from app.tools.service import ToolService

if TYPE_CHECKING:
    from app.harness.checkpoints.worktree_notes import WorktreeNotes
    from app.harness.hooks.plugin_hooks import PluginHooks
    from app.harness.issues.proposals import TodoProposals
    from app.harness.projects import ProjectRegistry
    from app.harness.run_context import Remind
    from app.storage.storage import Storage


T = TypeVar("T")


class Spawn(Protocol):
    """Starts a task that the session manager owns and waits for."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]: ...


class RunOver(Protocol):
    """Ends what tools keep only for a run."""

    async def __call__(self, session_id: str, agent_path: str, run_id: str, *, last: bool = True) -> None:
        """`last`: the agent has no other run at this moment."""
        ...


@dataclass(frozen=True, slots=True)
class SessionServices:
    """Everything a session is given; one instance for all sessions."""

    storage: Storage
    projects: ProjectRegistry
    router: ProviderRouter
    catalog: Catalog
    pipeline: ProcessorPipeline
    tools: ToolService
    capacity: Capacity
    spawn: Spawn
    stopping: Callable[[], bool]
    queue_limit: int
    checkpoint_limit: int
    limits: Limits
    scratch_root: Path
    redactor: Redactor
    permissions: PermissionRules
    consents: Consents
    run_over: RunOver
    compaction: CompactionServices
    hooks: PluginHooks
    notes: WorktreeNotes
    delegation_hooks: DelegationHooks
    proposals: TodoProposals | None
    telemetry: Telemetry
    questions: LiveQuestions = field(default_factory=LiveQuestions)

    async def load_history(self, session_id: str) -> tuple[History, ConversationEstimate]:
        """Return the root agent's conversation and its estimate; both are made off the loop."""

        def read(uow: UnitOfWork) -> tuple[History, ConversationEstimate]:
            last = uow.messages.last_position(session_id)
            history = History(
                uow.messages.history(session_id, "primary"),
                positions=Positions(last + 1),
                whole=not uow.messages.has_superseded(session_id),
                waiting=[call.call_id for call in uow.tool_calls.waiting(session_id)],
            )
            history.tokens()
            return history, ConversationEstimate()

        return await self.storage.read(read)

    async def open_checkpoint(self, session_id: str, checkpoint_id: str | None) -> Checkpoint | None:
        """Return the named open checkpoint (raises `NotFound`), or the newest one if there is one."""
        found = await self.storage.read(lambda uow: uow.checkpoints.open(session_id))
        if checkpoint_id is None:
            return found[0] if found else None
        for checkpoint in found:
            if checkpoint.id == checkpoint_id:
                return checkpoint
        raise NotFound(f"There is no open checkpoint {checkpoint_id} in this session.")

    async def remove_scratch(self, session_id: str) -> None:
        """Delete the files that hold what was cut from the answers of the session's tools."""
        await asyncio.to_thread(shutil.rmtree, self.scratch_root / session_id, ignore_errors=True)

    def refuse_when_stopping(self) -> None:
        """Raise `Conflict` once the daemon is stopping."""
        if self.stopping():
            raise Unavailable("The daemon is stopping; try again after the restart.", reason="stopping")

    async def check_runnable(self, row: SessionRow, model: str | None) -> None:
        """Raise what would stop a run before it starts: no project, no such model."""
        project = await self.project_of(row)
        self.router.resolve(model or model_of(row, project.root))

    async def project_of(self, row: SessionRow) -> CompiledProject:
        """Return the project as it was compiled for this session, cut down to its workflow if it has one."""
        project = await self.projects.snapshot(row.project_id, row.compiled_digest)
        if project is None:
            raise Conflict(
                "The project of this session is not loaded. Load it with POST /api/v1/projects/load.",
                reason="project_not_loaded",
                details={"project_id": row.project_id},
            )
        return as_session_sees(project, row)


def reminding(services: SessionServices, session: Callable[[], SessionRow]) -> Remind | None:
    """Return what gives the reminder of the open tasks on a session's issue. `session` gives its present
    row: one that is bound to no issue costs no read."""
    proposals = services.proposals
    if proposals is None:
        return None

    async def remind(*, has_tool: bool) -> str | None:
        row = session()
        if row.issue_number is None:
            return None
        return await proposals.todos.reminder_for(row.id, has_tool=has_tool)

    return remind


def model_of(row: SessionRow, agent: CompiledAgent) -> str:
    """Return the session's own model, else the agent's."""
    return str(row.overrides.get("model") or agent.model)
