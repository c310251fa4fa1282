"""Opening a storage: what is there, what is made, what is refused."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

import app.storage.engine
from app.errors import ConfigError, Conflict, KagedError, StorageError
from app.storage.backup import upgrade
from app.storage.engine import driver_of
from app.storage.revisions import HEAD
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.postgres import PostgresServer


@pytest.mark.requirement("storage.sqlite")
async def test_without_a_url_a_sqlite_file_is_made_in_the_data_folder(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    storage = await Storage.open(None, folder)
    await storage.write(rows.family)

    def pragmas(unit: UnitOfWork) -> dict[str, object]:
        names = ("journal_mode", "foreign_keys", "auto_vacuum", "synchronous", "busy_timeout")
        return {name: unit.connection.execute(text(f"PRAGMA {name}")).scalar() for name in names}

    assert await storage.write(pragmas) == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "auto_vacuum": 2,
        "synchronous": 1,
        "busy_timeout": 10_000,
    }
    await storage.close()
    # The log was folded into the file.
    assert [path.name for path in folder.iterdir()] == ["kaged.db"]
    again = await Storage.open(None, folder)
    assert await again.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    await again.close()


@pytest.mark.requirement("storage.backup")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_newer_schema_is_refused(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    if url:
        await upgrade(url, tmp_path)
    storage = await Storage.open(url, tmp_path)
    change = text("UPDATE alembic_version SET version_num = '9999'")
    await storage.write(lambda unit: unit.connection.execute(change).rowcount)
    await storage.close()
    for attempt in (Storage.open, upgrade):
        with pytest.raises(StorageError, match="newer than this version") as caught:
            await attempt(url, tmp_path)
        assert "9999" in str(caught.value)
        assert HEAD in str(caught.value)


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kaged.db").write_bytes(b"notes of mine, not a database. " * 100)
    with pytest.raises(StorageError, match="not a kaged database"):
        await Storage.open(None, tmp_path)
    assert (tmp_path / "kaged.db").read_bytes().startswith(b"notes of mine")


async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "kaged.db")) as other:
        other.execute("CREATE TABLE recipes (id)")
    with pytest.raises(StorageError, match="recipes"):
        await Storage.open(None, tmp_path)
    with closing(sqlite3.connect(tmp_path / "kaged.db")) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://u:hunter2@h/d", "scheme 'mysql'"),
        ("sqlite:///x.db", "scheme 'sqlite'"),
        ("hunter2", "not a URL"),
        ("postgresql://u:hunter2@h:notaport/d", "not a URL"),
    ],
)
async def test_a_wrong_url_is_explained_without_its_password(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        await Storage.open(url, tmp_path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.requirement("storage.postgresql")
async def test_an_empty_postgresql_database_is_only_checked_at_start(
    postgres_url: str, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match="kaged db upgrade"):
        await Storage.open(postgres_url, tmp_path)
    report = await upgrade(postgres_url, tmp_path)
    assert (report.before, report.after, report.copy) == (None, HEAD, None)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family)
    await storage.close()


async def test_a_second_daemon_on_one_postgresql_database_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    await upgrade(postgres_url, tmp_path / "a")
    first = await Storage.open(postgres_url, tmp_path / "a")
    with pytest.raises(Conflict, match="another kaged daemon uses the database") as caught:
        await Storage.open(postgres_url, tmp_path / "b")
    assert "since 2" in str(caught.value)
    with pytest.raises(Conflict):
        await upgrade(postgres_url, tmp_path / "b")
    await first.close()
    second = await Storage.open(postgres_url, tmp_path / "b")
    await second.close()


@pytest.mark.parametrize(
    "change",
    [
        {"database": "kaged_no_such_database"},
        {"username": "nobody_here"},
        {"host": "/nonexistent"},
    ],
)
async def test_an_unreachable_postgresql_database_is_explained(
    change: dict[str, str], postgres_server: PostgresServer, tmp_path: Path
) -> None:
    parts = {"username": "kaged", "database": "postgres", "host": str(postgres_server.folder), **change}
    url = (
        f"postgresql://{parts['username']}:hunter2@/{parts['database']}"
        f"?host={parts['host']}&port={postgres_server.port}"
    )
    with pytest.raises(KagedError) as caught:
        await Storage.open(url, tmp_path)
    assert isinstance(caught.value, StorageError)
    assert "hunter2" not in str(caught.value)


async def test_a_postgresql_server_that_restarts_fails_what_was_in_flight_and_is_found_again(
    postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family)
    assert await storage.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    postgres_server.stop("fast")
    with pytest.raises(StorageError):
        await storage.write(lambda unit: unit.messages.add(rows.message(1)))
    with pytest.raises(StorageError, match="cannot be reached"):
        await storage.write(lambda unit: unit.messages.add(rows.message(2)))
    with pytest.raises(StorageError):
        await storage.read(lambda unit: unit.sessions.get("ses_00001"))
    postgres_server.start()
    assert await storage.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    await storage.write(lambda unit: unit.messages.add(rows.message(3)), durable=True)
    assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == 3
    # The new connection claimed the database again.
    with pytest.raises(Conflict):
        await Storage.open(postgres_url, tmp_path / "b")
    await storage.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_a_postgresql_server_that_restarted_meanwhile_costs_no_write(
    postgres_url: str, postgres_server: PostgresServer, tmp_path: Path, mode: str
) -> None:
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family, durable=True)
    postgres_server.stop(mode)
    postgres_server.start()
    await storage.write(lambda unit: unit.messages.add(rows.message(1)), durable=True)
    assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == 1
    with pytest.raises(Conflict):  # claimed again
        await Storage.open(postgres_url, tmp_path / "b")
    await storage.close()


async def test_what_the_daemon_goes_on_with_is_there_after_a_crash_of_the_postgresql_server(
    postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """It lives on, and what it has told its clients must not be missing behind its back."""
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family)
    for position in range(1, 6):
        written = storage.write(lambda unit, at=position: unit.messages.add(rows.message(at)))
        await written  # not `durable`
        postgres_server.stop("immediate")
        postgres_server.start()
        assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == position
    await storage.close()


async def test_a_word_of_a_postgresql_server_that_is_not_its_end_costs_no_connection(
    postgres_url: str, tmp_path: Path
) -> None:
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    process = text("SELECT pg_backend_pid()")
    before = await storage.write(lambda unit: unit.connection.execute(process).scalar())
    await storage.write(lambda unit: unit.connection.execute(text("LISTEN anything")).rowcount)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("NOTIFY anything")
    assert await storage.write(lambda unit: unit.connection.execute(process).scalar()) == before
    await storage.close()


async def test_a_postgresql_server_that_vanishes_is_noticed_within_a_minute(
    postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Over TCP: a firewall or a pulled cable says nothing, and the kernel waits for hours by itself."""
    await upgrade(postgres_url, tmp_path)
    socket_file = postgres_server.folder / f".s.PGSQL.{postgres_server.port}"
    forwarded: set[asyncio.Task[None]] = set()

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(65_536):
                target.write(piece)
        finally:
            target.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_unix_connection(str(socket_file))
        forwarded.update(map(asyncio.create_task, (pump(reader, here), pump(there, writer))))

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    options = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")

    def settings(unit: UnitOfWork) -> list[int]:
        descriptor = os.dup(driver_of(unit.connection).fileno())
        with socket.socket(fileno=descriptor) as connected:
            return [connected.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in options]

    for query, expected in (("", [20, 10, 3, 50_000]), ("?keepalives_idle=7", [7, 10, 3, 50_000])):
        storage = await Storage.open(f"postgresql://kaged@127.0.0.1:{port}/postgres{query}", tmp_path)
        try:
            assert await storage.write(settings) == await storage.read(settings) == expected
        finally:
            await storage.close()
    server.close()
    for task in forwarded:
        task.cancel()
    await asyncio.gather(*forwarded, return_exceptions=True)


async def test_a_table_that_another_client_holds_is_waited_for_with_an_end(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.storage.engine, "_LOCK_TIMEOUT", "300ms")
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family)
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(20):
            with pytest.raises(StorageError, match=r"another client locks a table"):
                await storage.write(lambda unit: unit.sessions.update("ses_00001", title="x"))
            with pytest.raises(StorageError, match=r"another client locks a table"):
                await storage.read(lambda unit: unit.sessions.get("ses_00001"))
    await storage.write(lambda unit: unit.sessions.update("ses_00001", title="x"))
    assert await storage.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    await storage.close()


def test_a_start_that_needs_no_migration_does_not_load_alembic(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom app.storage.storage import Storage\n"
        "async def main():\n"
        "    for _ in range(2):\n"
        "        await (await Storage.open(None, Path(sys.argv[1]))).close()\n"
        "asyncio.run(main())\n"
        "print([name for name in ('alembic', 'psycopg', 'mako') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
        env={"PYTHONPATH": "."},
    )
    assert done.stdout == "[]\n"
