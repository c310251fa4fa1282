"""Queries about issues, their history, links and checklists."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from sqlalchemy import Connection, delete, select, update

from app.storage.models import Issue, IssueLink, IssueTodo, IssueUpdate, Project, TodoProposal
from app.storage.pages import Page
from app.storage.repositories.issue_search import IssueSearchRepository
from app.storage.repositories.rows import RowsById, table_of
from app.storage.search_query import Scope, SearchQuery
from app.storage.text import storable

_SEARCHED = frozenset({"title", "body", "status", "assignment"})


class IssueRepository(RowsById[Issue]):
    """The index of the search is kept in step with every row."""

    model = Issue

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.search = IssueSearchRepository(connection)

    def add(self, row: Issue) -> None:
        super().add(row)
        self.search.put(row.id)

    def update(self, row_id: str, /, **values: object) -> bool:
        done = super().update(row_id, **values)
        if done and values.keys() & _SEARCHED:
            self.search.put(row_id)
        return done

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
        return self._first(self.c.project_id == storable(project_id), self.c.number == number)

    def found(
        self,
        query: SearchQuery,
        scope: Scope,
        *,
        limit: int,
        offset: int = 0,
        after: tuple[int, int] | None = None,
    ) -> tuple[builtins.list[tuple[tuple[int, int], Issue]], int]:
        """Return hits of a search, the best first, each with its place, and how many there are in all.

        `after` is the place of a hit: those behind it only."""
        places, total = self.search.hits(query, scope, limit=limit, offset=offset, after=after)
        ids = self.search.issue_ids([key for _, key in places])
        rows = self.by_ids(list(ids.values()))
        hits = [((tier, key), rows[ids[key]]) for tier, key in places]
        return hits, total

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
        where = self._equal(project_id=project_id, assignment=assignment)
        if statuses:
            where.append(self.c.status.in_([storable(status) for status in statuses]))
        page = where if below is None else [*where, self.c.number < below]
        statement = select(Issue).where(*page).order_by(self.c.number.desc())
        return self._all(statement.limit(limit).offset(offset)), self._count(where)

    def assigned_to_sessions(self, project_id: str, statuses: Sequence[str]) -> builtins.list[Issue]:
        """Return a project's issues in any of these statuses that are assigned to sessions, by their
        numbers."""
        wanted = [storable(status) for status in statuses]
        where = (self.c.project_id == storable(project_id), self.c.status.in_(wanted))
        return self._sorted(*where, self.c.assignment.startswith("session:"), by=("number",))


class IssueUpdateRepository(RowsById[IssueUpdate]):
    """Comments are indexed for the search."""

    model = IssueUpdate

    def add(self, row: IssueUpdate) -> None:
        super().add(row)
        if row.kind == "comment" and row.body:
            search = IssueSearchRepository(self.connection)
            search.add_comment(row.issue_id, row.body, internal=row.visibility != "all")

    def of_issue(self, issue_id: str) -> builtins.list[IssueUpdate]:
        """Return the whole history, the oldest first."""
        return self._sorted(self.c.issue_id == storable(issue_id))

    def list(
        self, issue_id: str, *, internal: bool = True, limit: int = 25, cursor: str | None = None
    ) -> Page[IssueUpdate]:
        """Return a page of the history, the newest first; `internal`: what is for operators, too."""
        where = self._equal(issue_id=issue_id)
        if not internal:
            where.append(self.c.visibility == "all")
        return self._newest_first("issue updates", where, limit=limit, cursor=cursor)


class IssueLinkRepository(RowsById[IssueLink]):
    model = IssueLink

    def of_issue(self, issue_id: str) -> builtins.list[IssueLink]:
        """Return the links from and to an issue, the oldest first."""
        key = storable(issue_id)
        return self._sorted((self.c.issue_id == key) | (self.c.target_id == key))

    def remove(self, link_id: str) -> None:
        """Delete a link, if there is such a one."""
        self.connection.execute(delete(self.table).where(self.c.id == storable(link_id)))


class IssueTodoRepository(RowsById[IssueTodo]):
    model = IssueTodo

    def of_issue(self, issue_id: str) -> builtins.list[IssueTodo]:
        """Return the whole checklist in its order, what was abandoned included."""
        return self._sorted(self.c.issue_id == storable(issue_id), by=("position", "id"))

    def open_of_issue(self, issue_id: str) -> builtins.list[IssueTodo]:
        """Return what is still to be done of a checklist, in its order."""
        still = self.c.status.in_(("pending", "in_progress"))
        return self._sorted(self.c.issue_id == storable(issue_id), still, by=("position", "id"))


class TodoProposalRepository(RowsById[TodoProposal]):
    model = TodoProposal

    def of_session(self, session_id: str, *, state: str | None = None) -> builtins.list[TodoProposal]:
        """Return what was proposed in a session, the oldest first."""
        return self._sorted(*self._equal(session_id=session_id, state=state))

    def page(
        self, session_id: str, *, state: str | None = None, limit: int = 25, cursor: str | None = None
    ) -> Page[TodoProposal]:
        """Return a page of what was proposed in a session, the newest first."""
        where = self._equal(session_id=session_id, state=state)
        return self._newest_first("todo_proposals", where, limit=limit, cursor=cursor)
