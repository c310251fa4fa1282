"""Queries about durable events: append, replay, trim."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import delete, func, select, update

from app.storage.models import Event, Session
from app.storage.repositories.rows import Rows, table_of
from app.storage.repositories.sizes import fitting_since

EVENTS_CHANNEL = "kaged_events"
OWN_PREFIX = "dmn_"
"""A notice that begins so is one of a daemon to itself."""
LONGEST_NOTICE = 7_000
"""PostgreSQL refuses one of 8,000 bytes. A longer one stands for all projects: `*`."""

_NOTIFY = f"""
    SELECT pg_notify('{EVENTS_CHANNEL}', CASE WHEN length(said) > {LONGEST_NOTICE} THEN '*' ELSE said END)
    FROM (
        SELECT string_agg(project_id || ' ' || highest, ',') AS said FROM (
            SELECT s.project_id, max(e.seq) AS highest
            FROM unnest(%(ids)s::text[], %(numbers)s::bigint[]) AS e(id, seq) JOIN sessions s ON s.id = e.id
            GROUP BY s.project_id
        ) AS projects
    ) AS notice WHERE said IS NOT NULL
"""


class EventRepository(Rows[Event]):
    model = Event

    noted: dict[str, int] | None = None
    """The highest number appended to each session, once the writer asks for notices."""

    def append(self, rows: list[dict[str, Any]]) -> None:
        """Insert rows of events, in the order of their numbers."""
        super().append(rows)
        if self.noted is not None:
            self.noted.update((row["session_id"], row["seq"]) for row in rows)

    def notify(self) -> None:
        """Tell the other daemons, with the commit, of what was appended since the last call: one notice with
        each project and the highest number in it. PostgreSQL only."""
        noted, self.noted = self.noted, {}
        if noted:
            ids, numbers = list(noted), list(noted.values())
            self.connection.exec_driver_sql(_NOTIFY, {"ids": ids, "numbers": numbers})

    def last_seqs(self, *, except_projects: Collection[str]) -> dict[str, int]:
        """Return the highest stored number of each session of other projects; 0 when there is none."""
        session = table_of(Session)
        last = (
            select(self.c.seq)
            .where(self.c.session_id == session.c.id)
            .order_by(self.c.seq.desc())
            .limit(1)
            .scalar_subquery()
        )
        statement = select(session.c.id, last).where(session.c.project_id.not_in(list(except_projects)))
        return {str(key): int(seq or 0) for key, seq in self.connection.execute(statement).all()}

    def after(self, session_id: str, after_seq: int, through_seq: int, limit: int) -> list[Event]:
        """Return up to `limit` events with after_seq < seq <= through_seq, in order."""
        statement = (
            select(Event)
            .where(
                self.c.session_id == session_id,
                self.c.seq > after_seq,
                self.c.seq <= through_seq,
            )
            .order_by(self.c.seq)
            .limit(limit)
        )
        return self._all(statement)

    def fitting_through(
        self, session_id: str, after_seq: int, through_seq: int, *, limit: int, max_bytes: int
    ) -> int:
        """Return up to which number events may be read with `after` for at most `max_bytes` of frames.

        The first event counts as fitting however large it is. Looks at no more than `limit` events."""
        sizes = (
            select(self.c.seq, func.length(self.c.frame))
            .where(self.c.session_id == session_id, self.c.seq > after_seq, self.c.seq <= through_seq)
            .order_by(self.c.seq)
            .limit(limit)
        )
        total, fitting = 0, None
        for seq, size in self.connection.execute(sizes).all():
            total += int(size)
            if total > max_bytes and fitting is not None:
                return fitting
            fitting = int(seq)
        return through_seq

    def last_seq(self, session_id: str) -> int:
        """Return the highest stored sequence number; 0 when there is none."""
        highest = select(func.max(self.c.seq)).where(self.c.session_id == session_id)
        return int(self._scalar(highest) or 0)

    def trim_older_than(self, before_ms: int, *, limit: int = 5000) -> int:
        """Delete events created before a time and note on each session how far it was trimmed.

        At most about `limit` rows at once, so that the writer is not held for long: call again
        until the answer is 0. Returns how many were deleted."""
        session = table_of(Session)
        deleted = 0
        for session_id in self.connection.execute(select(session.c.id)).scalars().all():
            through = self._trim_point(session_id, before_ms, limit - deleted)
            if through is None:
                continue
            old = delete(self.table).where(self.c.session_id == session_id, self.c.seq <= through)
            deleted += self.connection.execute(old).rowcount
            self.connection.execute(
                update(session).where(session.c.id == session_id).values(trimmed_through_seq=through)
            )
            if deleted >= limit:
                break
        return deleted

    def fitting_since(self, max_bytes: int) -> int | None:
        """Return the time (milliseconds since the epoch) before which events must go, so that the
        frames of the others have at most `max_bytes`; None when all may stay.

        See `sizes.fitting_since`."""
        return fitting_since(self.connection, self.table, func.length(self.c.frame), max_bytes)

    def _trim_point(self, session_id: str, before_ms: int, limit: int) -> int | None:
        """Return the last sequence number to trim: walks the key from its low end."""
        lowest = (
            select(self.c.seq, self.c.created_at)
            .where(self.c.session_id == session_id)
            .order_by(self.c.seq)
            .limit(limit)
        )
        through: int | None = None
        with self.connection.execution_options(stream_results=False).execute(lowest) as rows:
            for seq, created_at in rows:
                if created_at >= before_ms:
                    break
                through = seq
        return through
