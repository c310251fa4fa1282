"""Queries about issues, their history, links and checklists."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, func, select, update

from app.storage.models import Issue, IssueLink, IssueTodo, IssueUpdate, Project, TodoProposal
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById, table_of
from app.storage.text import storable


class IssueRepository(RowsById[Issue]):
    model = Issue

    def next_number(self, project_id: str) -> int | None:
        """Give out the next number of a project, which holds once the transaction is committed; None when
        there is no such project. Two writers at once wait for each other here."""
        projects = table_of(Project)
        statement = (
            update(projects)
            .where(projects.c.id == storable(project_id))
            .values(issues_numbered=projects.c.issues_numbered + 1)
            .returning(projects.c.issues_numbered)
        )
        found = self.connection.execute(statement).scalar()
        return None if found is None else int(found)

    def by_number(self, project_id: str, number: int) -> Issue | None:
        """Return the issue with that number in the project."""
        return self._first(self.c.project_id == storable(project_id), self.c.number == number)

    def page(
        self,
        project_id: str,
        *,
        statuses: Sequence[str] = (),
        assignment: str | None = None,
        below: int | None = None,
        limit: int,
        offset: int = 0,
    ) -> tuple[builtins.list[Issue], int]:
        """Return some of a project's issues, the newest first, and how many the filter lets through in
        all. `below` is a number: those before it only."""
        where: builtins.list[Any] = [self.c.project_id == storable(project_id)]
        if statuses:
            where.append(self.c.status.in_([storable(status) for status in statuses]))
        if assignment is not None:
            where.append(self.c.assignment == storable(assignment))
        page = where if below is None else [*where, self.c.number < below]
        statement = select(Issue).where(*page).order_by(self.c.number.desc())
        return self._all(statement.limit(limit).offset(offset)), self._count(where)


class IssueUpdateRepository(RowsById[IssueUpdate]):
    model = IssueUpdate

    def of_issue(self, issue_id: str) -> builtins.list[IssueUpdate]:
        """Return the whole history, the oldest first."""
        statement = select(IssueUpdate).where(self.c.issue_id == storable(issue_id))
        return self._all(statement.order_by(self.c.created_at, self.c.id))


class IssueLinkRepository(RowsById[IssueLink]):
    model = IssueLink

    def of_issue(self, issue_id: str) -> builtins.list[IssueLink]:
        """Return the links from and to an issue, the oldest first."""
        key = storable(issue_id)
        statement = select(IssueLink).where((self.c.issue_id == key) | (self.c.target_id == key))
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def remove(self, link_id: str) -> None:
        """Delete a link, if there is such a one."""
        self.connection.execute(delete(self.table).where(self.c.id == storable(link_id)))


class IssueTodoRepository(RowsById[IssueTodo]):
    model = IssueTodo

    def of_issue(self, issue_id: str) -> builtins.list[IssueTodo]:
        """Return the whole checklist in its order, what was abandoned included."""
        statement = select(IssueTodo).where(self.c.issue_id == storable(issue_id))
        return self._all(statement.order_by(self.c.position, self.c.id))

    def open_of_issue(self, issue_id: str) -> builtins.list[IssueTodo]:
        """Return what is still to be done of a checklist, in its order."""
        still = self.c.status.in_(("pending", "in_progress"))
        statement = select(IssueTodo).where(self.c.issue_id == storable(issue_id), still)
        return self._all(statement.order_by(self.c.position, self.c.id))

    def last_position(self, issue_id: str) -> int:
        """Return the highest position; -1 when there is no entry."""
        found = self._scalar(select(func.max(self.c.position)).where(self.c.issue_id == storable(issue_id)))
        return -1 if found is None else int(found)


class TodoProposalRepository(RowsById[TodoProposal]):
    model = TodoProposal

    def of_session(self, session_id: str, *, state: str | None = None) -> builtins.list[TodoProposal]:
        """Return what was proposed in a session, the oldest first."""
        where: builtins.list[Any] = [self.c.session_id == storable(session_id)]
        if state is not None:
            where.append(self.c.state == storable(state))
        statement = select(TodoProposal).where(*where)
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def page(
        self, session_id: str, *, state: str | None = None, limit: int = 25, cursor: str | None = None
    ) -> Page[TodoProposal]:
        """Return a page of what was proposed in a session, the newest first."""
        where: builtins.list[Any] = [self.c.session_id == storable(session_id)]
        if state is not None:
            where.append(self.c.state == storable(state))
        return self._newest_first("todo_proposals", where, limit=limit, cursor=cursor)
