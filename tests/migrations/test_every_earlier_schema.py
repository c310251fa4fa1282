"""Rows of every schema there ever was come through the migrations, in place and by way of a backup."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    insert,
    select,
    text,
)
from sqlmodel import SQLModel

from app.storage.backup import backup, check, restore, upgrade
from app.storage.dump import write_dump
from app.storage.engine import close_connection, open_database
from app.storage.repositories.issue_search import is_search_table
from app.storage.revisions import HEAD, REVISIONS
from app.storage.schema_version import migration_transaction, run_migrations
from app.storage.storage import Storage
from app.storage.typed_json import Json
from app.storage.unit_of_work import UnitOfWork

TRUST = "0009"
MODELS = {str(mapper.local_table.name): mapper.class_ for mapper in SQLModel._sa_registry.mappers}


def value_of(column: Column[Any], number: int) -> Any:
    """Return a value that the column takes; the same one wherever rows refer to each other."""
    for key in column.foreign_keys:
        return value_of(key.column, number)
    now = MODELS[column.table.name].__table__.columns.get(column.name)
    if now is not None and isinstance(now.type, Json):
        return '{"ü":[1,null]}'
    match column.type:
        case Boolean():
            return number == 2
        case Integer():
            return number
        case Float():
            return 0.1 * number
        case LargeBinary():
            return bytes(range(256))
        case _:
            return f"{column.table.name}_{column.name}_{number}"


def fill(connection: Connection) -> dict[str, int]:
    """Put two rows into each table, one of them with as little as is allowed; return the rows by table."""
    metadata = MetaData()
    metadata.reflect(connection)
    counts = {}
    for table in metadata.sorted_tables:
        if table.name == "alembic_version" or is_search_table(table.name):
            continue
        counts[str(table.name)] = 2
        for number in (1, 2):
            columns = [column for column in table.columns if number == 2 or not column.nullable]
            connection.execute(insert(table).values({c.name: value_of(c, number) for c in columns}))
    return counts


def read_all(unit: UnitOfWork) -> dict[str, int]:
    """Read every row as the daemon does; return the rows by table."""
    names = [name for name in vars(UnitOfWork) if name[0] != "_" and name != "release_space"]
    repositories = [getattr(unit, name) for name in names if name != "inbox"]  # it has no table of its own
    found = {str(one.table.name): len(one._all(select(one.model))) for one in repositories}
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_rows_of_an_earlier_schema_are_all_there_after_an_upgrade(
    empty_database: str | None, tmp_path: Path, revision: str
) -> None:
    old, other = tmp_path / "old", tmp_path / "other"
    for folder in (old, other):
        folder.mkdir()
    connection = open_database(empty_database, old).connect(exclusive=True)
    with migration_transaction(connection):
        run_migrations(connection, revision)
        counts = fill(connection)
        if connection.dialect.name == "postgresql":  # as if the database had numbered the rows itself
            connection.execute(text("SELECT setval(pg_get_serial_sequence('audit_events', 'id'), 2)"))
    if revision < TRUST:  # one of the two projects has been compiled
        counts = Counter(counts) + Counter({"project_trust": 1, "audit_events": 1})
    with connection.begin():
        write_dump(connection, revision, tmp_path / "old.gz")
    close_connection(connection)

    report = await upgrade(empty_database, old)
    assert (report.before, report.after) == (revision, HEAD)
    checked = await check(empty_database, old)
    assert checked.problems == ()
    assert {name: count for name, count in checked.rows.items() if count} == counts
    storage = await Storage.open(empty_database, old)
    read = await storage.read(read_all)
    await storage.close()
    assert read.items() <= counts.items()
    assert len(read) >= len(counts) - 2  # steps and keys are read by way of others
    await backup(empty_database, old, tmp_path / "upgraded.gz")

    # A backup of that time, restored by this version, is the same to the byte.
    await restore(None, other, tmp_path / "old.gz")
    await backup(None, other, tmp_path / "restored.gz")
    assert (tmp_path / "restored.gz").read_bytes() == (tmp_path / "upgraded.gz").read_bytes()
