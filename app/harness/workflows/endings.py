"""What became of a workflow run, by what its session looks like.

Owns: that judgement, and what is kept of the session with the run: output, cost. Never: storing it. Pure
but for the unit of work that it reads from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.harness.loop.loop import STUCK
from app.ids import ROOT_AGENT
from app.states import RunState, SessionState, WorkflowRunState
from app.storage.models import Session as SessionRow
from app.storage.models import WorkflowRun
from app.storage.unit_of_work import UnitOfWork

_AT_WORK = (SessionState.QUEUED.value, SessionState.RUNNING.value, SessionState.PAUSED.value)
_IN_HAND = ("rolled_back", "rollback_undone")
"""Why an idle session is idle when an operator continues it by hand."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends. `error` is `{code, message}`; `output` the root agent's last answer."""

    state: WorkflowRunState
    error: dict[str, Any] | None = None
    output: str | None = None


def failed(code: str, message: str) -> Ending:
    return Ending(WorkflowRunState.FAILED, {"code": code, "message": message})


def cancelled(code: str, message: str) -> Ending:
    return Ending(WorkflowRunState.CANCELLED, {"code": code, "message": message})


def timed_out(run: WorkflowRun) -> Ending:
    return failed(
        "timeout",
        f"The run worked for more than the {run.timeout_seconds} seconds that its workflow gives it.",
    )


def ending_of(uow: UnitOfWork, run: WorkflowRun, decided: Ending | None = None) -> Ending | None:
    """Return how a running run has ended; None while it goes on, its tasks in the background do, or it
    waits for somebody.

    `decided` is why its session was stopped, if it was: a session that was done by then succeeds."""
    return ending_of_session(uow, uow.sessions.get(run.session_id or ""), decided)


def ending_of_session(
    uow: UnitOfWork, session: SessionRow | None, decided: Ending | None = None
) -> Ending | None:
    """Return how what a session was to do has ended; as `ending_of`."""
    if session is None:
        return cancelled("session_deleted", "The session of the run was deleted.")
    if session.state == SessionState.ARCHIVED.value:
        return cancelled("session_archived", "The session of the run was archived.")
    if session.state in _AT_WORK or uow.runs.in_background(session.id):
        return None
    return ending_at_rest(uow, session, decided)


def ending_at_rest(uow: UnitOfWork, session: SessionRow, decided: Ending | None = None) -> Ending | None:
    """Return how what a session that is at rest was to do has ended; as `ending_of`."""
    newest = uow.runs.list(session.id, roots_only=True, limit=1).items
    last = newest[0] if newest else None
    state = None if last is None else last.state
    if any(message.delivery != "held" for message in uow.messages.queued(session.id)):
        return decided  # it is about to go on
    if session.state_reason == "cannot_run":
        return failed("cannot_run", "The session could not begin to run; the daemon's log says why.")
    if session.state_reason in _IN_HAND:
        return decided
    if last is not None and state == RunState.FAILED.value:
        error = last.error or {"code": last.reason or "failed", "message": "The session's run failed."}
        return decided or Ending(WorkflowRunState.FAILED, error)
    if last is not None and last.reason == STUCK:
        return decided or failed(STUCK, "The agent repeated itself without getting on and was stopped.")
    if state == RunState.SUCCEEDED.value or (
        state == RunState.INTERRUPTED.value and session.state_reason is None
    ):
        # Interrupted behind its last answer: there was nothing left to go on with.
        return Ending(WorkflowRunState.SUCCEEDED, output=output_of(uow, session.id))
    if last is None and session.state_reason != "cancelled":
        return decided
    return decided or cancelled("cancelled", "The session of the run was cancelled.")


def output_of(uow: UnitOfWork, session_id: str) -> str | None:
    """Return the last answer of a session's root agent."""
    answer = uow.messages.last_answer(session_id, ROOT_AGENT)
    return None if answer is None else answer.content


def cost_of(session: SessionRow | None) -> float | None:
    """Return what a session has cost in US dollars; None when no price is known."""
    if session is None:
        return None
    parts = (session.cost_primary_usd, session.cost_subagents_usd, session.cost_compactor_usd)
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
