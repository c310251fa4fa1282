"""What a session needs from the daemon.

Owns: the one bundle of services that all sessions are given, and what they ask of several at once.
Never: session state, or what a run is made of (`run_factory`).
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app.errors import NotFound
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.delegation.folders import ChildFolders
from app.harness.delegation.hooks import DelegationHooks
from app.harness.issues.proposals import TodoProposals
from app.harness.loop.run_services import RunServices, model_of
from app.harness.run.plan import Remind
from app.harness.run.shared_budgets import SharedBudgets
from app.harness.sessions.capacity import Capacity
from app.harness.sessions.session_tasks import SessionTasks
from app.storage.models import Checkpoint
from app.storage.models import Session as SessionRow


class WorkspaceGate(Protocol):
    """The folders of their own in which sessions work."""

    @property
    def subagents(self) -> ChildFolders:
        """The same for subagents."""

    def is_making(self, session: SessionRow) -> bool:
        """Whether the session's folder is being made."""

    async def ready(self, session: SessionRow) -> bool:
        """Wait while it is being made; False when the daemon stops before."""

    async def require(self, session: SessionRow) -> None:
        """Raise `Conflict` when it is not there to work in."""

    async def recover(self, project_id: str | None = None) -> None:
        """Finish or undo what a crash left half done; in one project when given."""

    def session_ended(self) -> None:
        """Hear that a session was archived or deleted."""


@dataclass(frozen=True, slots=True)
class SessionServices:
    """Everything a session is given; one instance for all sessions. `runs` is what its runs are given."""

    runs: RunServices
    capacity: Capacity
    tasks: SessionTasks
    queue_limit: int
    checkpoint_limit: int
    notes: WorktreeNotes
    delegation_hooks: DelegationHooks
    proposals: TodoProposals | None
    workspaces: WorkspaceGate
    budgets: SharedBudgets

    async def open_checkpoint(self, session_id: str, checkpoint_id: str | None) -> Checkpoint | None:
        """Return the named open checkpoint (raises `NotFound`), or the newest one if there is one."""
        found = await self.runs.storage.read(lambda uow: uow.checkpoints.open(session_id))
        if checkpoint_id is None:
            return found[0] if found else None
        for checkpoint in found:
            if checkpoint.id == checkpoint_id:
                return checkpoint
        raise NotFound(f"There is no open checkpoint {checkpoint_id} in this session.")

    async def remove_scratch(self, session_id: str) -> None:
        """Delete the files that hold what was cut from the answers of the session's tools."""
        await asyncio.to_thread(shutil.rmtree, self.runs.scratch_root / session_id, ignore_errors=True)

    async def check_runnable(self, row: SessionRow, model: str | None) -> None:
        """Raise what would stop a run before it starts: no project, no such model, no folder."""
        await self.workspaces.require(row)
        project = await self.runs.projects.of_session(row)
        self.runs.router.resolve(model or model_of(row, project.root))


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
