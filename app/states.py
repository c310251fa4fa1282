"""Every state enum of the sessions domain, with its table of legal moves and the one mover.

Owns: what may follow what, as data. Never: I/O, or what a move makes necessary. An illegal event is a
`Conflict` that names the state and what is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from app.bridge_states import DEBUG_MOVES as DEBUG_MOVES
from app.bridge_states import LANGUAGE_SERVER_MOVES as LANGUAGE_SERVER_MOVES
from app.bridge_states import MOVES as MOVES_OF_BRIDGES
from app.bridge_states import PLUGIN_MOVES as PLUGIN_MOVES
from app.bridge_states import DebugState as DebugState
from app.bridge_states import LanguageServerState as LanguageServerState
from app.bridge_states import PluginState as PluginState
from app.errors import Conflict
from app.workspace_states import MOVES as MOVES_OF_WORKSPACES
from app.workspace_states import WORKABLE as WORKABLE
from app.workspace_states import WORKSPACE_MOVES as WORKSPACE_MOVES
from app.workspace_states import AttemptsState as AttemptsState
from app.workspace_states import CheckState as CheckState
from app.workspace_states import WorkspaceState as WorkspaceState


class SessionState(StrEnum):
    IDLE = "idle"
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    ARCHIVED = "archived"


class SessionEvent(StrEnum):
    """What may happen to a session. Conditions of the design's table ("capacity free") are
    part of the event's name, so that the table stays a function of (state, event)."""

    MESSAGE_POSTED = "message_posted"
    MESSAGE_POSTED_AT_LIMIT = "message_posted_at_limit"
    MESSAGE_POSTED_TO_WAITING_RUN = "message_posted_to_waiting_run"
    CAPACITY_FREE = "capacity_free"
    RUN_ENDED = "run_ended"
    RUN_ENDED_MORE_QUEUED = "run_ended_more_queued"
    RUN_PAUSED = "run_paused"
    QUESTION_ASKED = "question_asked"
    RUN_GOES_ON = "run_goes_on"
    RUN_GOES_ON_AT_LIMIT = "run_goes_on_at_limit"
    RESUME_WITH_WORK = "resume_with_work"
    RESUME_WITHOUT_WORK = "resume_without_work"
    CANCEL = "cancel"
    ROLLBACK = "rollback"
    ARCHIVE = "archive"
    DAEMON_RESTARTED = "daemon_restarted"


_S = SessionState
_E = SessionEvent

SESSION_MOVES: Mapping[tuple[SessionState, SessionEvent], SessionState] = {
    (_S.IDLE, _E.MESSAGE_POSTED): _S.RUNNING,
    (_S.IDLE, _E.MESSAGE_POSTED_AT_LIMIT): _S.QUEUED,
    (_S.IDLE, _E.RESUME_WITH_WORK): _S.RUNNING,
    (_S.IDLE, _E.ROLLBACK): _S.IDLE,
    (_S.IDLE, _E.ARCHIVE): _S.ARCHIVED,
    (_S.QUEUED, _E.MESSAGE_POSTED): _S.QUEUED,
    (_S.QUEUED, _E.MESSAGE_POSTED_AT_LIMIT): _S.QUEUED,
    (_S.QUEUED, _E.CAPACITY_FREE): _S.RUNNING,
    (_S.QUEUED, _E.RESUME_WITH_WORK): _S.RUNNING,
    (_S.QUEUED, _E.RUN_GOES_ON): _S.RUNNING,
    (_S.QUEUED, _E.DAEMON_RESTARTED): _S.PAUSED,
    (_S.QUEUED, _E.CANCEL): _S.IDLE,
    (_S.QUEUED, _E.ARCHIVE): _S.ARCHIVED,
    (_S.RUNNING, _E.MESSAGE_POSTED): _S.RUNNING,
    (_S.RUNNING, _E.MESSAGE_POSTED_AT_LIMIT): _S.RUNNING,
    (_S.RUNNING, _E.CANCEL): _S.RUNNING,
    (_S.RUNNING, _E.RUN_ENDED): _S.IDLE,
    (_S.RUNNING, _E.RUN_ENDED_MORE_QUEUED): _S.RUNNING,
    (_S.RUNNING, _E.RUN_PAUSED): _S.PAUSED,
    (_S.RUNNING, _E.QUESTION_ASKED): _S.PAUSED,
    (_S.RUNNING, _E.DAEMON_RESTARTED): _S.PAUSED,
    (_S.PAUSED, _E.MESSAGE_POSTED_TO_WAITING_RUN): _S.PAUSED,
    (_S.PAUSED, _E.RUN_GOES_ON): _S.RUNNING,
    (_S.PAUSED, _E.RUN_GOES_ON_AT_LIMIT): _S.QUEUED,
    (_S.PAUSED, _E.DAEMON_RESTARTED): _S.PAUSED,
    (_S.PAUSED, _E.RESUME_WITH_WORK): _S.RUNNING,
    (_S.PAUSED, _E.RESUME_WITHOUT_WORK): _S.IDLE,
    (_S.PAUSED, _E.ROLLBACK): _S.IDLE,
    (_S.PAUSED, _E.CANCEL): _S.IDLE,
    (_S.PAUSED, _E.ARCHIVE): _S.ARCHIVED,
}


class RunState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


_R = RunState

RUN_MOVES: Mapping[RunState, frozenset[RunState]] = {
    _R.PENDING: frozenset({_R.RUNNING, _R.CANCELLED, _R.INTERRUPTED}),
    _R.RUNNING: frozenset({_R.SUCCEEDED, _R.FAILED, _R.CANCELLED, _R.INTERRUPTED}),
    **dict.fromkeys((_R.SUCCEEDED, _R.FAILED, _R.CANCELLED, _R.INTERRUPTED), frozenset()),
}


class ToolCallState(StrEnum):
    """One tool call. `waiting`: a person is asked, and no run waits for it; the call has a result once that
    is answered, or a later run resumes it."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


_T = ToolCallState

TOOL_CALL_MOVES: Mapping[ToolCallState, frozenset[ToolCallState]] = {
    _T.PENDING: frozenset({_T.RUNNING, _T.WAITING, _T.FAILED, _T.CANCELLED, _T.INTERRUPTED}),
    _T.RUNNING: frozenset({_T.WAITING, _T.SUCCEEDED, _T.FAILED, _T.CANCELLED, _T.INTERRUPTED}),
    _T.WAITING: frozenset({_T.RUNNING, _T.SUCCEEDED, _T.FAILED, _T.CANCELLED, _T.INTERRUPTED}),
    **dict.fromkeys((_T.SUCCEEDED, _T.FAILED, _T.CANCELLED, _T.INTERRUPTED), frozenset()),
}


class InteractionState(StrEnum):
    """What became of a question to a human. `cancelled`: its run was stopped; `expired`: the daemon
    that waited for the answer is gone."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


_I = InteractionState

INTERACTION_MOVES: Mapping[InteractionState, frozenset[InteractionState]] = {
    _I.PENDING: frozenset({_I.ANSWERED, _I.CANCELLED, _I.EXPIRED}),
    **dict.fromkeys((_I.ANSWERED, _I.CANCELLED, _I.EXPIRED), frozenset()),
}


class CompactionState(StrEnum):
    """One compaction. It is proposed until it is carried out, at once or when an operator approves."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    REJECTED = "rejected"


_C = CompactionState

COMPACTION_MOVES: Mapping[CompactionState, frozenset[CompactionState]] = {
    _C.PROPOSED: frozenset({_C.APPLIED, _C.REJECTED}),
    **dict.fromkeys((_C.APPLIED, _C.REJECTED), frozenset()),
}


class IssueState(StrEnum):
    """One issue, from its filing to its end."""

    OPEN = "open"
    TRIAGED = "triaged"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"
    REJECTED = "rejected"
    REOPENED = "reopened"


_Q = IssueState

ISSUE_MOVES: Mapping[IssueState, frozenset[IssueState]] = {
    _Q.OPEN: frozenset({_Q.TRIAGED, _Q.ASSIGNED, _Q.IN_PROGRESS, _Q.REJECTED}),
    _Q.REOPENED: frozenset({_Q.TRIAGED, _Q.ASSIGNED, _Q.IN_PROGRESS, _Q.REJECTED}),
    _Q.TRIAGED: frozenset({_Q.ASSIGNED, _Q.IN_PROGRESS, _Q.RESOLVED, _Q.REJECTED}),
    _Q.ASSIGNED: frozenset({_Q.TRIAGED, _Q.IN_PROGRESS, _Q.RESOLVED, _Q.REJECTED}),
    _Q.IN_PROGRESS: frozenset({_Q.ASSIGNED, _Q.RESOLVED, _Q.REJECTED}),
    _Q.RESOLVED: frozenset({_Q.REOPENED}),
    _Q.REJECTED: frozenset({_Q.REOPENED}),
}


class IssueTodoState(StrEnum):
    """One entry of an issue's checklist. A completed criterion goes back to pending when the operator does
    not accept it."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


_O = IssueTodoState

ISSUE_TODO_MOVES: Mapping[IssueTodoState, frozenset[IssueTodoState]] = {
    _O.PENDING: frozenset({_O.IN_PROGRESS, _O.COMPLETED, _O.ABANDONED}),
    _O.IN_PROGRESS: frozenset({_O.PENDING, _O.COMPLETED, _O.ABANDONED}),
    _O.COMPLETED: frozenset({_O.PENDING, _O.IN_PROGRESS, _O.ABANDONED}),
    _O.ABANDONED: frozenset({_O.PENDING, _O.IN_PROGRESS}),
}


class TodoProposalState(StrEnum):
    """What became of an entry that a subagent proposed."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


_N = TodoProposalState

TODO_PROPOSAL_MOVES: Mapping[TodoProposalState, frozenset[TodoProposalState]] = {
    _N.PROPOSED: frozenset({_N.ACCEPTED, _N.REJECTED}),
    **dict.fromkeys((_N.ACCEPTED, _N.REJECTED), frozenset()),
}


class WorkflowRunState(StrEnum):
    """One run of a workflow. While it waits for a human it is running."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


_W = WorkflowRunState

WORKFLOW_RUN_MOVES: Mapping[WorkflowRunState, frozenset[WorkflowRunState]] = {
    _W.QUEUED: frozenset({_W.RUNNING, _W.FAILED, _W.CANCELLED}),
    _W.RUNNING: frozenset({_W.SUCCEEDED, _W.FAILED, _W.CANCELLED}),
    **dict.fromkeys((_W.SUCCEEDED, _W.FAILED, _W.CANCELLED), frozenset()),
}


OPERATOR_EVENTS = frozenset(
    {_E.MESSAGE_POSTED, _E.RESUME_WITH_WORK, _E.RESUME_WITHOUT_WORK, _E.CANCEL, _E.ROLLBACK, _E.ARCHIVE}
)
"""What an operator can do; the other events happen to a session."""


def legal_for_operators(state: SessionState) -> list[str]:
    """Return what an operator can do in `state`, in a stable order, as errors name it."""
    moves = (event for (origin, event) in SESSION_MOVES if origin is state)
    return [event.value for event in moves if event in OPERATOR_EVENTS]


_SPOKEN = {
    _E.MESSAGE_POSTED: "posting a message",
    _E.RESUME_WITH_WORK: "resuming",
    _E.RESUME_WITHOUT_WORK: "resuming",
    _E.ROLLBACK: "rolling back",
    _E.CANCEL: "cancelling",
    _E.ARCHIVE: "archiving",
}


def _spoken(state: SessionState, event: SessionEvent) -> str:
    if (state, event) == (SessionState.IDLE, SessionEvent.RESUME_WITH_WORK):
        return "continuing an unfinished answer"  # nothing is paused: `resume` is refused
    return _SPOKEN.get(event, event.value)


def _possible(state: SessionState) -> str:
    words = dict.fromkeys(_spoken(state, SessionEvent(event)) for event in legal_for_operators(state))
    return f"Possible: {', '.join(words)}." if words else "It is archived: open another session."


def move_session(state: SessionState, event: SessionEvent) -> SessionState:
    """Return the next state; raise `Conflict` when the event is not legal."""
    found = SESSION_MOVES.get((state, event))
    if found is None:
        wanted = _spoken(state, event)
        raise Conflict(
            f"The session is {state.value}: {wanted} is not possible now. {_possible(state)}",
            reason="invalid_transition",
            details={"state": state.value, "legal_events": legal_for_operators(state)},
        )
    return found


_StateT = TypeVar(
    "_StateT",
    RunState,
    ToolCallState,
    InteractionState,
    LanguageServerState,
    DebugState,
    PluginState,
    CompactionState,
    IssueState,
    IssueTodoState,
    TodoProposalState,
    WorkflowRunState,
    WorkspaceState,
    AttemptsState,
    CheckState,
)


def move(current: _StateT, target: _StateT) -> _StateT:
    """Return `target` when the move is in its table; raise `Conflict` when it is not."""
    if target not in _MOVES[current.__class__][current]:
        legal = sorted(state.value for state in _MOVES[current.__class__][current])
        raise Conflict(
            f"What is {current.value} cannot become {target.value}.",
            reason="invalid_transition",
            details={"state": current.value, "legal": legal},
        )
    return target


_MOVES: Mapping[type[StrEnum], Mapping[Any, frozenset[Any]]] = {
    RunState: RUN_MOVES,
    ToolCallState: TOOL_CALL_MOVES,
    InteractionState: INTERACTION_MOVES,
    CompactionState: COMPACTION_MOVES,
    IssueState: ISSUE_MOVES,
    IssueTodoState: ISSUE_TODO_MOVES,
    TodoProposalState: TODO_PROPOSAL_MOVES,
    WorkflowRunState: WORKFLOW_RUN_MOVES,
    **MOVES_OF_BRIDGES,
    **MOVES_OF_WORKSPACES,
}
