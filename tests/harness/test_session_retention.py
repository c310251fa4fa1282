"""Sessions go by age and by size when the operator says so, the audit by size; what is at work stays."""

from __future__ import annotations

from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import pytest

from app.config import StorageSettings
from app.daemon.background import trim_once, trim_sessions
from app.harness.stream.event_hub import EventHub
from app.ids import now_ms
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.sessions import Driver
from tests.fakes.provider_script import Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("operations.retention")

DAY_MS = 24 * 60 * 60 * 1000
MEBIBYTE = 1024 * 1024


async def aged(driver: Driver, session_id: str, days: int) -> None:
    at = now_ms() - days * DAY_MS
    await driver.daemon.services.storage.write(lambda uow: uow.sessions.update(session_id, updated_at=at))


async def trim(driver: Driver, **settings: Any) -> list[str]:
    """Run the retention of sessions; return the ids of those that are left."""
    services = driver.daemon.services
    await trim_sessions(services.storage, services.sessions.delete, StorageSettings(**settings))
    return [one["id"] for one in (await driver.call("GET", "/sessions?limit=100"))["items"]]


async def test_nothing_goes_unless_the_operator_says_so(driver: Driver) -> None:
    await aged(driver, driver.session_id, 10_000)
    assert await trim(driver) == [driver.session_id]


async def test_sessions_go_by_age_but_for_those_at_work_and_the_audit_says_so(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(text_reply("Old."), Reply((Text("Hm"), Stall())), Reply((Text("Hm"), Stall())))
    old = driver.session_id
    await driver.run("Old")
    archived = await driver.new_session()
    await driver.session_call("POST", "/archive")
    running = await driver.new_session()
    async with driver.watching() as watch:
        await driver.post("Goes on")
        await watch.until_text("Hm")
        paused = await driver.new_session()
        async with driver.watching() as second:
            await driver.post("Waits for a person")
            await second.until_text("Hm")
            await driver.session_call("POST", "/pause")
        young = await driver.new_session()
        for session_id in (old, archived, running, paused):
            await aged(driver, session_id, 31)
        left = await trim(driver, session_retention_days=30)
        assert set(left) == {running, paused, young}
        told = (await driver.call("GET", "/audit?event=session.retention"))["items"]
        assert {(row["session_id"], row["data"]["reason"]) for row in told} == {
            (old, "age"),
            (archived, "age"),
        }
        await driver.call("GET", f"/sessions/{old}", status=404)
        await driver.call("POST", f"/sessions/{running}/cancel")


async def test_sessions_go_by_size_the_longest_untouched_first(storage: Storage, tmp_path: Path) -> None:
    def fill(uow: UnitOfWork) -> None:
        uow.projects.add(rows.project())
        for number in range(1, 6):
            state = "paused" if number == 1 else "idle"
            uow.sessions.add(rows.session(number, state=state, updated_at=number))
            message = rows.message(
                number, session_id=f"ses_0000{number}", content=token_urlsafe(MEBIBYTE * 3 // 4)
            )
            uow.messages.add(message)

    await storage.write(fill)
    gone: list[str] = []

    async def delete(session_id: str) -> None:
        gone.append(session_id)
        await storage.write(lambda uow: uow.sessions.delete(session_id))

    await trim_sessions(storage, delete, StorageSettings(session_retention_mb=100))
    assert gone == []
    await trim_sessions(storage, delete, StorageSettings(session_retention_mb=3))
    assert gone == ["ses_00002", "ses_00003"]  # the first one is paused: it stays and counts last
    await trim_sessions(storage, delete, StorageSettings(session_retention_mb=3))
    assert len(gone) <= 3


async def test_the_audit_has_a_bound_of_its_size_and_the_oldest_rows_go(sqlite_storage: Storage) -> None:
    storage = sqlite_storage
    await storage.write(rows.family)
    at = now_ms()
    for minute in range(8):
        await storage.write(
            lambda uow, minute=minute: uow.audit.add_many(
                rows.audit(
                    minute * 10 + n,
                    created_at=at - minute * 60_000,
                    data={"text": "x" * 100_000, "minute": minute},
                )
                for n in range(1, 6)
            )
        )
    await trim_once(storage, EventHub(storage), StorageSettings(audit_retention_mb=2))
    left = await storage.read(lambda uow: uow.audit.list(limit=100).items)
    minutes = {row.data["minute"] for row in left}
    assert 0 in minutes and 7 not in minutes
    assert sum(len(row.data["text"]) for row in left) <= 2 * MEBIBYTE
    assert minutes == set(range(max(minutes) + 1))  # no gap: only the oldest went
