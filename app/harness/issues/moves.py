"""What is done to an issue inside a unit of work: its history, its moves, its sign-off.

Owns: the history's entries, and what belongs to a change of the status. Never: a unit of its own (`changes`),
or events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from app.errors import Conflict, KagedError, NotFound
from app.harness.issues.author import Author
from app.harness.issues.fields import MAX_NUMBER, Visibility, checked_text, wrong
from app.ids import new_id, now_ms
from app.states import ISSUE_MOVES, IssueState, IssueTodoState, move
from app.storage.models import Issue, IssueTodo, IssueUpdate
from app.storage.unit_of_work import UnitOfWork

UpdateKind = Literal["comment", "status_change", "title_edit", "body_edit", "assignment_change"]

_COMMENT_REQUIRED = {
    IssueState.REJECTED: "Rejection requires an explanatory comment.",
    IssueState.RESOLVED: "Resolution requires a comment that says what was done.",
}


def issue_not_found(project_id: str, number: int) -> NotFound:
    possible = abs(number) <= MAX_NUMBER  # others may have thousands of digits
    return NotFound(
        f"There is no issue {f'#{number}' if possible else 'of this number'} in this project. "
        "List the issues to see which there are.",
        reason="issue_not_found",
        details={"project_id": project_id, **({"number": number} if possible else {})},
    )


def require_issue(uow: UnitOfWork, project_id: str, number: int) -> Issue:
    """Return the issue; raise `NotFound` (`issue_not_found`)."""
    found = uow.issues.by_number(project_id, number) if 0 < number <= MAX_NUMBER else None
    if found is None:
        raise issue_not_found(project_id, number)
    return found


def change_issue(uow: UnitOfWork, issue: Issue, at: int, columns: Mapping[str, Any] | None = None) -> Issue:
    """Store new values of columns; return the issue as it is then."""
    values = {**(columns or {}), "updated_at": max(at, issue.updated_at)}
    uow.issues.update(issue.id, **values)
    return issue.model_copy(update=values)


def note_update(
    uow: UnitOfWork,
    issue: Issue,
    author: Author,
    kind: UpdateKind,
    at: int,
    *,
    body: str | None = None,
    details: dict[str, Any] | None = None,
    visibility: Visibility = "all",
) -> IssueUpdate:
    """Add an entry to the history; its author is who made the change."""
    update = IssueUpdate(
        id=new_id("isu"),
        issue_id=issue.id,
        author=author.name,
        kind=kind,
        body=body,
        details=details or {},
        visibility=visibility,
        created_at=at,
    )
    uow.issue_updates.add(update)
    return update


def illegal_move(issue: Issue, target: str) -> Conflict:
    """Return `invalid_transition` with what is possible instead."""
    legal = sorted(state.value for state in ISSUE_MOVES[IssueState(issue.status)])
    return Conflict(
        f"Issue #{issue.number} is {issue.status} and cannot become {target}. "
        f"From {issue.status} it can become: {', '.join(legal)}.",
        reason="invalid_transition",
        details={"state": issue.status, "from": issue.status, "legal": legal},
    )


def open_criteria(uow: UnitOfWork, issue: Issue) -> list[IssueTodo]:
    """Return the criteria of acceptance that no operator has accepted yet."""
    return [
        todo
        for todo in uow.issue_todos.of_issue(issue.id)
        if todo.kind == "criterion"
        and todo.status != IssueTodoState.ABANDONED.value
        and todo.accepted_at is None
    ]


def move_issue(
    uow: UnitOfWork, issue: Issue, target: IssueState, author: Author, *, comment: str | None = None
) -> Issue:
    """Move an issue to another status, with its entries in the history; return it as it is then.

    Raises `Conflict` (`invalid_transition`) for a move that is not legal, or an agent's resolution while
    criteria are not accepted; `ValidationFailed` when a comment is missing. An operator's resolution
    accepts the criteria that are left."""
    if target not in ISSUE_MOVES[IssueState(issue.status)]:
        raise illegal_move(issue, target.value)
    comment = None if comment is None or not comment.strip() else checked_text("comment", comment)
    if comment is None and target in _COMMENT_REQUIRED:
        raise wrong("comment", _COMMENT_REQUIRED[target])
    at = now_ms()
    values: dict[str, Any] = {"status": target.value, "resolved_at": None, "resolved_by": None}
    if target is IssueState.RESOLVED:
        _settle_criteria(uow, issue, author, at)
        values |= {"resolved_at": at, "resolved_by": author.name}
    details = {"old_status": issue.status, "new_status": target.value}
    note_update(uow, issue, author, "status_change", at, details=details)
    moved = change_issue(uow, issue, at, values)
    if comment is not None:
        note_update(uow, issue, author, "comment", at, body=comment)
    return moved


def _settle_criteria(uow: UnitOfWork, issue: Issue, author: Author, at: int) -> None:
    left = open_criteria(uow, issue)
    if left and author.is_agent:
        raise _not_accepted(issue, left)
    for todo in left:
        values: dict[str, Any] = {"accepted_at": at, "accepted_by": author.name, "updated_at": at}
        if todo.status != IssueTodoState.COMPLETED.value:
            done = move(IssueTodoState(todo.status), IssueTodoState.COMPLETED).value
            values |= {"status": done, "completed_at": at, "completed_by": author.name}
        uow.issue_todos.update(todo.id, **values)


def _not_accepted(issue: Issue, criteria: list[IssueTodo]) -> KagedError:
    names = [todo.content for todo in criteria]
    shown = "; ".join(f"“{name[:100]}”" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return Conflict(
        f"Issue #{issue.number} has criteria that no operator has accepted yet: {shown}{more}. Meet them, "
        "mark them done with kaged.todo, and let the operator accept them; that resolves the issue.",
        reason="invalid_transition",
        details={
            "state": issue.status,
            "from": issue.status,
            "legal": sorted(
                state.value
                for state in ISSUE_MOVES[IssueState(issue.status)]
                if state is not IssueState.RESOLVED
            ),
            "criteria": names,
        },
    )
