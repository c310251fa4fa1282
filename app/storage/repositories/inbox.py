"""The query of what waits for a person, over all sessions.

Owns: which rows these are, and their order. Never: what a person does about them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    and_,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    union_all,
)

from app.ids import now_ms
from app.states import CompactionState, InteractionState, RunState, SessionState, TodoProposalState
from app.storage.models import Compaction, Interaction, Run, Session, TodoProposal
from app.storage.pages import Page, decode_cursor, encode_cursor
from app.storage.repositories.rows import table_of
from app.storage.repositories.runs import newest_root, sessions_that_failed
from app.storage.text import storable

InboxKind = Literal[
    "question", "todo_proposal", "compaction", "budget", "budget_warning", "failed_run", "finished_run"
]

DAYS_IN_THE_INBOX = 14
"""How long a run that ended asks to be looked at."""


@dataclass(frozen=True, slots=True)
class InboxRow:
    """Something that waits: the row of its `kind` with this `id`, since `at` (milliseconds)."""

    kind: InboxKind
    id: str
    session_id: str
    agent_path: str
    run_id: str | None
    at: int


class InboxRepository:
    """Reads over sessions, their questions, proposals and newest runs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def page(
        self,
        *,
        project_id: str | None = None,
        kinds: Collection[InboxKind] | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[InboxRow]:
        """Return a page of what waits for a person, the oldest first; of one project, and of some kinds
        alone, when given."""
        found = _everything(project_id, kinds).subquery("waiting")
        order = (found.c.at, found.c.id)
        statement = select(found).order_by(*order).limit(limit + 1)
        if cursor is not None:
            at, last = decode_cursor(cursor, "inbox", (int, str))
            statement = statement.where(or_(order[0] > at, and_(order[0] == at, order[1] > last)))
        rows = [InboxRow(*row) for row in self.connection.execute(statement)]
        more = len(rows) > limit
        last_row = rows[limit - 1] if more else None
        return Page(
            items=rows[:limit],
            next_cursor=encode_cursor("inbox", (last_row.at, last_row.id)) if last_row else None,
            total=self.connection.execute(select(func.count()).select_from(found)).scalar_one(),
        )


def _everything(
    project_id: str | None, kinds: Collection[InboxKind] | None
) -> CompoundSelect[tuple[str, str, str, str, str | None, int]]:
    every: dict[InboxKind, Select[tuple[str, str, str, str, str | None, int]]] = {
        "question": _waiting(Interaction, "question", InteractionState.PENDING.value),
        "todo_proposal": _waiting(TodoProposal, "todo_proposal", TodoProposalState.PROPOSED.value),
        "compaction": _waiting(Compaction, "compaction", CompactionState.PROPOSED.value),
        "budget": _out_of_budget(),
        "budget_warning": _near_a_limit(),
        "failed_run": _failed(),
        "finished_run": _finished(),
    }
    parts = [part for kind, part in every.items() if not kinds or kind in kinds]
    session = table_of(Session).c
    if project_id is not None:
        parts = [part.where(session.project_id == storable(project_id)) for part in parts]
    return union_all(*parts)


def _waiting(
    model: type[Interaction] | type[TodoProposal] | type[Compaction], kind: InboxKind, state: str
) -> Select[tuple[str, str, str, str, str | None, int]]:
    table, session = table_of(model), table_of(Session)
    # The state is written out: an index of these rows alone is not used for a parameter.
    waits: ColumnElement[bool] = table.c.state == literal_column(f"'{state}'")
    return (
        select(
            literal(kind).label("kind"),
            table.c.id.label("id"),
            table.c.session_id.label("session_id"),
            table.c.agent_path.label("agent_path"),
            table.c.run_id.label("run_id"),
            table.c.created_at.label("at"),
        )
        .join(session, session.c.id == table.c.session_id)
        .where(waits, session.c.state != SessionState.ARCHIVED.value)
    )


def _out_of_budget() -> Select[tuple[str, str, str, str, str | None, int]]:
    """Return the query of the newest runs of sessions that a used-up limit has paused."""
    session, run = table_of(Session), table_of(Run)
    return _newest("budget").where(
        session.c.state == SessionState.PAUSED.value,
        session.c.state_reason == "budget",
        run.c.state == RunState.INTERRUPTED.value,
    )


def _near_a_limit() -> Select[tuple[str, str, str, str, str | None, int]]:
    """Return the query of the runs under way that are near a limit, while nobody has seen it. What a run
    below one that is under way uses is what that one uses."""
    session, run = table_of(Session), table_of(Run)
    above = run.alias()
    held = select(above.c.id).where(above.c.id == run.c.parent_run_id, _is_running(above.c.state))
    columns = _columns("budget_warning", run.c.budget_warned_at)
    return (
        select(*columns)
        .join(session, session.c.id == run.c.session_id)
        .where(_is_running(run.c.state), run.c.budget_warned_at.is_not(None), ~held.exists())
    )


def _is_running(state: ColumnElement[str]) -> ColumnElement[bool]:
    return state == RunState.RUNNING.value


def _failed() -> Select[tuple[str, str, str, str, str | None, int]]:
    session, run = table_of(Session), table_of(Run)
    return _unseen("failed_run").where(
        run.c.state.in_((RunState.FAILED.value, RunState.INTERRUPTED.value)),
        session.c.id.in_(sessions_that_failed()),
    )


def _finished() -> Select[tuple[str, str, str, str, str | None, int]]:
    session, run = table_of(Session), table_of(Run)
    return _unseen("finished_run").where(
        run.c.state == RunState.SUCCEEDED.value, session.c.headless.is_(False), session.c.kind == "chat"
    )


def _unseen(kind: InboxKind) -> Select[tuple[str, str, str, str, str | None, int]]:
    """Return the query of the newest runs of idle sessions whose end nobody has seen."""
    session, run = table_of(Session), table_of(Run)
    return _newest(kind).where(
        session.c.state == SessionState.IDLE.value,
        or_(session.c.seen_run_id.is_(null()), session.c.seen_run_id != run.c.id),
        run.c.ended_at > now_ms() - DAYS_IN_THE_INBOX * 86_400_000,
    )


def _newest(kind: InboxKind) -> Select[tuple[str, str, str, str, str | None, int]]:
    """Return the query of the newest run of the root agent of each session."""
    session, run = table_of(Session), table_of(Run)
    columns = _columns(kind, func.coalesce(run.c.ended_at, run.c.created_at))
    return select(*columns).select_from(session).join(run, run.c.id == newest_root(session))


def _columns(kind: InboxKind, at: ColumnElement[int]) -> list[ColumnElement[Any]]:
    """Return the columns of a run in the inbox."""
    run = table_of(Run).c
    names = {"id": run.id, "session_id": run.session_id, "agent_path": run.agent_path, "run_id": run.id}
    return [
        literal(kind).label("kind"),
        *(column.label(name) for name, column in names.items()),
        at.label("at"),
    ]
