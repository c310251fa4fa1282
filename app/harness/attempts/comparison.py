"""What became of attempts, side by side.

Owns: the state of each, and what it has changed, used and cost, all read from its session, runs and
workspace. Never: storing any of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.errors import KagedError
from app.harness.attempts.record import GIVEN_UP
from app.harness.changes.service import Changes
from app.harness.workflows.endings import cost_of, ending_at_rest
from app.ids import now_ms
from app.messages import Usage
from app.states import AttemptsState, CheckState, RunState, SessionState, WorkflowRunState, WorkspaceState
from app.storage.models import Attempt, AttemptGroup, Run, Workspace
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

AttemptStateName = Literal[
    "creating",
    "queued",
    "running",
    "waiting",
    "paused",
    "checking",
    "succeeded",
    "failed",
    "cancelled",
    "idle",
]
_CHECKED: frozenset[AttemptStateName] = frozenset({"succeeded", "failed"})
AT_WORK: frozenset[AttemptStateName] = frozenset({"creating", "queued", "running", "waiting", "checking"})
SINCE = "start"
MOST_RUNS = 100


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """How much an attempt has changed. `incomplete` says what is not counted, and why."""

    files: int
    additions: int
    deletions: int
    incomplete: str | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One attempt. `problem` says why it failed. `changes` is None where there are no files to look at, or
    nobody looked."""

    attempt: Attempt
    session: SessionRow
    workspace: Workspace | None
    state: AttemptStateName
    problem: str | None
    model: str | None
    usage: Usage
    cost_usd: float | None
    duration_ms: int
    run_id: str | None = None
    changes: ChangeCounts | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A group with its attempts, by their numbers; those of deleted sessions are left out."""

    group: AttemptGroup
    items: Sequence[Compared] = field(default=())

    @property
    def at_work(self) -> bool:
        return any(one.state in AT_WORK for one in self.items)

    @property
    def given_up(self) -> bool:
        """Whether no attempt is left to be picked: all were discarded one by one, or their branches kept."""
        states = {None if one.workspace is None else one.workspace.state for one in self.items}
        return WorkspaceState.DISCARDED.value in states and states <= GIVEN_UP

    @property
    def tokens(self) -> int:
        return sum(one.usage.total for one in self.items)

    @property
    def cost_usd(self) -> float | None:
        known = [one.cost_usd for one in self.items if one.cost_usd is not None]
        return sum(known) if known else None


def new_comparison(
    group: AttemptGroup,
    attempts: Sequence[Attempt],
    sessions: Sequence[SessionRow],
    workspaces: Sequence[Workspace],
) -> Comparison:
    """Return a group that begins now."""
    rows = zip(attempts, sessions, workspaces, strict=True)
    return Comparison(
        group,
        [
            Compared(attempt, session, workspace, "creating", None, attempt.model, Usage(), None, 0)
            for attempt, session, workspace in rows
        ],
    )


async def compared(storage: Storage, groups: Sequence[AttemptGroup]) -> list[Comparison]:
    """Return what is stored of some groups; no file is looked at."""

    def read(uow: UnitOfWork) -> list[Comparison]:
        found = uow.attempts.of_groups([one.id for one in groups])
        answers = []
        for group in groups:
            ours = (_one(uow, group, one) for one in found if one.group_id == group.id)
            answers.append(Comparison(group, [one for one in ours if one is not None]))
        return answers

    return await storage.read(read)


async def counted(changes: Changes, one: Compared) -> ChangeCounts | None:
    """Return how much an attempt has changed; None where there are no files to look at."""
    workspace = one.workspace
    gone = workspace is None or workspace.removed_at is not None
    if gone or one.state == "creating":
        return None
    try:
        found = await changes.list(one.session, SINCE)
    except (KagedError, OSError):
        return None
    return ChangeCounts(len(found.items), found.additions, found.deletions, found.incomplete)


def _one(uow: UnitOfWork, group: AttemptGroup, attempt: Attempt) -> Compared | None:
    session = uow.sessions.get(attempt.session_id)
    if session is None:
        return None
    workspace = uow.workspaces.get(session.workspace_id or "")
    runs = uow.runs.list(session.id, roots_only=True, limit=MOST_RUNS).items
    newest = runs[0].id if runs else None
    state, problem = _state(uow, attempt, session, workspace)
    if state in _CHECKED and _is_due(group, attempt, newest):
        state = "checking"
    return Compared(
        attempt,
        session,
        workspace,
        state,
        problem,
        runs[0].model if runs else attempt.model,
        Usage(**{name: getattr(session, name) for name in Usage.model_fields}),
        cost_of(session),
        sum(_duration(one) for one in runs),
        newest,
    )


def _is_due(group: AttemptGroup, attempt: Attempt, run_id: str | None) -> bool:
    """Tell whether a check runs, or is about to."""
    if group.asked_check is None or group.state != AttemptsState.OPEN.value or run_id is None:
        return False
    running = attempt.check_state == CheckState.RUNNING.value
    return running or (attempt.checked or {}).get("run_id") != run_id


def _state(
    uow: UnitOfWork, attempt: Attempt, session: SessionRow, workspace: Workspace | None
) -> tuple[AttemptStateName, str | None]:
    if workspace is not None and workspace.state == WorkspaceState.CREATING.value:
        return "creating", None
    if session.state == SessionState.QUEUED.value:
        return "queued", None
    if uow.interactions.pending(session.id):
        return "waiting", None
    if session.state == SessionState.RUNNING.value or uow.runs.in_background(session.id):
        return "running", None
    if session.state == SessionState.PAUSED.value:
        return "paused", None
    if workspace is not None and workspace.state == WorkspaceState.BROKEN.value:
        return "failed", workspace.detail
    return _at_rest(uow, attempt, session)


def _at_rest(uow: UnitOfWork, attempt: Attempt, session: SessionRow) -> tuple[AttemptStateName, str | None]:
    run = None if attempt.workflow_run_id is None else uow.workflow_runs.get(attempt.workflow_run_id)
    if run is not None and run.state == WorkflowRunState.QUEUED.value:
        return "queued", None
    if run is not None and run.session_id is None:  # it ended before its turn
        error = run.error or {}
        cancelled = run.state == WorkflowRunState.CANCELLED.value
        return "cancelled" if cancelled else "failed", error.get("message")
    ending = ending_at_rest(uow, session)  # what was done before it was archived counts
    if ending is None:
        begins = run is not None and run.state == WorkflowRunState.RUNNING.value
        begins = begins and not uow.runs.list(session.id, roots_only=True, limit=1).items
        return "queued" if begins else "idle", None  # its first message is about to be posted
    if ending.state is WorkflowRunState.SUCCEEDED:
        return "succeeded", None
    message = (ending.error or {}).get("message")
    return ("failed", message) if ending.state is WorkflowRunState.FAILED else ("cancelled", None)


def _duration(run: Run) -> int:
    if run.started_at is None:
        return 0
    ended = run.ended_at
    if ended is None:
        ended = now_ms() if run.state == RunState.RUNNING.value else run.started_at
    return max(0, ended - run.started_at)


async def with_changes(changes: Changes, found: Comparison) -> Comparison:
    """Return a comparison with what each attempt has changed."""
    counts = await asyncio.gather(*(counted(changes, one) for one in found.items))
    pairs = zip(found.items, counts, strict=True)
    return replace(found, items=[replace(one, changes=count) for one, count in pairs])
