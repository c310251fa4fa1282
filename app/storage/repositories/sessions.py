"""Queries about sessions, and their deletion with everything below them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, Literal

from sqlalchemy import ColumnElement, delete, func, select, update

from app.messages import Usage
from app.storage.models import (
    Checkpoint,
    Compaction,
    Event,
    Interaction,
    Message,
    PermissionRuleRow,
    PromptEdit,
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
from app.storage.repositories.rows import RowsById, table_of
from app.storage.text import storable

Bucket = Literal["primary", "subagents", "compactor"]

_BELOW = (
    Event,
    Interaction,
    PermissionRuleRow,
    TodoList,
    TodoProposal,
    ToolCall,
    Compaction,
    PromptEdit,
    Rollback,
    Worktree,
    Checkpoint,
    Message,
    Run,
)
"""What belongs to a session, by its id; each before what it refers to."""


class SessionRepository(RowsById[Session]):
    model = Session

    def list(
        self,
        *,
        project_id: str | None = None,
        state: str | None = None,
        kind: str | None = None,
        issue_number: int | None = None,
        text: str | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[Session]:
        """Return a page of sessions, the newest first. `text` is looked for in the title,
        without regard to case."""
        where: list[ColumnElement[bool]] = []
        if project_id is not None:
            where.append(self.c.project_id == storable(project_id))
        if state is not None:
            where.append(self.c.state == storable(state))
        if kind is not None:
            where.append(self.c.kind == storable(kind))
        if issue_number is not None:
            where.append(self.c.issue_number == issue_number)
        if text:
            where.append(self.c.title.icontains(storable(text), autoescape=True))
        return self._newest_first("sessions", where, limit=limit, cursor=cursor)

    def bound_to(self, project_id: str, issue_number: int) -> builtins.list[str]:
        """Return the ids of the sessions that work on an issue, without those that are archived."""
        bound = (self.c.project_id == storable(project_id)) & (self.c.issue_number == issue_number)
        statement = select(self.c.id).where(bound, self.c.state != "archived").order_by(self.c.id)
        return [str(found) for found in self.connection.execute(statement).scalars()]

    def in_states(self, states: Iterable[str]) -> builtins.list[Session]:
        """Return every session in one of the states, the oldest first."""
        found = self.c.state.in_(list(states))
        return self._all(select(Session).where(found).order_by(self.c.created_at, self.c.id))

    def count_in_state(self, state: str, project_id: str | None = None, created_by: str | None = None) -> int:
        """Count the sessions in a state, of one project or of one operator when given."""
        where = [self.c.state == state]
        if project_id is not None:
            where.append(self.c.project_id == project_id)
        if created_by is not None:
            where.append(self.c.created_by == storable(created_by))
        return self._count(where)

    def add_usage(
        self, session_id: str, usage: Usage, cost_usd: float | None, bucket: Bucket = "primary"
    ) -> bool:
        """Add one model call's tokens and, when it is known, its cost in US dollars to the sums.

        An unknown cost leaves the sum as it is. False when there is no such session."""
        values: dict[str, Any] = {
            name: self.c[name] + getattr(usage, name)
            for name in (
                "input_tokens",
                "output_tokens",
                "reasoning_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
            )
        }
        if cost_usd is not None:
            column = self.c[f"cost_{bucket}_usd"]
            values[column.name] = func.coalesce(column, 0.0) + cost_usd
        statement = update(self.table).where(self.c.id == session_id).values(values)
        return self.connection.execute(statement).rowcount > 0

    def delete(self, session_id: str) -> bool:
        """Delete a session and everything below it, its own permission rules and todos included.

        Its audit rows stay; files that were given to its questions belong to nothing then. False when
        there is no such session."""
        asked, upload = table_of(Interaction), table_of(Upload)
        questions = select(asked.c.id).where(asked.c.session_id == session_id)
        self.connection.execute(
            update(upload).where(upload.c.used_by.in_(questions)).values(used_by=None, used_at=None)
        )
        run = table_of(Run)
        step = table_of(Step)
        runs = select(run.c.id).where(run.c.session_id == session_id)
        self.connection.execute(delete(step).where(step.c.run_id.in_(runs)))
        for model in _BELOW:
            table = table_of(model)
            self.connection.execute(delete(table).where(table.c.session_id == session_id))
        return self.connection.execute(delete(self.table).where(self.c.id == session_id)).rowcount > 0
