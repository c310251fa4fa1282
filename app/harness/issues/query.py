"""What is read of issues: one with all that belongs to it, and pages of them.

Owns: the shapes. Never: SQL (`storage.repositories.issues`) or how they are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.errors import ValidationFailed
from app.harness.issues.search_text import read_search
from app.states import IssueState
from app.storage.models import Issue, IssueUpdate, Upload
from app.storage.pages import decode_cursor, encode_cursor
from app.storage.search_query import TIERS, Scope
from app.storage.unit_of_work import UnitOfWork

CLOSED = (IssueState.RESOLVED.value, IssueState.REJECTED.value)
NOT_CLOSED = tuple(state.value for state in IssueState if state.value not in CLOSED)
MAX_OFFSET = 1_000_000
SHOWN_UPDATES = 200
"""How much of its history an issue is shown with."""


@dataclass(frozen=True, slots=True)
class LinkedIssue:
    """A link as one of its two issues sees it: `outgoing` is false when the other one has it."""

    id: str
    kind: str
    outgoing: bool
    number: int
    title: str
    status: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class TodoCounts:
    """How many entries of the checklist there are, without those that were abandoned."""

    total: int = 0
    completed: int = 0
    in_progress: int = 0
    criteria: int = 0
    criteria_accepted: int = 0


@dataclass(frozen=True, slots=True)
class IssueDetail:
    """One issue; the newest `updates`, from the oldest of them on, and how many there are before them."""

    issue: Issue
    updates: Sequence[IssueUpdate]
    earlier_updates: int
    links: Sequence[LinkedIssue]
    attachments: Sequence[Upload]
    todos: TodoCounts


@dataclass(frozen=True, slots=True)
class IssueList:
    """One page. `total` counts all pages; `offset` is where this one begins."""

    items: Sequence[Issue]
    total: int
    limit: int
    offset: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class IssueFilter:
    """Which issues: of these statuses (none: of all), this assignment, found by this search."""

    statuses: Sequence[str] = field(default=())
    assignment: str | None = None
    search: str | None = None
    internal: bool = True
    """Whether a search looks through the comments for operators, too."""

    def page(
        self, uow: UnitOfWork, project_id: str, *, limit: int, offset: int = 0, cursor: str | None = None
    ) -> IssueList:
        """Return a page; raise `ValidationFailed` when search, cursor or offset cannot be."""
        if cursor is not None and offset:
            raise ValidationFailed("give offset or cursor", fields={"offset": "give either offset or cursor"})
        if not 0 <= offset <= MAX_OFFSET:
            raise ValidationFailed(
                "the offset is too large", fields={"offset": f"is at most {MAX_OFFSET}; narrow the filter"}
            )
        if self.search is not None:
            return self._found(uow, project_id, self.search, limit, offset, cursor)
        below: int | None = None
        if cursor is not None:
            below, offset = decode_cursor(cursor, "issues", (int, int))
        items, total = uow.issues.page(
            project_id,
            statuses=self.statuses,
            assignment=self.assignment,
            below=below,
            limit=limit + 1,
            offset=offset if below is None else 0,
        )
        shown = items[:limit]
        last = (shown[-1].number, offset + limit) if len(items) > limit else None
        more = encode_cursor("issues", last) if last is not None else None
        return IssueList(shown, total, limit, offset, more)

    def _found(
        self, uow: UnitOfWork, project_id: str, search: str, limit: int, offset: int, cursor: str | None
    ) -> IssueList:
        scope = Scope(project_id, self.statuses, self.assignment, self.internal)
        after: tuple[int, int] | None = None
        if cursor is not None:
            tier, key, offset = decode_cursor(cursor, "found issues", (int, int, int))
            if not 0 <= tier < len(TIERS):
                raise ValidationFailed(
                    "the cursor is not valid", fields={"cursor": "is not a cursor of this list"}
                )
            after = tier, key
        hits, total = uow.issues.found(
            read_search(search), scope, limit=limit + 1, offset=offset if after is None else 0, after=after
        )
        shown = hits[:limit]
        last = (*shown[-1][0], offset + limit) if len(hits) > limit else None
        more = encode_cursor("found issues", last) if last is not None else None
        return IssueList([issue for _, issue in shown], total, limit, offset, more)


def detail_of(uow: UnitOfWork, issue: Issue, *, internal: bool) -> IssueDetail:
    """Return an issue with its history, links, attachments and the counts of its checklist."""
    newest = uow.issue_updates.list(issue.id, internal=internal, limit=SHOWN_UPDATES)
    return IssueDetail(
        issue=issue,
        updates=newest.items[::-1],
        earlier_updates=newest.total - len(newest.items),
        links=links_of(uow, issue),
        attachments=uow.uploads.of_user(issue.id),
        todos=_counts(uow, issue),
    )


def links_of(uow: UnitOfWork, issue: Issue) -> list[LinkedIssue]:
    """Return the links from and to an issue, the oldest first."""
    shown: list[LinkedIssue] = []
    links = uow.issue_links.of_issue(issue.id)
    others = uow.issues.by_ids(
        [link.target_id if link.issue_id == issue.id else link.issue_id for link in links]
    )
    for link in links:
        outgoing = link.issue_id == issue.id
        other = others.get(link.target_id if outgoing else link.issue_id)
        if other is not None:
            shown.append(
                LinkedIssue(
                    link.id,
                    link.kind,
                    outgoing,
                    other.number,
                    other.title,
                    other.status,
                    link.created_by,
                    link.created_at,
                )
            )
    return shown


def _counts(uow: UnitOfWork, issue: Issue) -> TodoCounts:
    todos = [todo for todo in uow.issue_todos.of_issue(issue.id) if todo.status != "abandoned"]
    criteria = [todo for todo in todos if todo.kind == "criterion"]
    return TodoCounts(
        total=len(todos),
        completed=sum(todo.status == "completed" for todo in todos),
        in_progress=sum(todo.status == "in_progress" for todo in todos),
        criteria=len(criteria),
        criteria_accepted=sum(todo.accepted_at is not None for todo in criteria),
    )
