"""Queries about durable events: append, replay, trim."""

from __future__ import annotations

from sqlalchemy import delete, func, select, text, update

from app.storage.models import Event, Session
from app.storage.repositories.rows import Rows, table_of

_MINUTE_MS = 60_000
_SQLITE_SIZE = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
_POSTGRESQL_SIZE = "SELECT pg_total_relation_size('events')"


class EventRepository(Rows[Event]):
    model = Event

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

        To the minute; the newest minute always stays. Reads the whole table, but only when what is
        stored takes more than `max_bytes` at all."""
        if self._stored_bytes() <= max_bytes:
            return None
        minute = (self.c.created_at // _MINUTE_MS).label("minute")
        size = func.sum(func.length(self.c.frame))
        newest_first = select(minute, size).group_by(minute).order_by(minute.desc())
        total, since = 0, None
        for number, held in self.connection.execute(newest_first).all():
            total += int(held)
            if total > max_bytes and since is not None:
                return since
            since = int(number) * _MINUTE_MS
        return None

    def _stored_bytes(self) -> int:
        """Return the size of the table (PostgreSQL) or of the file without its free pages (SQLite)."""
        statement = _SQLITE_SIZE if self.connection.dialect.name == "sqlite" else _POSTGRESQL_SIZE
        return int(self.connection.execute(text(statement)).scalar_one())

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
