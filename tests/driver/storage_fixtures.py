"""Fixtures that give a test a storage: on SQLite, on PostgreSQL, or on each in turn."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.storage.backup import upgrade
from app.storage.storage import Storage
from tests.driver.machine import need
from tests.driver.postgres import PostgresServer, find_binaries, make_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running PostgreSQL server; without one installed the tests on it are reported as skipped."""
    need("postgresql")
    binaries = find_binaries()
    assert binaries is not None
    server = make_server(binaries)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of an empty PostgreSQL database."""
    return postgres_server.empty_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest) -> str | None:
    """A storage URL for each database in turn, with nothing in it; None means SQLite."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def storage_url(empty_database: str | None, tmp_path: Path) -> str | None:
    """A storage URL for each database in turn, ready to be opened with `tmp_path` as data folder."""
    if empty_database is not None:
        await upgrade(empty_database, tmp_path)
    return empty_database


@pytest.fixture
async def storage(storage_url: str | None, tmp_path: Path) -> AsyncIterator[Storage]:
    """An open storage, on each database in turn."""
    opened = await Storage.open(storage_url, tmp_path)
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
async def sqlite_storage(tmp_path: Path) -> AsyncIterator[Storage]:
    """An open storage on SQLite, for tests to which the database does not matter."""
    opened = await Storage.open(None, tmp_path)
    try:
        yield opened
    finally:
        await opened.close()
