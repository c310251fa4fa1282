"""A portable copy of every row: gzip of JSON lines, the same for both databases.

Owns: the format. Never: which database is read or filled, or when.

The first line names the format and the schema revision. Each table has a line with its columns, then one line
per row. Columns come from the database, not from the models, so that older dumps stay readable.
"""

from __future__ import annotations

import base64
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, MetaData, String, Table, func, insert, select

from app.errors import StorageError
from app.storage.file_failures import file_error
from app.storage.private_file import private
from app.storage.repositories.issue_search import is_search_table
from app.storage.schema_version import is_own_table

FORMAT = "kaged-dump-1"
_VERSION_TABLE = "alembic_version"
# Rows may have ten megabytes each: few are held at once.
_ROWS_READ = 20
_ROWS_INSERTED = 500
_BYTES_INSERTED = 4 * 1024 * 1024


def write_dump(connection: Connection, revision: str, target: Path) -> dict[str, int]:
    """Write every row that the transaction sees; return the rows by table. The file appears once it is
    complete and on disk. Raises StorageError."""
    partial = target.with_name(target.name + ".partial")
    counts: dict[str, int] = {}
    try:
        with open(partial, "wb", opener=private) as raw:
            # Without a name and time inside: equal rows make equal files.
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as lines:
                _write_tables(connection, revision, lines, counts)
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(target)
    except OSError as problem:
        raise file_error(problem, f"the backup {target} cannot be written") from problem
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return counts


def _write_tables(
    connection: Connection, revision: str, lines: gzip.GzipFile, counts: dict[str, int]
) -> None:
    lines.write(_line({"format": FORMAT, "schema": revision}))
    for table in _tables(connection):
        name = str(table.name)
        lines.write(_line({"table": name, "columns": [str(c.name) for c in table.columns]}))
        counts[name] = 0
        for row in _rows(connection, table):
            lines.write(_line([_portable(value) for value in row]))
            counts[name] += 1
    lines.write(_line({"end": True, "counts": counts}))


class Dump:
    """A dump to be read. Raises StorageError when the file is not one."""

    def __init__(self, source: Path) -> None:
        self._source = source
        _, first = next(self._lines(), (0, None))
        if not isinstance(first, dict) or first.get("format") != FORMAT or "schema" not in first:
            raise StorageError(f"{source} is not a backup made by `kaged db backup`")
        self.revision = str(first["schema"])

    def load(self, connection: Connection) -> dict[str, int]:
        """Insert every row into the empty tables; return the rows by table."""
        tables = {str(table.name): table for table in _tables(connection)}
        counts: dict[str, int] = {}
        ended: dict[str, int] | None = None
        table: Table | None = None
        columns: list[str] = []
        batch: list[dict[str, Any]] = []
        held = 0
        for size, line in self._lines():
            if isinstance(line, list) and table is not None:
                batch.append(dict(zip(columns, map(_native, line), strict=True)))
                held += size
            full = len(batch) == _ROWS_INSERTED or held >= _BYTES_INSERTED
            if batch and table is not None and (full or isinstance(line, dict)):
                connection.execute(insert(table).inline(), batch)
                counts[str(table.name)] += len(batch)
                batch, held = [], 0
            if isinstance(line, dict) and "table" in line:
                table, columns = tables.get(line["table"]), line["columns"]
                if table is None:
                    raise StorageError(f"{self._source} has a table that this schema lacks: {line['table']}")
                counts[str(table.name)] = 0
            elif isinstance(line, dict) and "end" in line:
                ended = line["counts"]
        if ended != counts:
            raise StorageError(f"{self._source} is truncated: rows are missing")
        _advance_sequences(connection, tables.values())
        return counts

    def _lines(self) -> Iterator[tuple[int, Any]]:
        """Yield each line with its size in bytes."""
        try:
            with gzip.open(self._source, "rb") as lines:
                for line in lines:
                    yield len(line), orjson.loads(line)
        except (OSError, EOFError, ValueError, zlib.error) as failure:
            raise StorageError(f"the backup {self._source} cannot be read: {failure}") from failure


def count_rows(connection: Connection) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {
        str(table.name): int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in _tables(connection)
    }


def _tables(connection: Connection) -> list[Table]:
    """Return kaged's tables, each after those that it refers to, without derived ones."""
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: is_own_table(name) and not is_search_table(name))
    return [table for table in metadata.sorted_tables if table.name != _VERSION_TABLE]


def _rows(connection: Connection, table: Table) -> Iterator[Any]:
    # Bytewise on both, whatever the locale of the server: equal rows make equal files.
    key = [
        column.collate("C")
        if connection.dialect.name == "postgresql" and isinstance(column.type, String)
        else column
        for column in table.primary_key.columns
    ]
    statement = select(table).order_by(*key)
    # The rows of a table may be larger than the memory.
    with connection.execute(statement, execution_options={"yield_per": _ROWS_READ}) as rows:
        yield from rows


def _advance_sequences(connection: Connection, tables: Any) -> None:
    """Let generated keys continue after the loaded rows."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if "id" not in table.c or table.c.id.type.python_type is not int:
            continue
        sequence = func.pg_get_serial_sequence(table.name, "id")
        highest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
        connection.execute(select(func.setval(sequence, highest, False)))


def _line(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"


def _portable(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return value


def _native(value: Any) -> Any:
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value
