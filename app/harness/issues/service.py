"""Issues of projects: file, show, list, edit, comment, move.

Owns: what each of these means, for REST, tools, command line and web page alike. Never: who may do it,
checklists (`todos`), or what an assignment starts (`AssignmentTargets`). Every change is one unit of work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import NotFound
from app.events.issues import IssueChange, TodoChanged
from app.harness.issues.author import Author
from app.harness.issues.changes import Changed, IssueChanges, changed_event
from app.harness.issues.commands import done_to
from app.harness.issues.editing import NOT_GIVEN, AssignmentTargets, Begin, Edit, apply_edit
from app.harness.issues.fields import Visibility, checked_assignment, checked_text, checked_title, wrong
from app.harness.issues.listing import todo_event
from app.harness.issues.moves import (
    change_issue,
    move_issue,
    note_update,
    open_criteria,
    require_issue,
)
from app.harness.issues.query import IssueDetail, IssueFilter, IssueList, detail_of
from app.harness.issues.relations import IssueRelations
from app.harness.uploads.service import UploadService
from app.ids import new_id, now_ms
from app.states import IssueState
from app.storage.models import Issue, IssueTodo, IssueUpdate
from app.storage.pages import Page
from app.storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Moved:
    """An issue after a move, and the status before it."""

    issue: Issue
    before: str


@dataclass(frozen=True, slots=True)
class Edited:
    """An issue after an edit, and the fields that have changed."""

    issue: Issue
    updated_fields: tuple[str, ...]


class IssueService:
    """All issues of the daemon. Numbers count within a project.

    Every method raises `NotFound` (`issue_not_found`, or when there is no such project)."""

    def __init__(self, changes: IssueChanges, uploads: UploadService, targets: AssignmentTargets) -> None:
        """`targets` decides about assignments and starts the work."""
        self.changes = changes
        self.relations = IssueRelations(changes, uploads)
        self._storage = changes.storage
        self._targets = targets
        self._editing: set[asyncio.Task[Edited]] = set()

    async def create(
        self,
        project_id: str,
        author: Author,
        *,
        title: str,
        body: str = "",
        attachments: Sequence[str] = (),
    ) -> Issue:
        """File an issue, with the uploads of these ids. Raises `ValidationFailed`."""
        title, body = checked_title(title), checked_text("body", body)

        def statements(uow: UnitOfWork) -> Changed[Issue]:
            number = uow.issues.next_number(project_id)
            if number is None:
                raise _no_project(project_id)
            at = now_ms()
            issue = Issue(
                id=new_id("iss"),
                project_id=project_id,
                number=number,
                title=title,
                body=body,
                created_by=author.name,
                created_at=at,
                updated_at=at,
            )
            uow.issues.add(issue)
            self.relations.claim(uow, issue, attachments)
            self.changes.audit(uow, "kaged.issue.created", author, issue, {"title": title})
            return Changed(issue, [changed_event(issue, "created", author)])

        return await self.changes.store(project_id, None, statements)

    async def get(self, project_id: str, number: int, *, internal: bool = True) -> IssueDetail:
        """Return an issue with all that belongs to it; `internal`: notes for operators, too."""
        return await self._storage.read(
            lambda uow: detail_of(uow, require_issue(uow, project_id, number), internal=internal)
        )

    async def updates(
        self,
        project_id: str,
        number: int,
        *,
        internal: bool = True,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[IssueUpdate]:
        """Return a page of an issue's history, the newest first."""

        def read(uow: UnitOfWork) -> Page[IssueUpdate]:
            issue = require_issue(uow, project_id, number)
            return uow.issue_updates.list(issue.id, internal=internal, limit=limit, cursor=cursor)

        return await self._storage.read(read)

    async def list(
        self,
        project_id: str,
        wanted: IssueFilter,
        *,
        limit: int = 25,
        offset: int = 0,
        cursor: str | None = None,
    ) -> IssueList:
        """Return a page of issues: the newest first, or with a search the best first.

        Raises `ValidationFailed` for a search or cursor that cannot be read."""

        def read(uow: UnitOfWork) -> IssueList:
            if uow.projects.get(project_id) is None:
                raise _no_project(project_id)
            return wanted.page(uow, project_id, limit=limit, offset=offset, cursor=cursor)

        return await self._storage.read(read)

    async def edit(
        self,
        project_id: str,
        number: int,
        author: Author,
        *,
        title: str | None = None,
        body: str | None = None,
        assignment: str | None = NOT_GIVEN,
    ) -> Edited:
        """Change what is given; an assignment of None takes it away. The first text is kept.

        An assignment moves an issue that is not in work to `assigned` and starts what it is assigned to.
        Raises `ValidationFailed` (also `invalid_assignment`), `Conflict` for a closed issue."""
        edit = Edit(
            title=None if title is None else checked_title(title),
            body=None if body is None else checked_text("body", body),
            assignment=assignment,
        )
        if edit.is_empty:
            raise wrong("title", "give at least one of title, body and assignment")
        if edit.target is not None:
            await self._targets.check(project_id, checked_assignment(edit.target))

        begin: list[Begin | None] = []

        def statements(uow: UnitOfWork) -> Changed[Edited]:
            issue = require_issue(uow, project_id, number)
            edited, fields = apply_edit(uow, issue, edit, author)
            if not fields:
                return Changed(Edited(issue, ()))
            data: dict[str, Any] = {"updated_fields": list(fields)}
            if "assignment" in fields:
                data |= {"assignment": edited.assignment, "old_assignment": issue.assignment}
            self.changes.audit(uow, "kaged.issue.updated", author, issue, data)
            if edited.status != issue.status:
                self.changes.audit_move(uow, issue, edited, author)
            if "assignment" in fields and edited.assignment is not None:
                begin.append(self._targets.assigned(uow, edited, author))
            change: IssueChange = "assigned" if "assignment" in fields else "edited"
            return Changed(Edited(edited, fields), [changed_event(edited, change, author)])

        async def carry_out() -> Edited:
            edited = await self.changes.store(project_id, number, statements)
            for start in begin:
                if start is not None:
                    await start()
            return edited

        # What is assigned begins, also when the client goes away meanwhile.
        editing = asyncio.create_task(carry_out(), name="edit of an issue")
        self._editing.add(editing)
        editing.add_done_callback(self._editing.discard)
        return await asyncio.shield(editing)

    async def comment(
        self, project_id: str, number: int, author: Author, *, body: str, visibility: Visibility = "all"
    ) -> IssueUpdate:
        """Add a comment for all, or for operators only. Raises `ValidationFailed`."""
        body = checked_text("body", body, required=True)

        def statements(uow: UnitOfWork) -> Changed[IssueUpdate]:
            issue = require_issue(uow, project_id, number)
            at = now_ms()
            update = note_update(uow, issue, author, "comment", at, body=body, visibility=visibility)
            issue = change_issue(uow, issue, at)
            data = {"update_id": update.id, "visibility": visibility}
            self.changes.audit(uow, "kaged.issue.commented", author, issue, data)
            return Changed(update, [changed_event(issue, "commented", author)])

        return await self.changes.store(project_id, number, statements)

    async def transition(
        self, project_id: str, number: int, author: Author, *, to: str, comment: str | None = None
    ) -> Moved:
        """Move an issue to another status; see `move_issue` for what is raised."""
        target = IssueState(to)

        def statements(uow: UnitOfWork) -> Changed[Moved]:
            issue = require_issue(uow, project_id, number)
            left = open_criteria(uow, issue) if target is IssueState.RESOLVED else []
            moved = move_issue(uow, issue, target, author, comment=comment)
            self.changes.audit_move(uow, issue, moved, author)
            accepted = self._note_accepted(uow, moved, left, author)
            events = [*accepted, changed_event(moved, "transitioned", author)]
            return Changed(Moved(moved, issue.status), events)

        return await self.changes.store(project_id, number, statements)

    def _note_accepted(
        self, uow: UnitOfWork, issue: Issue, criteria: Sequence[IssueTodo], author: Author
    ) -> Sequence[TodoChanged]:
        """Store the audit rows of criteria that a resolution has accepted; return the event of it."""
        for todo in criteria:
            self.changes.audit(uow, "kaged.todo.accepted", author, issue, done_to("accepted", todo).data)
        if not criteria:
            return ()
        return (todo_event(issue, uow.issue_todos.of_issue(issue.id), "accepted", author.name),)


def _no_project(project_id: str) -> NotFound:
    return NotFound(f"There is no project {project_id}.", details={"project_id": project_id})
