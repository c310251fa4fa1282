"""Which issue a session works on.

Owns: the check that the issue is there, in the unit that binds a session to it. Never: what is worked on.
Several sessions may be bound to the same issue, at once or one after the other: the list is the issue's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Conflict
from app.harness.issues.moves import require_issue
from app.states import SessionState
from app.storage.models import Session
from app.storage.unit_of_work import UnitOfWork

ISSUE = "issue_number"


def open_session(uow: UnitOfWork, row: Session) -> None:
    """Store a new session; raise `NotFound` (`issue_not_found`) when there is no such issue."""
    _check(uow, row.project_id, row.issue_number)
    uow.sessions.add(row)


def change_session(uow: UnitOfWork, row: Session, values: Mapping[str, Any]) -> None:
    """Store new values of a session; raise `NotFound` (`issue_not_found`) for a binding that cannot be."""
    _check(uow, row.project_id, values.get(ISSUE))
    uow.sessions.update(row.id, **values)


def refuse_binding(row: Session, values: Mapping[str, Any]) -> None:
    """Raise `Conflict` when an archived session is to have another issue, model or mode."""
    if values.keys() & {ISSUE, "model", "mode"} and row.state == SessionState.ARCHIVED.value:
        raise Conflict(
            "The session is archived: it works on nothing any more. Open a new one.",
            reason="invalid_transition",
            details={"state": row.state},
        )


def _check(uow: UnitOfWork, project_id: str, number: int | None) -> None:
    if number is not None:
        require_issue(uow, project_id, number)
