"""Queries about sessions and their todo lists, and their deletion with everything below them."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable
from typing import Any, Literal

from sqlalchemy import Text, cast, delete, func, select, update

from app.messages import Usage
from app.storage.models import (
    Checkpoint,
    Compaction,
    Event,
    Interaction,
    Message,
    PermissionRuleRow,
    PromptEdit,
    Revert,
    Rollback,
    Run,
    Session,
    Step,
    TodoList,
    TodoProposal,
    ToolCall,
    Upload,
    Worktree,
)
from app.storage.pages import Page
from app.storage.repositories.attempts import AttemptRepository
from app.storage.repositories.rows import Rows, RowsById, completed, insert_or_overwrite, table_of
from app.storage.repositories.runs import sessions_that_failed
from app.storage.repositories.sizes import stored_bytes
from app.storage.text import storable

Bucket = Literal["primary", "subagents", "compactor"]
Mark = Literal["asks", "failed", "archived", "current"]
"""What a session can be looked for by; `current` are those that are not archived."""

AT_REST = ("idle", "archived")
"""The states of a session in which retention may delete it."""

_BELOW = (
    Event,
    Interaction,
    PermissionRuleRow,
    TodoList,
    TodoProposal,
    ToolCall,
    Compaction,
    PromptEdit,
    Revert,
    Rollback,
    Worktree,
    Checkpoint,
    Message,
    Run,
)
"""What belongs to a session, by its id; each before what it refers to."""


class SessionRepository(RowsById[Session]):
    model = Session

    def states(self, session_ids: Iterable[str]) -> dict[str, str]:
        """Return the state of each of some sessions, by its id."""
        statement = select(self.c.id, self.c.state).where(self.c.id.in_(list(session_ids)))
        return {row[0]: row[1] for row in self.connection.execute(statement)}

    def list(
        self,
        *,
        project_id: str | None = None,
        state: str | None = None,
        kind: str | None = None,
        issue_number: int | None = None,
        text: str | None = None,
        only: Collection[Mark] = (),
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[Session]:
        """Return a page of sessions, the newest first. `text` is looked for in the title, without regard to
        case. `only` names marks that they have: `asks`, a question waits; `failed`, they do nothing because
        their newest run failed."""
        where = self._equal(project_id=project_id, state=state, kind=kind, issue_number=issue_number)
        if text:
            where.append(self.c.title.icontains(storable(text), autoescape=True))
        if "asks" in only:
            asked = table_of(Interaction).c
            where.append(self.c.id.in_(select(asked.session_id).where(asked.state == "pending")))
        if "failed" in only:
            where += [self.c.state == "idle", self.c.id.in_(sessions_that_failed())]
        if "archived" in only:
            where.append(self.c.state == "archived")
        if "current" in only:
            where.append(self.c.state != "archived")
        return self._newest_first("sessions", where, limit=limit, cursor=cursor)

    def bound_to(self, project_id: str, issue_number: int) -> builtins.list[str]:
        """Return the ids of the sessions that work on an issue, without those that are archived."""
        bound = (self.c.project_id == storable(project_id)) & (self.c.issue_number == issue_number)
        statement = select(self.c.id).where(bound, self.c.state != "archived").order_by(self.c.id)
        return [str(found) for found in self.connection.execute(statement).scalars()]

    def forget_versions(self, project_id: str) -> None:
        """Let the sessions of a project go on with its present version, not the one that they began with."""
        where = self.c.project_id == storable(project_id)
        self.connection.execute(update(self.table).where(where).values(compiled_digest=None))

    def in_states(self, states: Iterable[str]) -> builtins.list[Session]:
        """Return every session in one of the states, the oldest first."""
        return self._sorted(self.c.state.in_(list(states)))

    def unchanged_since(
        self, before_ms: int, *, limit: int = 100, projects: set[str] | None = None
    ) -> builtins.list[str]:
        """Return the ids of sessions at rest that nobody has changed since a time, the oldest first; of some
        projects when given."""
        where = [self.c.state.in_(AT_REST), self.c.updated_at < before_ms]
        where += [self.c.project_id.in_(projects)] if projects is not None else []
        statement = select(self.c.id).where(*where).order_by(self.c.updated_at).limit(limit)
        return [str(found) for found in self.connection.execute(statement).scalars()]

    def beyond(self, max_bytes: int, *, projects: set[str] | None = None) -> builtins.list[str]:
        """Return the ids of the sessions at rest that must go so that the messages of the others, those
        changed last, have at most `max_bytes`; of these only those of some projects when given. Reads every
        message, but only when what is stored takes more than `max_bytes` at all."""
        message = table_of(Message)
        if stored_bytes(self.connection, message) <= max_bytes:
            return []
        size = func.sum(func.length(message.c.content) + func.length(cast(message.c.details, Text)))
        per_session = select(message.c.session_id, size).group_by(message.c.session_id)
        sizes = {str(key): int(held) for key, held in self.connection.execute(per_session).all()}
        newest_first = select(self.c.id, self.c.state, self.c.project_id).order_by(
            self.c.updated_at.desc(), self.c.id
        )
        total, gone = 0, []
        for row_id, state, project_id in self.connection.execute(newest_first).all():
            total += sizes.get(row_id, 0)
            if total > max_bytes and state in AT_REST:
                if projects is None or project_id in projects:
                    gone.append(str(row_id))
                total -= sizes.get(row_id, 0)
        return gone[::-1]

    def count_in_state(self, state: str, project_id: str | None = None, created_by: str | None = None) -> int:
        """Count the sessions in a state, of one project or of one operator when given."""
        return self._count(self._equal(state=state, project_id=project_id, created_by=created_by))

    def add_usage(
        self, session_id: str, usage: Usage, cost_usd: float | None, bucket: Bucket = "primary"
    ) -> bool:
        """Add one model call's tokens and, when it is known, its cost in US dollars to the sums.

        An unknown cost leaves the sum as it is. False when there is no such session."""
        values: dict[str, Any] = {name: self.c[name] + getattr(usage, name) for name in Usage.model_fields}
        if cost_usd is not None:
            column = self.c[f"cost_{bucket}_usd"]
            values[column.name] = func.coalesce(column, 0.0) + cost_usd
        statement = update(self.table).where(self.c.id == session_id).values(values)
        return self.connection.execute(statement).rowcount > 0

    def delete(self, session_id: str) -> bool:
        """Delete a session and everything below it, its own permission rules and todos included.

        Its audit rows stay; files that were given to it or its questions belong to nothing then. False when
        there is no such session."""
        asked, upload = table_of(Interaction), table_of(Upload)
        questions = select(asked.c.id).where(asked.c.session_id == session_id)
        # Two statements: with both conditions in one, PostgreSQL reads the whole table.
        for theirs in (upload.c.used_by.in_(questions), upload.c.used_by == session_id):
            self.connection.execute(update(upload).where(theirs).values(used_by=None, used_at=None))
        run = table_of(Run)
        step = table_of(Step)
        runs = select(run.c.id).where(run.c.session_id == session_id)
        self.connection.execute(delete(step).where(step.c.run_id.in_(runs)))
        AttemptRepository(self.connection).forget(session_id)
        for model in _BELOW:
            table = table_of(model)
            self.connection.execute(delete(table).where(table.c.session_id == session_id))
        return self.connection.execute(delete(self.table).where(self.c.id == session_id)).rowcount > 0


class TodoListRepository(Rows[TodoList]):
    model = TodoList

    def get(self, session_id: str) -> TodoList | None:
        """Return the session's list; None when none was ever written."""
        return self._first(self.c.session_id == storable(session_id))

    def put(self, **values: object) -> None:
        """Store a session's list in place of the one before; Conflict when there is no such session."""
        insert_or_overwrite(self.connection, self.table, completed(self.model, values))
