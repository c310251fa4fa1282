"""Queries about messages: history, queue, pages, and superseding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Text,
    TextClause,
    and_,
    delete,
    func,
    or_,
    select,
    text,
    type_coerce,
    update,
)

from app.ids import first_id
from app.storage.models import Message, MessageDetails
from app.storage.pages import Page, decode_cursor, encode_cursor
from app.storage.repositories.rows import RowsById, completed, insert_or_overwrite, values_of

_PLACE = ("position", "id")

_FIRST_BACK = (1, 2**53, "~")
"""Where a walk from the newest message on begins: whether those that wait come, and what is before."""

IDS_AT_ONCE = 500
"""How many ids one statement names; databases bound the number of parameters."""


@dataclass(frozen=True, slots=True)
class EditRecord:
    """The result of a call that has written files: its message, and `details.wrote` in it."""

    message_id: str
    run_id: str | None
    agent_path: str
    created_at: int
    details: MessageDetails


@dataclass(frozen=True, slots=True)
class SupersededGroup:
    """Messages that one rollback or compaction (`by`) took out of a conversation."""

    by: str | None
    messages: int
    position: int


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages of a session are meant: of one agent or run, of what one rollback or compaction
    superseded, or only those that wait."""

    include_superseded: bool = False
    superseded_by: str | None = None
    agent_path: str | None = None
    run_id: str | None = None
    waiting: bool = False


CURRENT = MessageFilter()
"""The messages of all agents that nothing has superseded."""


class MessageRepository(RowsById[Message]):
    model = Message

    def put(self, row: Message) -> None:
        """Insert the row, or overwrite the one with its id."""
        insert_or_overwrite(self.connection, self.table, values_of(row))

    def put_values(self, **values: object) -> None:
        """Do as `put` with plain columns, the model's defaults where none is given."""
        insert_or_overwrite(self.connection, self.table, completed(Message, values))

    def history(self, session_id: str, agent_path: str) -> list[Message]:
        """Return the conversation of one agent: positioned, not superseded, in order."""
        own = (self.c.session_id == session_id, self.c.agent_path == agent_path)
        return self._sorted(*own, self.c.position.is_not(None), self.c.superseded.is_(False), by=_PLACE)

    def queued(self, session_id: str) -> list[Message]:
        """Return the operator's messages that wait, the oldest first."""
        return self._all(self._waiting(session_id))

    def tool_results_since(self, session_id: str, at: int) -> list[Message]:
        """Return what tools gave to any agent of a session since a time in milliseconds, in order of it."""
        where = (self.c.session_id == session_id, self.c.role == "tool", self.c.id >= first_id("msg", at))
        return self._sorted(*where, by=("id",))

    def last_position(self, session_id: str) -> int:
        """Return the highest position in use; 0 when there is none."""
        highest = select(func.max(self.c.position)).where(self.c.session_id == session_id)
        return int(self._scalar(highest) or 0)

    def incomplete(self, session_id: str) -> list[Message]:
        """Return the messages in flight: whose text is partial."""
        statement = select(Message).where(self.c.session_id == session_id, self._partial())
        return self._all(statement.order_by(self.c.position, self.c.id))

    def sessions_with_incomplete(self) -> list[str]:
        """Return the ids of the sessions that have messages in flight."""
        statement = select(self.c.session_id).where(self._partial()).distinct()
        return list(self.connection.execute(statement).scalars())

    def _partial(self) -> TextClause:
        # Written out, not bound: only so the partial index applies.
        return text("complete IS 0" if self.connection.dialect.name == "sqlite" else "complete IS false")

    def through(self, session_id: str, position: int) -> list[Message]:
        """Return every message up to a position in order, also those that were superseded."""
        return self._sorted(self.c.session_id == session_id, self.c.position <= position, by=_PLACE)

    def following(
        self, session_id: str, position: int, *, agent_path: str, limit: int = 1000
    ) -> list[Message]:
        """Return an agent's next messages after a position in order, also superseded ones."""
        where = (
            self.c.session_id == session_id,
            self.c.position > position,
            self.c.agent_path == agent_path,
        )
        statement = select(Message).where(*where).order_by(self.c.position, self.c.id)
        return self._all(statement.limit(limit))

    def before(self, session_id: str, position: int, agent_path: str) -> Message | None:
        """Return an agent's last message before a position that no rollback took out."""
        rolled_back = self.c.superseded_by.startswith("rbk_", autoescape=True)
        kept = or_(self.c.superseded_by.is_(None), ~rolled_back)
        where = (self.c.session_id == session_id, self.c.position < position, self.c.agent_path == agent_path)
        return self._one(select(Message).where(*where, kept).order_by(self.c.position.desc()))

    def tool_results(self, session_id: str, position: int) -> list[Message]:
        """Return the results after a position that tools gave to any agent, also superseded ones."""
        later = self.c.position > position
        return self._sorted(self.c.session_id == session_id, later, self.c.role == "tool", by=_PLACE)

    def edit_records(self, session_id: str, since: int = 0) -> list[EditRecord]:
        """Return the results with writes of files of any agent, made at or after a time in milliseconds, in
        the order of time. Their texts are not read."""
        columns = (self.c.id, self.c.run_id, self.c.agent_path, self.c.created_at, self.c.details)
        statement = select(*columns).where(
            self.c.session_id == session_id,
            self.c.role == "tool",
            self.c.created_at >= since,
            type_coerce(self.c.details, Text).contains('"wrote":', autoescape=True),
        )
        rows = self.connection.execute(statement.order_by(self.c.created_at, self.c.id))
        return [EditRecord(*row) for row in rows]

    def last_answer(self, session_id: str, agent_path: str, position: int | None = None) -> Message | None:
        """Return an agent's last answer (up to a position when given), also a superseded one."""
        where = [
            self.c.session_id == session_id,
            self.c.position.is_not(None) if position is None else self.c.position <= position,
            self.c.agent_path == agent_path,
            self.c.role == "primary",
        ]
        return self._one(select(Message).where(*where).order_by(self.c.position.desc()))

    def positions(self, session_id: str, ids: Sequence[str]) -> dict[str, int]:
        """Return the positions of messages by id; those that have none or are unknown are left out."""
        found: dict[str, int] = {}
        for some in _pieces(ids):
            statement = select(self.c.id, self.c.position).where(
                self.c.id.in_(some), self.c.session_id == session_id, self.c.position.is_not(None)
            )
            found.update((row[0], row[1]) for row in self.connection.execute(statement))
        return found

    def of_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Message]:
        """Return the messages of runs, also those that were superseded; of each run in order."""
        found: list[Message] = []
        for some in _pieces(run_ids):
            found += self._sorted(self.c.session_id == session_id, self.c.run_id.in_(some), by=_PLACE)
        return found

    def remove_waiting(self, message_id: str) -> None:
        """Delete a message that has no place in its conversation yet."""
        self.connection.execute(delete(self.table).where(self.c.id == message_id, self.c.position.is_(None)))

    def supersede_after(
        self, session_id: str, position: int, *, by: str | None = None, agent_path: str | None = None
    ) -> int:
        """Flag every message after a position (of one agent, when given) as superseded; return how
        many were not before."""
        where = [self.c.session_id == session_id, self.c.position > position]
        if agent_path is not None:
            where.append(self.c.agent_path == agent_path)
        return self._supersede(where, by)

    def supersede_runs(self, session_id: str, run_ids: Sequence[str], *, by: str) -> int:
        """Flag every message of some runs as superseded; return how many were not before."""
        return sum(
            self._supersede([self.c.session_id == session_id, self.c.run_id.in_(some)], by)
            for some in _pieces(run_ids)
        )

    def supersede_ids(self, session_id: str, ids: Sequence[str], *, by: str | None) -> int:
        """Flag the messages that are named as superseded; return how many were not before."""
        own = self.c.session_id == session_id
        if self.connection.dialect.name == "sqlite":
            # One parameter for all: binding each of ten thousand ids takes longer than the update.
            named = func.json_each(orjson.dumps(list(ids)).decode()).table_valued("value")
            return self._supersede([own, self.c.id.in_(select(named.c.value))], by)
        return sum(self._supersede([own, self.c.id.in_(some)], by) for some in _pieces(ids))

    def last_superseded(self, session_id: str, *, by: str) -> int:
        """Return the position of the newest message that `by` (a rollback or a compaction) has superseded.

        Raises LookupError when it has superseded none."""
        statement = select(self.c.position).where(
            self.c.session_id == session_id, self.c.position.is_not(None), self.c.superseded_by == by
        )
        row = self.connection.execute(statement.order_by(self.c.position.desc()).limit(1)).first()
        if row is None:
            raise LookupError(f"{by} has superseded no message of {session_id}")
        return int(row[0])

    def has_superseded(self, session_id: str) -> bool:
        """Tell whether any message of a session was taken out of what the models are sent."""
        where = (self.c.session_id == session_id, self.c.superseded.is_(True))
        return self.connection.execute(select(self.c.id).where(*where).limit(1)).first() is not None

    def restore(self, session_id: str, *, by: str) -> int:
        """Take back what `by` (a rollback or a compaction) has superseded; return how many that was."""
        statement = update(self.table).where(
            self.c.session_id == session_id, self.c.position.is_not(None), self.c.superseded_by == by
        )
        return self.connection.execute(statement.values(superseded=False, superseded_by=None)).rowcount

    def _supersede(self, where: list[ColumnElement[bool]], by: str | None) -> int:
        statement = update(self.table).where(*where, self.c.superseded.is_(False))
        return self.connection.execute(statement.values(superseded=True, superseded_by=by)).rowcount

    def page(
        self,
        session_id: str,
        only: MessageFilter = CURRENT,
        *,
        newest_first: bool = False,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[Message]:
        """Return a page of a session's messages by position; those that wait come last. `newest_first`
        turns the whole order around.

        A walk from the oldest on misses nothing. A message that left the queue between two pages may come
        twice there, and may be missed by a walk from the newest on."""
        where = self._equal(
            session_id=session_id,
            agent_path=only.agent_path,
            run_id=only.run_id,
            superseded_by=only.superseded_by,
        )
        if not only.include_superseded and only.superseded_by is None:
            where.append(self.c.superseded.is_(False))
        if only.waiting:
            where.append(self.c.position.is_(None))
        if newest_first:
            return self._page_back(where, limit, cursor)
        position, last_id, waiting_after = _read_cursor(cursor)
        rows = self._positioned(where, position, last_id, limit + 1)
        placed = len(rows)
        if placed <= limit:
            rows += self._still_waiting(where, session_id, waiting_after, limit + 1 - placed)
        next_cursor = None
        if len(rows) > limit:
            before = next((row for row in reversed(rows[:limit]) if row.position is not None), None)
            if before is not None:
                position, last_id = before.position or 0, before.id
            next_cursor = _write_cursor(rows[limit - 1], position, last_id, waiting_after)
        return Page(items=rows[:limit], next_cursor=next_cursor, total=self._count(where))

    def superseded_groups(self, session_id: str, agent_path: str) -> list[SupersededGroup]:
        """Return what was taken out of an agent's conversation, the oldest first: by what, how many
        messages that is without the results of tools, and the position of the first one."""
        first = func.min(self.c.position)
        statement = select(self.c.superseded_by, func.count(), first).where(
            self.c.session_id == session_id,
            self.c.agent_path == agent_path,
            self.c.position.is_not(None),
            self.c.superseded.is_(True),
            self.c.role != "tool",
        )
        rows = self.connection.execute(statement.group_by(self.c.superseded_by).order_by(first))
        return [SupersededGroup(*row) for row in rows]

    def _page_back(self, where: list[ColumnElement[bool]], limit: int, cursor: str | None) -> Page[Message]:
        """Return a page from the newest on: those that wait, then the others."""
        waits, key, last_id = _FIRST_BACK
        if cursor is not None:
            waits, key, last_id = decode_cursor(cursor, "messages_back", (int, int, str))
        rows: list[Message] = []
        if waits:
            rows = self._before(
                where, self.c.position.is_(None), self.c.created_at, (key, last_id), limit + 1
            )
            key, last_id = _FIRST_BACK[1:]
        if len(rows) <= limit:
            rest = limit + 1 - len(rows)
            rows += self._before(where, self.c.position.is_not(None), self.c.position, (key, last_id), rest)
        next_cursor = None
        if len(rows) > limit:
            last = rows[limit - 1]
            after = (1, last.created_at, last.id) if last.position is None else (0, last.position, last.id)
            next_cursor = encode_cursor("messages_back", after)
        return Page(items=rows[:limit], next_cursor=next_cursor, total=self._count(where))

    def _before(
        self,
        where: list[ColumnElement[bool]],
        which: ColumnElement[bool],
        column: Any,
        before: tuple[int, str],
        limit: int,
    ) -> list[Message]:
        key, row_id = before
        earlier = and_(column <= key, or_(column < key, self.c.id < row_id))
        statement = select(Message).where(*where, which, earlier).order_by(column.desc(), self.c.id.desc())
        return self._all(statement.limit(limit))

    def _waiting(self, session_id: str) -> Any:
        statement = select(Message).where(self.c.session_id == session_id, self.c.position.is_(None))
        return statement.order_by(self.c.created_at, self.c.id)

    def _positioned(
        self, where: list[ColumnElement[bool]], position: int, last_id: str, limit: int
    ) -> list[Message]:
        later = and_(self.c.position >= position, or_(self.c.position > position, self.c.id > last_id))
        statement = select(Message).where(*where, later).order_by(self.c.position, self.c.id)
        return self._all(statement.limit(limit))

    def _still_waiting(
        self, where: list[ColumnElement[bool]], session_id: str, after: tuple[int, str], limit: int
    ) -> list[Message]:
        created_at, row_id = after
        later = or_(self.c.created_at > created_at, and_(self.c.created_at == created_at, self.c.id > row_id))
        return self._all(self._waiting(session_id).where(*where, later).limit(limit))


def _pieces(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield ids[start : start + IDS_AT_ONCE]


def _read_cursor(cursor: str | None) -> tuple[int, str, tuple[int, str]]:
    if cursor is None:
        return -1, "", (-1, "")
    position, last_id, created_at, waiting_id = decode_cursor(cursor, "messages", (int, str, int, str))
    return position, last_id, (created_at, waiting_id)


def _write_cursor(last: Message, position: int, last_id: str, waiting: tuple[int, str]) -> str:
    if last.position is None:
        waiting = (last.created_at, last.id)
    return encode_cursor("messages", (position, last_id, *waiting))
