"""Queries about runs and their steps."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, ScalarSelect, Select, Table, func, or_, select, text, update
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from app.messages import Usage
from app.states import RunState
from app.storage.models import Run, Session, Step
from app.storage.models.runs import UNPRICED_STEP
from app.storage.pages import Page
from app.storage.repositories.rows import Rows, RowsById, table_of
from app.storage.text import storable, storable_values

_NEWEST = table_of(Run).alias()
_LATER = table_of(Run).alias()
"""Made once: an alias is a hundred objects in cycles, which only the garbage collector frees."""

_NO_FAILURE = ("paused", "interaction")
"""Why a run was interrupted that a person paused, or that waited for one when the daemon stopped."""


def sessions_that_failed() -> Select[tuple[str]]:
    """Return the query of the ids of sessions whose root agent's newest run failed or was interrupted."""
    run, later = _NEWEST.c, _LATER.c
    ended = or_(
        run.state == "failed",
        (run.state == "interrupted") & func.coalesce(run.reason, "").not_in(_NO_FAILURE),
    )
    newer = or_(later.created_at > run.created_at, (later.created_at == run.created_at) & (later.id > run.id))
    replaced = select(later.id).where(
        later.session_id == run.session_id, later.parent_run_id.is_(None), newer
    )
    return select(run.session_id).where(
        run.state.in_(("failed", "interrupted")), run.parent_run_id.is_(None), ended, ~replaced.exists()
    )


def newest_root(session: Table) -> ScalarSelect[str]:
    """Return the query of the id of the newest run of the root agent of each row of `session`."""
    run = _NEWEST
    return (
        select(run.c.id)
        .where(run.c.session_id == session.c.id, run.c.parent_run_id.is_(None))
        .order_by(run.c.created_at.desc(), run.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )


class _StepRows(Rows[Step]):
    model = Step

    def of_run(self, run_id: str) -> list[Step]:
        return self._sorted(self.c.run_id == run_id, by=("number",))

    def newest_finished(self, run_id: str) -> Step | None:
        where = (self.c.run_id == run_id, self.c.ended_at.is_not(None))
        return self._one(select(Step).where(*where).order_by(self.c.number.desc()))


@dataclass(frozen=True, slots=True)
class RunTotals:
    """What a run and all below it have used; the cost is None when no price is known."""

    usage: Usage
    cost_usd: float | None


class RunRepository(RowsById[Run]):
    model = Run

    def list(
        self, session_id: str, *, roots_only: bool = False, limit: int = 25, cursor: str | None = None
    ) -> Page[Run]:
        """Return a page of a session's runs, the newest first; `roots_only`: not those of child agents."""
        where = [self.c.session_id == session_id]
        if roots_only:
            where.append(self.c.parent_run_id.is_(None))
        return self._newest_first("runs", where, limit=limit, cursor=cursor)

    def in_background(self, session_id: str) -> builtins.list[Run]:
        """Return the runs under way in a session that no agent waits for, the oldest first."""
        where = (self.c.state == "running", self.c.session_id == session_id, self.c.background.is_(True))
        return self._sorted(*where)

    def active(self, session_id: str) -> Run | None:
        """Return the run of a session's root agent that is under way; None when there is none."""
        where = (self.c.session_id == session_id, self.c.state == "running", self.c.parent_run_id.is_(None))
        return self._one(select(Run).where(*where).order_by(self.c.id.desc()))

    def newest_roots(self, session_ids: Sequence[str]) -> dict[str, Run]:
        """Return the newest run of the root agent of each session, by the session's id; those without a run
        are left out."""
        session = table_of(Session)
        ids = select(newest_root(session)).where(session.c.id.in_(list(session_ids)))
        return {found.session_id: found for found in self._all(select(Run).where(self.c.id.in_(ids)))}

    def newest_finished_step(self, run_id: str) -> Step | None:
        """Return the newest step of a run that has ended; None when none has."""
        return _StepRows(self.connection).newest_finished(run_id)

    def below(self, run_id: str) -> builtins.list[Run]:
        """Return the runs of a run's direct children, the oldest first."""
        return self._sorted(self.c.parent_run_id == run_id)

    def totals(self, run_ids: Sequence[str]) -> dict[str, RunTotals]:
        """Return what each run and all below it have used, by the run's id."""
        if not run_ids:
            return {}
        # The figures go down with the tree. Joined to it afterwards, the table of runs is read whole by the
        # planner of SQLite 3.46.
        used = [self.c.cost_usd, *(getattr(self.c, name) for name in Usage.model_fields)]
        own = select(self.c.id.label("top"), self.c.id.label("id"), *used)
        tree = own.where(self.c.id.in_(list(run_ids))).cte("tree", recursive=True)
        tree = tree.union_all(
            select(tree.c.top, self.c.id, *used).join(tree, self.c.parent_run_id == tree.c.id)
        )
        found = select(tree.c.top, *(func.sum(tree.c[column.name]) for column in used))
        rows = self.connection.execute(found.group_by(tree.c.top)).all()
        return {
            top: RunTotals(
                Usage(**{n: int(v) for n, v in zip(Usage.model_fields, counts, strict=True)}), cost
            )
            for top, cost, *counts in rows
        }

    def newest_of_each_agent(self, session_id: str) -> builtins.list[Run]:
        """Return the newest run that made a model call of every agent of a session."""
        newest = (
            select(func.max(self.c.id))
            .where(self.c.session_id == session_id, self.c.step_count > 0)
            .group_by(self.c.agent_path)
        )
        return self._all(select(Run).where(self.c.id.in_(newest)).order_by(self.c.agent_path))

    def in_states(self, states: Iterable[str]) -> builtins.list[Run]:
        """Return every run in one of the states, the oldest first."""
        return self._sorted(self.c.state.in_(list(states)))

    def under_way(self, session_id: str) -> bool:
        """Tell whether a run of the session is pending or running, those of child agents included."""
        states = (RunState.PENDING.value, RunState.RUNNING.value)
        found = select(self.c.id).where(self.c.session_id == session_id, self.c.state.in_(states))
        return self._scalar(found.limit(1)) is not None

    def at_work(self, run_id: str) -> bool:
        """Tell whether a run, or one below it, is pending or running."""
        columns = (self.c.id, self.c.state)
        tree = select(*columns).where(self.c.id == run_id).cte("tree", recursive=True)
        tree = tree.union_all(select(*columns).join(tree, self.c.parent_run_id == tree.c.id))
        states = (RunState.PENDING.value, RunState.RUNNING.value)
        return self._scalar(select(tree.c.id).where(tree.c.state.in_(states)).limit(1)) is not None

    def children(self, session_id: str) -> builtins.list[Run]:
        """Return the runs of a session's child agents, the oldest first."""
        return self._sorted(self.c.session_id == session_id, self.c.parent_run_id.is_not(None))

    def warn_of_budget(self, run_id: str, warning: dict[str, Any], at: int) -> None:
        """Keep that a limit of a run is near; an earlier warning of the same limit is replaced."""
        run = self.get(run_id)
        if run is not None:
            same = (warning["unit"], warning["shared"])
            others = [one for one in run.budget_warnings or () if (one["unit"], one["shared"]) != same]
            self.update(run_id, budget_warnings=[*others, warning], budget_warned_at=at)

    def insert_step(self, **values: object) -> None:
        """Insert one step by its columns, defaults filled in."""
        _StepRows(self.connection).insert(**values)

    def insert_steps(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert steps by their columns with one statement."""
        _StepRows(self.connection).insert_many(rows)

    def update_step(self, run_id: str, number: int, /, **values: object) -> bool:
        """Set columns of one step; False when there is no such step."""
        steps = _StepRows(self.connection)
        statement = update(steps.table).where(steps.c.run_id == run_id, steps.c.number == number)
        return self.connection.execute(statement.values(storable_values(values))).rowcount > 0

    def has_unpriced_steps(self, session_id: str) -> bool:
        """Tell whether a model call of the session used tokens whose cost is not known.

        It reads the runs of the session, and of the steps none but such ones."""
        # SQLite takes the primary key by itself, and with it every step of each run.
        index = "INDEXED BY ix_steps_unpriced" if self.connection.dialect.name == "sqlite" else ""
        statement = text(
            f"SELECT steps.run_id FROM runs JOIN steps {index} ON steps.run_id = runs.id "
            f"WHERE runs.session_id = :session AND {UNPRICED_STEP} LIMIT 1"
        )
        return self.connection.execute(statement, {"session": storable(session_id)}).first() is not None

    def steps(self, run_id: str) -> builtins.list[Step]:
        return _StepRows(self.connection).of_run(run_id)


def of_run(columns: ReadOnlyColumnCollection[str, Column[Any]], run_id: str) -> list[ColumnElement[bool]]:
    """Return the conditions that choose the rows of one run from a table with sessions and runs.

    By way of the run's session, which has an index; the rows of one run are few among them."""
    run = table_of(Run)
    owner = select(run.c.session_id).where(run.c.id == storable(run_id)).scalar_subquery()
    return [columns.session_id == owner, columns.run_id == storable(run_id)]
