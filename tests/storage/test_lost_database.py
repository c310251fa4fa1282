"""A database that was emptied or has lost a table is refused with what to do, and nothing takes its place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from app.errors import StorageError
from app.storage.backup import backup, check, restore, upgrade
from app.storage.storage import Storage
from tests.driver import rows

pytestmark = pytest.mark.requirement("durability.emptied_database")


async def used(folder: Path) -> Path:
    """Use a database as a daemon does, and return its file."""
    storage = await Storage.open(None, folder)
    await storage.write(rows.family)
    await storage.close()
    (folder / "token").write_text("kgd_x")
    return folder / "kaged.db"


@pytest.mark.parametrize("left", ["token", "uploads", "kaged.db.backup-0001-20260101T000000Z"])
async def test_an_emptied_database_beside_used_data_is_refused_and_stays_as_it_is(
    tmp_path: Path, left: str
) -> None:
    file = await used(tmp_path)
    (tmp_path / "token").unlink()
    (tmp_path / left).mkdir()
    file.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(StorageError, match=r"is empty \(0 bytes\).*kaged db restore"):
            await Storage.open(None, tmp_path)
    assert file.read_bytes() == b""
    file.unlink()
    await (await Storage.open(None, tmp_path)).close()


@pytest.mark.parametrize("loss", ["emptied", "table"])
async def test_a_restore_does_what_the_message_says(tmp_path: Path, loss: str) -> None:
    file = await used(tmp_path)
    await backup(None, tmp_path, tmp_path.parent / f"{tmp_path.name}.gz")
    if loss == "emptied":
        file.write_bytes(b"")
    else:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("DROP TABLE messages")
            connection.commit()
    with pytest.raises(StorageError, match="kaged db restore"):
        await Storage.open(None, tmp_path)
    await restore(None, tmp_path, tmp_path.parent / f"{tmp_path.name}.gz")
    storage = await Storage.open(None, tmp_path)
    assert await storage.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    await storage.close()


async def test_an_empty_file_of_a_first_start_that_was_killed_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "kaged.db").touch()
    (tmp_path / "daemon.lock").touch()
    (tmp_path / "snapshots").mkdir()
    await (await Storage.open(None, tmp_path)).close()


async def test_a_database_without_one_of_its_tables_is_refused(tmp_path: Path) -> None:
    file = await used(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE messages")
        connection.commit()
    with pytest.raises(StorageError, match=r"lost parts \(messages\).*kaged db restore"):
        await Storage.open(None, tmp_path)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("DROP TABLE messages", "messages"),
        ("ALTER TABLE messages DROP COLUMN content", "messages.content"),
        ("DELETE FROM alembic_version", "the row of alembic_version"),
    ],
)
async def test_what_a_database_has_lost_is_named_at_start_and_by_a_check(
    tmp_path: Path, statement: str, lost: str
) -> None:
    file = await used(tmp_path)
    assert (await check(None, tmp_path)).problems == ()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(StorageError, match=rf"has lost .*\({lost}\).*kaged db restore"):
        await Storage.open(None, tmp_path)
    (problem,) = (await check(None, tmp_path)).problems
    assert "has lost" in problem and f"({lost})" in problem


async def test_a_postgresql_database_without_one_of_its_tables_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    await upgrade(postgres_url, tmp_path)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE messages CASCADE")
    with pytest.raises(StorageError, match=r"lost parts \(messages\)"):
        await Storage.open(postgres_url, tmp_path)
