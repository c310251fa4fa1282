"""Notices of a commit, between the daemons of one PostgreSQL database."""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from app.ids import now_ms
from app.storage import notices as module
from app.storage.backup import upgrade
from app.storage.engine import open_database
from app.storage.leases import Replica
from app.storage.notices import Notices
from app.storage.repositories.events import LONGEST_NOTICE
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.pooler import Pooler
from tests.driver.postgres import PostgresServer


class Heard:
    """What a listener delivers."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str] = queue.Queue()

    def __call__(self, text: str) -> None:
        self._queue.put(text)

    def next(self, seconds: float = WAIT_SECONDS) -> str:
        return self._queue.get(timeout=seconds)


@contextmanager
def listening(url: str, folder: Path, name: str = "dmn_none") -> Iterator[tuple[Notices, Heard]]:
    heard = Heard()
    notices = Notices(open_database(url, folder), name, heard)
    notices.start()
    try:
        yield notices, heard
    finally:
        notices.close()


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def two_projects(uow: UnitOfWork) -> None:
    for number in (1, 2):
        uow.projects.add(rows.project(number))
        uow.sessions.add(rows.session(number, project_id=f"prj_{number:05}"))


def events(session: int, *numbers: int) -> Callable[[UnitOfWork], None]:
    made = [
        {
            "session_id": f"ses_{session:05}",
            "seq": number,
            "type": "session.updated",
            "created_at": now_ms(),
            "frame": b"{}",
        }
        for number in numbers
    ]
    return lambda uow: uow.events.append(made)


@pytest.fixture
async def storage(postgres_url: str, tmp_path: Path) -> Iterator[Storage]:  # type: ignore[misc]
    await upgrade(postgres_url, tmp_path)
    opened = await Storage.open(postgres_url, tmp_path, replica=Replica("http://127.0.0.1:1"))
    await opened.write(two_projects)
    yield opened
    await opened.close()


async def test_a_commit_is_one_notice_with_each_project_and_its_highest_number(
    storage: Storage, postgres_url: str, tmp_path: Path
) -> None:
    def both(uow: UnitOfWork) -> None:
        events(1, 3, 4)(uow)
        events(2, 7)(uow)

    with listening(postgres_url, tmp_path) as (_, heard):
        assert await asyncio.to_thread(heard.next) == "*"  # what was committed before
        await storage.write(both)
        parts = await asyncio.to_thread(heard.next)
        assert sorted(parts.split(",")) == ["prj_00001 4", "prj_00002 7"]
        await storage.write(lambda uow: uow.sessions.update("ses_00001", title="No event"))
        await storage.write(events(1, 5))
        assert await asyncio.to_thread(heard.next) == "prj_00001 5"


async def test_what_is_undone_is_not_told(storage: Storage, postgres_url: str, tmp_path: Path) -> None:
    def refused(uow: UnitOfWork) -> None:
        events(1, 3)(uow)
        raise ValueError

    with listening(postgres_url, tmp_path) as (_, heard):
        assert await asyncio.to_thread(heard.next) == "*"
        with pytest.raises(ValueError):
            await storage.write(refused)
        await storage.write(events(2, 1))
        assert await asyncio.to_thread(heard.next) == "prj_00002 1"


async def test_a_notice_that_postgresql_would_refuse_stands_for_all_projects(
    storage: Storage, postgres_url: str, tmp_path: Path
) -> None:
    count = LONGEST_NOTICE // len("prj_00001 1,") + 2

    def many(uow: UnitOfWork) -> None:
        for number in range(3, count + 3):
            uow.projects.add(rows.project(number))
            uow.sessions.add(rows.session(number, project_id=f"prj_{number:05}"))
            events(number, 1)(uow)

    with listening(postgres_url, tmp_path) as (_, heard):
        assert await asyncio.to_thread(heard.next) == "*"
        await storage.write(many)
        assert await asyncio.to_thread(heard.next) == "*"


async def test_a_listener_whose_connection_ends_connects_again(
    storage: Storage, postgres_url: str, tmp_path: Path
) -> None:
    with listening(postgres_url, tmp_path) as (_, heard):
        assert await asyncio.to_thread(heard.next) == "*"
        with psycopg.connect(postgres_url, autocommit=True) as operator:
            ended = operator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            ).fetchall()
        assert ended == [(True,)]
        assert await asyncio.to_thread(heard.next) == "*"
        await storage.write(events(1, 9))
        assert await asyncio.to_thread(heard.next) == "prj_00001 9"


@pytest.mark.needs("pgbouncer")
async def test_behind_a_transaction_pooler_the_listener_says_that_nothing_arrives(
    storage: Storage,
    postgres_server: PostgresServer,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert storage.leases is not None
    name = storage.leases.owner.id
    with Pooler.before(postgres_server) as pooler:
        with listening(pooler.url, tmp_path, name) as (notices, _):
            await asyncio.to_thread(until, lambda: notices.silent)
            assert "set storage.listen_url" in caplog.text
        monkeypatch.setattr(module, "SILENT_SECONDS", 60.0)
        with listening(postgres_url, tmp_path, name) as (notices, heard):
            assert await asyncio.to_thread(heard.next) == "*"
            await storage.write(events(1, 2))
            assert await asyncio.to_thread(heard.next) == "prj_00001 2"
            assert not notices.silent


async def test_a_listener_without_a_server_says_so_and_ends_when_it_is_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with listening(f"postgresql:///x?host={tmp_path}", tmp_path) as (notices, _):
        await asyncio.to_thread(until, lambda: notices.silent)
    assert "streams of their sessions lag" in caplog.text
