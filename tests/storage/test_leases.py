"""Leases of projects: one owner at a time, and nothing is written by who is not it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, event

from app.errors import StorageError
from app.ids import now_ms
from app.storage.backup import upgrade
from app.storage.leases import SAFETY_SECONDS, Replica, boot_seconds
from app.storage.models import AuditEvent
from app.storage.repositories.leases import LEASE_SECONDS, WHOLE_DATABASE
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

PROJECT = "prj_01"
MARKER = "marker"


class Member:
    """One of several daemons on the database, as far as its storage goes."""

    def __init__(self, storage: Storage, lost: list[str], renewed: list[float]) -> None:
        self.storage, self.lost, self.renewed = storage, lost, renewed

    async def take(self, marker: str = MARKER, project_id: str = PROJECT) -> int | None:
        leases = self.storage.leases
        assert leases is not None
        fence = await self.storage.write(lambda uow: uow.leases.take(project_id, leases.owner, marker))
        if fence is not None:
            leases.add(project_id, fence)
        return fence


Join = Callable[[], Awaitable[Member]]


@pytest.fixture
async def join(postgres_url: str, tmp_path: Path) -> AsyncIterator[Join]:
    await upgrade(postgres_url, tmp_path)
    joined: list[Storage] = []

    async def join() -> Member:
        lost: list[str] = []
        renewed: list[float] = []
        replica = Replica("http://127.0.0.1:1", renewed.append, lost.append)
        joined.append(await Storage.open(postgres_url, tmp_path, replica=replica))
        return Member(joined[-1], lost, renewed)

    yield join
    for storage in joined:
        await storage.close()


def expire(url: str, project_id: str = PROJECT) -> None:
    """Let the time of a lease pass."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE project_leases SET expires_at = 0 WHERE project_id = %s", [project_id])


async def take_over(member: Member, url: str, project_id: str = PROJECT) -> int:
    """Take the project once its lease has expired; its owner may renew it in between."""
    async with asyncio.timeout(60):
        while True:
            expire(url, project_id)
            fence = await member.take(project_id=project_id)
            if fence is not None:
                return fence


def count(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM audit_events").fetchone()
    assert row is not None
    return int(row[0])


def note(uow: UnitOfWork) -> None:
    uow.audit.add_many(
        [AuditEvent(created_at=now_ms(), event="test", actor="test", project_id=None, data={})]
    )


@pytest.mark.requirement("replicas.fencing")
async def test_a_late_write_of_an_earlier_owner_fails_and_stores_nothing(
    join: Join, postgres_url: str
) -> None:
    first, second = await join(), await join()
    assert await first.take() == 1
    assert await second.take() is None
    await first.storage.write(note)

    assert await take_over(second, postgres_url) == 2

    with pytest.raises(StorageError, match="another daemon has taken over"):
        await first.storage.write(note)
    with pytest.raises(StorageError):  # and from now on
        await first.storage.write(note)
    assert len(first.lost) == 1 and not second.lost
    assert count(postgres_url) == 1
    await second.storage.write(note)
    assert count(postgres_url) == 2


@pytest.mark.requirement("replicas.fencing")
async def test_nobody_takes_a_project_while_a_commit_of_its_owner_is_under_way(
    join: Join, postgres_url: str
) -> None:
    first, second = await join(), await join()
    await first.take()
    working, may_end = threading.Event(), threading.Event()

    def slowly(uow: UnitOfWork) -> None:
        note(uow)
        working.set()
        assert may_end.wait(30)

    slow = first.storage.submit(slowly)
    assert await asyncio.to_thread(working.wait, 30)
    expire_concurrently = asyncio.create_task(asyncio.to_thread(expire, postgres_url))
    await expire_concurrently  # a change of the time alone does not wait for the commit
    assert await second.take() is None

    may_end.set()
    await slow
    assert count(postgres_url) == 1
    assert await take_over(second, postgres_url) == 2


@pytest.mark.requirement("replicas.lease")
async def test_an_idle_owner_renews_its_lease_and_tells_its_guardian_each_time(join: Join) -> None:
    first, second = await join(), await join()
    await first.take()
    told = len(first.renewed)
    async with asyncio.timeout(60):
        while len(first.renewed) < told + 4:  # at least nine seconds, in which nothing is written
            await asyncio.sleep(0.2)
            assert first.renewed[-1] > boot_seconds()
    assert await second.take() is None
    assert not first.lost


@pytest.mark.requirement("replicas.lease")
async def test_who_renews_too_late_learns_that_the_project_is_lost(join: Join, postgres_url: str) -> None:
    first, second = await join(), await join()
    await first.take()
    await take_over(second, postgres_url)
    async with asyncio.timeout(60):
        while not first.lost:  # noqa: ASYNC110  (another thread tells; nothing is written meanwhile)
            await asyncio.sleep(0.1)
    assert PROJECT in first.lost[0]


@pytest.mark.requirement("replicas.lease")
async def test_the_time_of_processes_begins_with_the_first_project_and_with_its_lease(join: Join) -> None:
    first = await join()
    leases = first.storage.leases
    assert leases is not None
    fence = await first.storage.write(lambda uow: uow.leases.take(WHOLE_DATABASE, leases.owner, ""))
    assert fence is not None
    leases.add(WHOLE_DATABASE, fence)
    assert not first.renewed  # what it has started belongs to no project

    begun = boot_seconds() - 5  # its transaction has taken so long, and nothing renewed it
    fence = await first.storage.write(lambda uow: uow.leases.take(PROJECT, leases.owner, MARKER))
    assert fence is not None
    leases.add(PROJECT, fence, begun)
    assert first.renewed[0] <= begun + LEASE_SECONDS - SAFETY_SECONDS
    async with asyncio.timeout(60):
        while first.renewed[-1] < begun + LEASE_SECONDS:  # noqa: ASYNC110  (another thread renews it)
            await asyncio.sleep(0.1)


@pytest.mark.requirement("replicas.lease")
async def test_who_loses_the_lease_of_the_whole_database_alone_goes_on(join: Join, postgres_url: str) -> None:
    first, second = await join(), await join()
    assert await first.take() == 1
    assert await first.take(project_id=WHOLE_DATABASE) == 1
    assert await take_over(second, postgres_url, WHOLE_DATABASE) == 2
    await first.storage.write(note)
    assert first.storage.leases is not None and first.storage.leases.projects == {PROJECT}
    assert not first.lost


@pytest.mark.requirement("replicas.fencing")
async def test_who_tries_in_vain_to_take_a_project_does_not_hold_its_owner_up(join: Join) -> None:
    first, second = await join(), await join()
    await first.take()
    tried, may_end = threading.Event(), threading.Event()
    owner = second.storage.leases.owner if second.storage.leases is not None else None
    assert owner is not None

    def slowly(uow: UnitOfWork) -> None:
        assert uow.leases.take(PROJECT, owner, MARKER) is None
        tried.set()
        assert may_end.wait(60)

    slow = second.storage.submit(slowly)
    assert await asyncio.to_thread(tried.wait, 30)
    told = len(first.renewed)
    await first.storage.write(note)
    async with asyncio.timeout(30):
        while len(first.renewed) == told:  # noqa: ASYNC110  (another thread renews it)
            await asyncio.sleep(0.1)
    assert not slow.done()
    may_end.set()
    await asyncio.wait({slow})


@pytest.mark.requirement("replicas.lease")
async def test_a_clean_stop_releases_at_once_and_the_number_grows_with_every_owner(join: Join) -> None:
    fences = []
    for _ in range(3):
        member = await join()
        fences.append(await member.take())
        assert await member.take() == fences[-1]  # who has it keeps its number
        await member.storage.close()
    assert fences == [1, 2, 3]


@pytest.mark.requirement("replicas.files")
async def test_a_daemon_with_other_files_does_not_get_the_project(join: Join, postgres_url: str) -> None:
    first, second = await join(), await join()
    await first.take()
    expire(postgres_url)
    assert await second.take("other") is None
    assert await take_over(second, postgres_url) == 2


@pytest.mark.requirement("replicas.setting")
async def test_daemons_with_and_without_replicas_refuse_each_other(
    join: Join, postgres_url: str, tmp_path: Path
) -> None:
    await join()
    with pytest.raises(Exception, match="another kaged daemon uses the database"):
        await Storage.open(postgres_url, tmp_path)


@pytest.mark.requirement("replicas.setting")
async def test_replicas_need_postgresql(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"storage\.url"):
        await Storage.open(None, tmp_path, replica=Replica("http://127.0.0.1:1"))


@pytest.mark.requirement("replicas.setting")
async def test_without_replicas_a_write_asks_for_no_lease(postgres_url: str, tmp_path: Path) -> None:
    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    asked: list[str] = []

    def listen(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", listen)
    try:
        await storage.write(note, durable=True)
    finally:
        event.remove(Engine, "before_cursor_execute", listen)
        await storage.close()
    assert len(asked) == 1 and "audit_events" in asked[0]
