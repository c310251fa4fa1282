"""Editing an issue: title, text, and whom it is assigned to.

Owns: what an edit changes and which entries of the history it leaves; what is asked of who does assigned
work. Never: starting that work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from app.errors import Conflict
from app.harness.issues.author import Author
from app.harness.issues.moves import change_issue, move_issue, note_update
from app.harness.issues.query import CLOSED
from app.ids import now_ms
from app.states import ISSUE_MOVES, IssueState
from app.storage.models import Issue
from app.storage.unit_of_work import UnitOfWork

Begin = Callable[[], Awaitable[None]]
"""Starts what a unit has stored, once it is committed. Does not raise."""
NOT_GIVEN: Final = "\0"
"""Stands for an assignment that is left as it is, where None takes it away."""


class AssignmentTargets(Protocol):
    """The possible assignees of issues, and what an assignment starts."""

    async def check(self, project_id: str, target: str) -> None:
        """Raise `invalid_assignment` when there is no such target, saying what there is."""

    def assigned(self, uow: UnitOfWork, issue: Issue, author: Author) -> Begin | None:
        """Add to the unit what starts the work on an issue that was just assigned.

        Returns what begins it, for who waits for the commit. Raises `invalid_assignment`."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to change; None, or `NOT_GIVEN` for the assignment, leaves a field as it is."""

    title: str | None
    body: str | None
    assignment: str | None

    @property
    def is_empty(self) -> bool:
        return self.title is None and self.body is None and self.assignment == NOT_GIVEN

    @property
    def target(self) -> str | None:
        """The assignee, if there is one."""
        return None if self.assignment == NOT_GIVEN else self.assignment


def apply_edit(uow: UnitOfWork, issue: Issue, edit: Edit, author: Author) -> tuple[Issue, tuple[str, ...]]:
    """Carry an edit out; return the issue as it is then, and the names of the fields that have changed.

    Raises `Conflict` when a closed issue is assigned."""
    at = now_ms()
    values: dict[str, Any] = {}
    if edit.title is not None and edit.title != issue.title:
        values["title"] = edit.title
        _note(uow, issue, author, "title_edit", at, issue.title, edit.title)
    if edit.body is not None and edit.body != issue.body:
        values["body"] = edit.body
        if issue.original_body is None:
            values["original_body"] = issue.body
        _note(uow, issue, author, "body_edit", at, issue.body, edit.body)
    if _assigns(issue, edit):
        if edit.assignment is not None and issue.status in CLOSED:
            raise Conflict(
                f"Issue #{issue.number} is {issue.status}: nobody would work on it. Reopen it first.",
                reason="invalid_transition",
                details={"state": issue.status, "from": issue.status, "legal": [IssueState.REOPENED.value]},
            )
        values["assignment"] = edit.assignment
        _note(uow, issue, author, "assignment_change", at, issue.assignment, edit.assignment)
    if not values:
        return issue, ()
    changed = change_issue(uow, issue, at, values)
    # What is in work stays so when somebody else gets it.
    if values.get("assignment") and _waits(issue):
        changed = move_issue(uow, changed, IssueState.ASSIGNED, author)
    return changed, tuple(name for name in ("title", "body", "assignment") if name in values)


def _assigns(issue: Issue, edit: Edit) -> bool:
    """Whether an edit gives the issue to somebody, or takes it away. To the same target again, it does so
    when the issue waits for work: a reopened one starts again."""
    if edit.assignment == NOT_GIVEN:
        return False
    return edit.assignment != issue.assignment or (edit.assignment is not None and _waits(issue))


def _waits(issue: Issue) -> bool:
    status = IssueState(issue.status)
    return status is not IssueState.IN_PROGRESS and IssueState.ASSIGNED in ISSUE_MOVES[status]


def _note(
    uow: UnitOfWork, issue: Issue, author: Author, kind: Any, at: int, old: str | None, new: str | None
) -> None:
    field = {"title_edit": "title", "body_edit": "body", "assignment_change": "assignment"}[kind]
    details = {f"old_{field}": old, f"new_{field}": new}
    note_update(uow, issue, author, kind, at, details=details)
