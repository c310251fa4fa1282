"""What every repository does with its table: insert, get, update, upsert, and pages. Reads return detached
models through a short ORM session each, so no identity map returns an older state.

Owns: turning rows into parameters, and results into rows. Never: a rule about one noun.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    func,
    insert,
    inspect,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session as OrmSession
from sqlmodel import SQLModel

from app.storage.pages import Page, decode_cursor, encode_cursor
from app.storage.text import storable, storable_values

RowT = TypeVar("RowT", bound=SQLModel)


@cache
def table_of(model: type[SQLModel]) -> Table:
    table = inspect(model).local_table
    assert isinstance(table, Table)
    return table


@cache
def _insert_into(model: type[SQLModel]) -> Insert:
    # `inline`: a key that the database makes is not asked back for.
    return insert(table_of(model)).inline()


@cache
def _column_names(model: type[SQLModel]) -> tuple[str, ...]:
    return tuple(column.name for column in table_of(model).columns)


@cache
def _defaults(model: type[SQLModel]) -> dict[str, Any]:
    fields = model.model_fields
    return {
        name: fields[name].get_default(call_default_factory=True)
        for name in _column_names(model)
        if not fields[name].is_required()
    }


def completed(model: type[SQLModel], values: dict[str, Any]) -> dict[str, Any]:
    """Return storable values for every column, the model's defaults where none is given.

    The hot path inserts so: building a row object costs more than storing it."""
    unknown = values.keys() - _column_names(model)
    if unknown:
        raise TypeError(f"{table_of(model).name} has no column {', '.join(sorted(unknown))}")
    return storable_values({**_defaults(model), **values})


@cache
def _update_by_id(model: type[SQLModel]) -> Update:
    return update(table_of(model)).where(table_of(model).c.id == bindparam("key_id"))


@cache
def _select_by_id(model: type[SQLModel]) -> Select[Any]:
    return select(model).where(table_of(model).c.id == bindparam("key_id"))


def values_of(row: SQLModel) -> dict[str, Any]:
    """Return a row's values by column, storable; a generated key that is not set is left out."""
    # Rows of the tables hold every column here; reading through their attributes takes four times as long.
    state = vars(row)
    values = storable_values({name: state[name] for name in _column_names(type(row))})
    if values.get("id", "") is None:
        del values["id"]
    return values


def insert_or_keep(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert the values unless the key exists; tell whether a row was inserted."""
    # Otherwise SQLAlchemy forgets the count of an insert.
    options = {"preserve_rowcount": True}
    statement = _keep(connection.dialect.name, table)
    return connection.execute(statement, values, execution_options=options).rowcount > 0


def insert_or_overwrite(connection: Connection, table: Table, values: dict[str, Any]) -> None:
    """Insert the values, or set every other column when the key exists."""
    connection.execute(_overwrite(connection.dialect.name, table), values)


@cache
def _keep(dialect: str, table: Table) -> Insert:
    return _dialect_insert(dialect, table).on_conflict_do_nothing(
        index_elements=list(table.primary_key.columns)
    )


@cache
def _overwrite(dialect: str, table: Table) -> Insert:
    statement = _dialect_insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={c.name: statement.excluded[c.name] for c in table.columns if not c.primary_key},
    )


def _dialect_insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table).inline()


class Rows(Generic[RowT]):
    """A table of one model, on one connection. Subclasses name the model."""

    model: ClassVar[type[SQLModel]]

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.table = table_of(self.model)
        self.c = self.table.c

    def add(self, row: RowT) -> None:
        """Insert the row; Conflict when its key exists or the row it belongs to does not."""
        self.connection.execute(_insert_into(self.model), values_of(row))

    def insert(self, **values: object) -> None:
        """Insert one row by its columns, defaults filled in; raises as `add` does."""
        self.connection.execute(_insert_into(self.model), completed(self.model, values))

    def insert_many(self, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows by their columns with one statement; as `insert` for each."""
        if rows:
            parameters = [completed(self.model, row) for row in rows]
            self.connection.execute(_insert_into(self.model), parameters)

    def add_many(self, rows: Iterable[RowT]) -> None:
        """Insert the rows with one statement; nothing happens when there are none."""
        parameters = [values_of(row) for row in rows]
        if parameters:
            self.connection.execute(_insert_into(self.model), parameters)

    def append(self, rows: list[dict[str, Any]]) -> None:
        """Insert plain values by column name, all of them alike; the fast way for hot tables."""
        if rows:
            self.connection.execute(_insert_into(self.model), [storable_values(row) for row in rows])

    def _first(self, *where: ColumnElement[bool]) -> RowT | None:
        return self._one(select(self.model).where(*where))

    def _one(self, statement: Select[Any]) -> RowT | None:
        rows = self._all(statement.limit(1))
        return rows[0] if rows else None

    def _sorted(self, *where: ColumnElement[bool], by: Sequence[str] = ("created_at", "id")) -> list[RowT]:
        """Return the rows in the order of some columns; without these, the oldest first."""
        return self._all(select(self.model).where(*where).order_by(*(self.c[name] for name in by)))

    def _equal(self, **values: object) -> list[ColumnElement[bool]]:
        """Return the conditions that columns have these values; None stands for any."""
        return [
            self.c[name] == (storable(value) if isinstance(value, str) else value)
            for name, value in values.items()
            if value is not None
        ]

    def _all(self, statement: Select[Any], parameters: dict[str, Any] | None = None) -> list[RowT]:
        with OrmSession(self.connection, autoflush=False) as session:
            return list(session.scalars(statement, parameters))

    def _scalar(self, statement: Select[Any]) -> Any:
        return self.connection.execute(statement).scalar()

    def _count(self, where: Sequence[ColumnElement[bool]]) -> int:
        return int(self._scalar(select(func.count()).select_from(self.table).where(*where)))

    def _newest_first(
        self, kind: str, where: Sequence[ColumnElement[bool]], *, limit: int, cursor: str | None
    ) -> Page[RowT]:
        """Return a page ordered by creation, newest first; the id settles equal times."""
        order = (self.c.created_at, self.c.id)
        statement = select(self.model).where(*where).order_by(order[0].desc(), order[1].desc())
        if cursor is not None:
            id_type = int if self.c.id.type.python_type is int else str
            created_at, row_id = decode_cursor(cursor, kind, (int, id_type))
            statement = statement.where(
                # The first condition alone is what an index can seek by.
                and_(order[0] <= created_at, or_(order[0] < created_at, order[1] < row_id))
            )
        rows: list[Any] = list(self._all(statement.limit(limit + 1)))
        last = rows[limit - 1] if len(rows) > limit else None
        next_cursor = encode_cursor(kind, (last.created_at, last.id)) if last is not None else None
        return Page(items=rows[:limit], next_cursor=next_cursor, total=self._count(where))


class RowsById(Rows[RowT]):
    """A table whose key is the column `id`."""

    def get(self, row_id: str) -> RowT | None:
        """Return the row, detached; None when there is none."""
        rows = self._all(_select_by_id(self.model), {"key_id": storable(row_id)})
        return rows[0] if rows else None

    def by_ids(self, ids: Collection[str]) -> dict[str, RowT]:
        """Return the rows of these ids, which are few, by their ids."""
        wanted = self.c.id.in_([storable(row_id) for row_id in ids])
        return {row.id: row for row in self._all(select(self.model).where(wanted))} if ids else {}  # type: ignore[attr-defined]

    def update(self, row_id: str, /, **values: object) -> bool:
        """Set the columns given; False when there is no such row. Unknown columns are refused."""
        unknown = values.keys() - _column_names(self.model)
        if unknown:
            raise TypeError(f"{self.table.name} has no column {', '.join(sorted(unknown))}")
        if not values:
            return self.get(row_id) is not None
        parameters = {**storable_values(values), "key_id": storable(row_id)}
        return self.connection.execute(_update_by_id(self.model), parameters).rowcount > 0


class RowsOfSession(RowsById[RowT]):
    """A table whose rows belong to sessions."""

    def list(self, session_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[RowT]:
        """Return a page of a session's rows, the newest first."""
        where = self._equal(session_id=session_id)
        return self._newest_first(self.table.name, where, limit=limit, cursor=cursor)

    def of_session(self, session_id: str) -> builtins.list[RowT]:
        """Return every row of a session, the oldest first."""
        return self._sorted(*self._equal(session_id=session_id))
