"""The writer: groups, order, failures alone, durable commits, the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from app.errors import Conflict, StorageError, StorageOutage
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.storage.writer import Divided, Lane
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS


class Gate:
    """Holds the writer inside a unit, so that what is queued meanwhile becomes one group."""

    def __init__(self, storage: Storage) -> None:
        self._entered = threading.Event()
        self._leave = threading.Event()
        self.future = storage.submit(self._wait)

    def _wait(self, _: UnitOfWork) -> None:
        self._entered.set()
        assert self._leave.wait(WAIT_SECONDS)

    async def __aenter__(self) -> Gate:
        assert await asyncio.to_thread(self._entered.wait, WAIT_SECONDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave.set()
        await self.future


async def positions(storage: Storage) -> list[int | None]:
    history = await storage.read(lambda unit: unit.messages.history("ses_00001", "primary"))
    return [message.position for message in history]


@pytest.mark.requirement("storage.writer")
async def test_what_is_queued_while_the_writer_is_busy_is_committed_as_one_group(storage: Storage) -> None:
    await storage.write(rows.family)
    async with Gate(storage):
        before = storage.statistics.commits
        futures = [storage.submit(lambda unit, n=n: unit.messages.add(rows.message(n))) for n in range(1, 51)]
    await asyncio.gather(*futures)
    assert storage.statistics.commits == before + 2  # the gate's, then all fifty
    assert storage.statistics.largest_group == 50
    assert await positions(storage) == list(range(1, 51))


@pytest.mark.requirement("storage.writer")
async def test_a_unit_that_fails_is_undone_alone(storage: Storage) -> None:
    await storage.write(rows.family)

    def half_then_fail(unit: UnitOfWork) -> None:
        unit.messages.add(rows.message(2))
        raise LookupError("on purpose")

    def break_the_key(unit: UnitOfWork) -> None:
        unit.messages.add(rows.message(3))
        unit.messages.add(rows.message(1))

    async with Gate(storage):
        futures = [
            storage.submit(lambda unit: unit.messages.add(rows.message(1))),
            storage.submit(half_then_fail),
            storage.submit(break_the_key),
            storage.submit(lambda unit: unit.messages.add(rows.message(4, session_id="ses_none"))),
            storage.submit(lambda unit: unit.messages.add(rows.message(5))),
        ]
    told = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(answer) for answer in told] == [type(None), LookupError, Conflict, Conflict, type(None)]
    assert isinstance(told[2], Conflict)
    assert told[2].details["reason"] == "duplicate"
    assert isinstance(told[3], Conflict)
    assert told[3].details["reason"] == "foreign_key"
    assert await positions(storage) == [1, 5]
    assert storage.statistics.failed_units == 3


async def test_a_unit_that_fails_by_itself_leaves_nothing(storage: Storage) -> None:
    await storage.write(rows.family)

    def half_then_fail(unit: UnitOfWork) -> None:
        unit.messages.add(rows.message(1))
        raise LookupError("on purpose")

    with pytest.raises(LookupError, match="on purpose"):
        await storage.write(half_then_fail)
    assert await positions(storage) == []


async def test_a_unit_that_hides_a_database_error_fails_as_a_whole_on_postgresql(
    postgres_url: str, tmp_path: Path
) -> None:
    """PostgreSQL answers the commit of a broken transaction with a silent rollback."""
    from app.storage.backup import upgrade

    await upgrade(postgres_url, tmp_path)
    storage = await Storage.open(postgres_url, tmp_path)
    await storage.write(rows.family)

    def hide(unit: UnitOfWork) -> str:
        unit.messages.add(rows.message(1))
        try:
            unit.messages.add(rows.message(1))
        except Exception:  # noqa: BLE001 - the mistake that this test is about
            return "stored, as far as I know"
        return "stored"

    with pytest.raises(StorageError, match="nothing of it is stored"):
        await storage.write(hide)
    async with Gate(storage):
        futures = [storage.submit(hide), storage.submit(lambda u: u.messages.add(rows.message(2)))]
    told = await asyncio.gather(*futures, return_exceptions=True)
    assert isinstance(told[0], StorageError)
    assert await positions(storage) == [2]
    await storage.close()


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.requirement("storage.writer")
async def test_a_unit_that_is_divided_is_committed_in_its_place(storage: Storage, alone: bool) -> None:
    await storage.write(rows.family)

    def add(number: int) -> Callable[[UnitOfWork], int]:
        def statements(unit: UnitOfWork) -> int:
            unit.messages.add(rows.message(number))
            return number

        return statements

    def fail(unit: UnitOfWork) -> int:
        raise LookupError("on purpose")

    parts = [add(2), fail, add(3)]

    def seen(unit: UnitOfWork) -> list[int | None]:
        return [message.position for message in unit.messages.history("ses_00001", "primary")]

    async with Gate(storage):
        first = None if alone else storage.submit(add(1))
        whole = storage.submit(lambda unit: [part(unit) for part in parts], parts=parts)
        later = None if alone else storage.submit(seen)
    with pytest.raises(Divided) as raised:
        await whole
    outcomes = raised.value.outcomes
    assert [outcome.result for outcome in outcomes] == [2, None, 3]
    assert [type(outcome.error) for outcome in outcomes] == [type(None), LookupError, type(None)]
    if first is not None and later is not None:
        assert await first == 1
        assert await later == [1, 2, 3]
    assert await positions(storage) == ([2, 3] if alone else [1, 2, 3])


async def test_an_outage_divides_no_unit_and_ends_the_rest_of_a_divided_one(storage: Storage) -> None:
    await storage.write(rows.family)
    lane = Lane()

    def outage(unit: UnitOfWork) -> None:
        raise StorageOutage("on purpose")

    def fail(unit: UnitOfWork) -> None:
        raise LookupError("on purpose")

    def add(unit: UnitOfWork) -> None:
        unit.messages.add(rows.message(1))

    with pytest.raises(StorageOutage):
        await storage.submit(outage, lane=lane, parts=[add, add])
    with pytest.raises(Divided) as raised:
        await storage.submit(fail, lane=lane, reopens=True, parts=[fail, outage, add])
    kinds = [type(outcome.error) for outcome in raised.value.outcomes]
    assert kinds == [LookupError, StorageOutage, StorageOutage]
    assert await positions(storage) == []


async def test_units_run_in_the_order_they_were_submitted(storage: Storage) -> None:
    await storage.write(rows.family)
    ran: list[int] = []
    futures = [storage.submit(lambda unit, n=n: ran.append(n), durable=n % 3 == 0) for n in range(300)]
    await asyncio.gather(*futures)
    assert ran == list(range(300))


async def test_the_answer_comes_only_after_the_commit(storage: Storage) -> None:
    """Each answered write is seen at once by another connection."""
    await storage.write(rows.family)

    async def write_then_look(number: int) -> None:
        await storage.write(lambda unit: unit.messages.add(rows.message(number)))
        seen = await storage.read(lambda unit: unit.messages.get(f"msg_{number:05}"))
        assert seen is not None

    await asyncio.gather(*(write_then_look(number) for number in range(1, 101)))


async def test_a_durable_unit_makes_its_group_durable_and_only_its_group(storage: Storage) -> None:
    setting = "PRAGMA synchronous" if storage.database.name == "sqlite" else "SHOW synchronous_commit"

    def level(unit: UnitOfWork) -> str:
        return str(unit.connection.execute(text(setting)).scalar())

    relaxed, durable = ("1", "2") if storage.database.name == "sqlite" else ("on", "on")
    assert await storage.write(level) == relaxed
    assert await storage.write(level, durable=True) == durable
    assert await storage.write(level) == relaxed
    async with Gate(storage):
        group = [storage.submit(level), storage.submit(level, durable=True), storage.submit(level)]
    assert await asyncio.gather(*group) == [durable] * 3
    assert storage.statistics.durable_commits == 2


async def test_a_cancelled_caller_does_not_stop_its_unit(storage: Storage) -> None:
    await storage.write(rows.family)
    async with Gate(storage):
        waiting = asyncio.create_task(storage.write(lambda unit: unit.messages.add(rows.message(1))))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await storage.write(lambda unit: unit.messages.add(rows.message(2)))
    assert await positions(storage) == [1, 2]


async def test_close_stores_everything_that_was_queued(storage_url: str | None, tmp_path: Path) -> None:
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(rows.family)
    futures = [storage.submit(lambda unit, n=n: unit.messages.add(rows.message(n))) for n in range(1, 201)]
    await asyncio.gather(storage.close(), storage.close())
    assert all(future.done() and future.exception() is None for future in futures)
    again = await Storage.open(storage_url, tmp_path)
    assert await positions(again) == list(range(1, 201))
    await again.close()


async def test_after_close_every_call_says_that_the_storage_is_closed(storage: Storage) -> None:
    await storage.close()
    with pytest.raises(StorageError, match="closed"):
        storage.submit(rows.family)
    with pytest.raises(StorageError, match="closed"):
        await storage.write(rows.family)
    with pytest.raises(StorageError, match="closed"):
        await storage.read(lambda unit: unit.projects.list())


class Crash(BaseException):
    """What no unit may raise."""


async def test_a_crash_of_the_writer_fails_everything_that_waits(storage: Storage) -> None:
    await storage.write(rows.family)

    def crash(_: UnitOfWork) -> None:
        raise Crash

    async with Gate(storage):
        futures = [
            storage.submit(lambda unit: unit.messages.add(rows.message(1))),
            storage.submit(crash),
            storage.submit(lambda unit: unit.messages.add(rows.message(2))),
        ]
    told = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), WAIT_SECONDS)
    assert all(isinstance(answer, StorageError) and "crashed" in str(answer) for answer in told)
    with pytest.raises(StorageError, match="crashed"):
        await storage.write(rows.family)
    assert await positions(storage) == []


async def test_a_unit_that_raises_stop_iteration_is_answered(storage: Storage) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await storage.write(lambda unit: next(iter(())))


async def test_a_full_disk_is_said_and_the_writer_goes_on(sqlite_storage: Storage) -> None:
    storage = sqlite_storage
    await storage.write(rows.family)

    def limit_pages(unit: UnitOfWork, more: int) -> None:
        pages = int(unit.connection.execute(text("PRAGMA page_count")).scalar_one())
        unit.connection.execute(text(f"PRAGMA max_page_count={pages + more}"))

    await storage.write(lambda unit: limit_pages(unit, 5))
    async with Gate(storage):
        futures = [
            storage.submit(lambda unit: unit.messages.add(rows.message(1))),
            storage.submit(lambda unit: unit.messages.add(rows.message(2, content="x" * 1_000_000))),
            storage.submit(lambda unit: unit.messages.add(rows.message(3))),
        ]
    first, second, third = await asyncio.gather(*futures, return_exceptions=True)
    # SQLite gave up the whole transaction: what was before the large one is lost with it and says
    # so; what came after it is stored.
    assert isinstance(first, StorageError)
    assert "disk is full" in str(first)
    assert isinstance(second, StorageError)
    assert "disk is full" in str(second)
    assert third is None
    assert await positions(storage) == [3]
    await storage.write(lambda unit: limit_pages(unit, 10_000))
    await storage.write(lambda unit: unit.messages.add(rows.message(4, content="x" * 1_000_000)))
    assert await positions(storage) == [3, 4]


async def test_a_read_only_database_is_said(sqlite_storage: Storage) -> None:
    def make_read_only(unit: UnitOfWork) -> None:
        unit.connection.execute(text("PRAGMA query_only=ON"))

    await sqlite_storage.write(make_read_only)
    with pytest.raises(StorageError, match="read-only"):
        await sqlite_storage.write(rows.family)


@pytest.mark.requirement("durability.outage_at_end")
async def test_what_comes_after_an_outage_in_a_lane_is_not_stored_before_what_the_outage_kept_out(
    storage: Storage,
) -> None:
    await storage.write(rows.family)
    lane = Lane()

    def out(unit: UnitOfWork) -> None:
        raise StorageOutage("the disk is full")

    async with Gate(storage):
        behind = [
            storage.submit(out, lane=lane),
            storage.submit(lambda unit: unit.messages.add(rows.message(1)), lane=lane),
        ]
        other = storage.submit(lambda unit: unit.messages.add(rows.message(2)), lane=Lane())
    answers = await asyncio.gather(*behind, return_exceptions=True)
    assert all(isinstance(answer, StorageOutage) for answer in answers)
    await other
    with pytest.raises(StorageOutage, match="the disk is full"):
        await storage.submit(lambda unit: unit.messages.add(rows.message(3)), lane=lane)
    assert await positions(storage) == [2]
    await storage.submit(lambda unit: unit.messages.add(rows.message(1)), lane=lane, reopens=True)
    await storage.submit(lambda unit: unit.messages.add(rows.message(3)), lane=lane)
    assert await positions(storage) == [1, 2, 3]
