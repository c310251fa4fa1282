"""Readers: one state for each read, beside the writer, never writing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from app.errors import StorageError
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS


@pytest.mark.parametrize("whole_rows", [False, True])
async def test_a_read_sees_one_state_while_others_write(storage: Storage, whole_rows: bool) -> None:
    await storage.write(rows.family)
    await storage.write(lambda unit: unit.messages.add(rows.message(1)))
    looked, written = threading.Event(), threading.Event()

    def look(unit: UnitOfWork) -> int:
        if whole_rows:
            return len(unit.messages.history("ses_00001", "primary"))
        return unit.messages.last_position("ses_00001")

    def look_twice(unit: UnitOfWork) -> tuple[int, int]:
        before = look(unit)
        looked.set()
        assert written.wait(WAIT_SECONDS)
        return before, look(unit)

    reading = asyncio.create_task(storage.read(look_twice))
    assert await asyncio.to_thread(looked.wait, WAIT_SECONDS)
    await storage.write(lambda unit: unit.messages.add(rows.message(2)))
    written.set()
    assert await reading == (1, 1)
    assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == 2


async def test_many_readers_beside_a_busy_writer_see_whole_units_only(storage: Storage) -> None:
    await storage.write(rows.family)

    def add_pair(unit: UnitOfWork, number: int) -> None:
        unit.messages.add(rows.message(2 * number - 1))
        unit.messages.add(rows.message(2 * number))

    def count(unit: UnitOfWork) -> int:
        return unit.messages.page("ses_00001", limit=1).total

    writes = [storage.submit(lambda unit, n=n: add_pair(unit, n)) for n in range(1, 101)]
    counts = await asyncio.gather(*(storage.read(count) for _ in range(60)))
    await asyncio.gather(*writes)
    assert all(number % 2 == 0 for number in counts)
    assert await storage.read(count) == 200


async def test_a_read_cannot_write(storage: Storage) -> None:
    with pytest.raises(StorageError, match="read-only"):
        await storage.read(rows.family)
    assert (await storage.read(lambda unit: unit.projects.list())).total == 0


async def test_rows_are_detached_and_stay_usable(storage: Storage) -> None:
    await storage.write(rows.family)
    session = await storage.read(lambda unit: unit.sessions.get("ses_00001"))
    await storage.close()
    assert session is not None
    assert session.title == ""
    session.title = "changed in memory only"
    assert session.model_dump()["title"] == "changed in memory only"


async def test_an_error_of_a_reader_is_reported_and_the_next_read_works(storage: Storage) -> None:
    with pytest.raises(StorageError, match=r"no such table|does not exist"):
        await storage.read(lambda unit: unit.connection.execute(text("SELECT * FROM missing_table")))
    with pytest.raises(LookupError):
        await storage.read(lambda unit: {}["missing"])
    assert (await storage.read(lambda unit: unit.projects.list())).total == 0


async def test_another_process_may_read_the_file_while_the_daemon_writes(tmp_path: Path) -> None:
    storage = await Storage.open(None, tmp_path)
    other = await Storage.open(None, tmp_path)
    await storage.write(rows.family)
    assert await other.read(lambda unit: unit.sessions.get("ses_00001")) is not None
    # Even two writers take turns; the second waits for the first.
    await asyncio.gather(
        *(
            one.write(lambda unit, n=n: unit.messages.add(rows.message(n)))
            for n, one in enumerate([storage, other] * 20, start=1)
        )
    )
    assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == 40
    await other.close()
    await storage.close()


async def test_a_unit_that_reads_before_it_writes_keeps_other_processes_out(tmp_path: Path) -> None:
    """Otherwise SQLite refuses its write, because what it read is no longer the newest state."""
    storage = await Storage.open(None, tmp_path)
    other = await Storage.open(None, tmp_path)
    await storage.write(rows.family)
    has_read, other_is_in = threading.Event(), threading.Event()

    def read_then_write(unit: UnitOfWork) -> bool:
        position = unit.messages.last_position("ses_00001")
        has_read.set()
        came_in = other_is_in.wait(0.3)
        unit.messages.add(rows.message(position + 1))
        return came_in

    first = storage.submit(read_then_write)
    assert await asyncio.to_thread(has_read.wait, WAIT_SECONDS)
    await other.write(
        lambda unit: unit.messages.add(rows.message(unit.messages.last_position("ses_00001") + 1))
    )
    other_is_in.set()
    assert await first is False
    assert await storage.read(lambda unit: unit.messages.last_position("ses_00001")) == 2
    await other.close()
    await storage.close()
