"""The log as clients read it: filters, pages, secrets, retention, and a database that fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.config import StorageSettings
from app.daemon import log_store
from app.daemon.background import trim_once
from app.daemon.log_store import MAX_FIELD_BYTES, MAX_WAITING, LogStore
from app.errors import StorageError
from app.harness.stream.event_hub import EventHub
from app.observability import MASK, Redactor, log_event
from app.storage.storage import Storage
from tests.driver.sessions import WAIT_SECONDS, Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider

LOGGER = logging.getLogger("kaged.test")


@pytest.fixture(autouse=True)
def every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


@pytest.fixture
async def driver(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "shop")
    settings: dict[str, Any] = {
        "models": {"main": ["fake:model-a"]},
        "providers": provider_settings("openai", fake.base_url),
    }
    async with driven(tmp_path / "data", root, **settings) as driver:
        yield driver


async def logs(driver: Driver, **query: Any) -> dict[str, Any]:
    answer = await driver.client.get("/api/v1/logs", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def stored(driver: Driver, count: int, **query: Any) -> list[dict[str, Any]]:
    """Wait until so many entries are there, and return them, the newest first."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = await logs(driver, **query)
            if found["total"] >= count:
                items: list[dict[str, Any]] = found["items"]
                return items
            await asyncio.sleep(0.05)


@pytest.mark.requirement("observability.logs")
async def test_every_model_call_is_a_record_in_the_published_format(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Reply((ToolCall("file_read", {"path": "README.md"}, id="c1"),)),
        Reply((Text("Done."),)),
    )
    await driver.run("Read")
    run = await driver.last_run()

    second, first = await stored(driver, 2, event="agent.generation", session_id=driver.session_id)
    assert (first["level"], first["logger"]) == ("info", "kaged.agent")
    assert (first["session_id"], first["run_id"]) == (driver.session_id, run["id"])
    assert first["created_at"] <= second["created_at"]
    duration = first["fields"].pop("duration_ms")
    assert isinstance(duration, float | int)
    assert first["fields"] == {
        "agent": "primary",
        "model": "fake:model-a",
        "tokens_in": 10,
        "tokens_out": 5,
        "stop_reason": "toolUse",
        "tool_calls": ["file.read"],
    }
    assert second["fields"]["tool_calls"] == []
    assert (await logs(driver, run_id=run["id"]))["total"] == 2
    assert (await logs(driver, run_id="run_other"))["total"] == 0


@pytest.mark.requirement("observability.logs")
async def test_records_are_found_by_level_text_and_time(driver: Driver) -> None:
    log_event(LOGGER, "parcel.sent", weight=3, where="Harbour Street")
    LOGGER.warning("the %s is closed", "harbour")
    LOGGER.error("the bridge is closed")

    error, warning = await stored(driver, 2, text="is closed")
    assert (error["level"], error["event"]) == ("error", "log")
    assert error["fields"] == {"message": "the bridge is closed"}
    assert warning["logger"] == "kaged.test"
    (sent,) = await stored(driver, 1, event="parcel.sent")
    assert sent["fields"] == {"weight": 3, "where": "Harbour Street"}
    assert {entry["event"] for entry in await stored(driver, 2, text="HARBOUR")} == {"parcel.sent", "log"}
    assert (await logs(driver, text="is closed", level="error"))["items"] == [error]
    assert (await logs(driver, text="100%"))["total"] == 0
    assert (await logs(driver, text="is closed", since=error["created_at"]))["items"][0] == error
    assert (await logs(driver, text="is closed", until="2020-01-01T00:00:00Z"))["total"] == 0
    assert (await driver.client.get("/api/v1/logs?level=loud")).status_code == 400
    async with driver.daemon.client("") as anonymous:
        assert (await anonymous.get("/api/v1/logs")).status_code == 401


@pytest.mark.requirement("observability.logs")
async def test_pages_stay_right_while_records_are_added(driver: Driver) -> None:
    for number in range(60):
        log_event(LOGGER, "tick", number=number)
    await stored(driver, 60, event="tick")
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = await logs(driver, event="tick", limit=25, **cursor)
        seen += [entry["fields"]["number"] for entry in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
        log_event(LOGGER, "tick", number=1000)
        await stored(driver, 60 + len(seen) // 25, event="tick")
    assert seen == list(range(59, -1, -1))


@pytest.mark.requirement("observability.logs")
async def test_no_secret_is_stored(driver: Driver, tmp_path: Path) -> None:
    token = driver.daemon.token
    log_event(
        LOGGER, "call.made", authorization="Bearer abcdefgh", url="https://u:hunter22@host/x", text=token
    )
    LOGGER.error("the key sk-test-secret was refused")
    try:
        raise ValueError(f"with {token}")
    except ValueError:
        LOGGER.exception("it failed")

    (made,) = await stored(driver, 1, event="call.made")
    assert made["fields"]["authorization"] == MASK
    await stored(driver, 2, level="error", text="e")
    content = b"".join([path.read_bytes() for path in (tmp_path / "data").glob("kaged.db*")])
    assert b"call.made" in content
    for secret in (token, "hunter22", "sk-test-secret", "abcdefgh"):
        assert secret.encode() not in content, secret


@pytest.mark.requirement("observability.logs")
async def test_old_records_go_by_age_and_by_number(storage: Storage) -> None:
    def fill(uow: Any) -> None:
        row = {"severity": 20, "logger": "l", "event": "e", "session_id": None, "run_id": None, "fields": {}}
        uow.logs.append([{**row, "created_at": at} for at in (1, 2, *range(2**41, 2**41 + 1500))])

    await storage.write(fill)
    settings = StorageSettings(log_retention_entries=1000)
    await trim_once(storage, EventHub(storage), settings)
    page = await storage.read(lambda uow: uow.logs.list(limit=1))
    assert page.total == 1000
    assert page.items[0].created_at == 2**41 + 1499
    assert (await storage.read(lambda uow: uow.logs.list(until=2**41))).total == 0


class _Failing:
    """A storage whose writes fail, and that complains about it as the real one does."""

    def __init__(self) -> None:
        self.writes = 0
        self.enough = asyncio.Event()

    async def write(self, _: Any) -> None:
        self.writes += 1
        if self.writes == 5:
            self.enough.set()
        LOGGER.error("could not store everything")
        raise StorageError("the disk is full")


async def test_a_database_that_fails_does_not_fill_the_log_about_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_store, "EVERY_SECONDS", 0.01)
    storage = _Failing()
    store = LogStore(storage, Redactor())  # type: ignore[arg-type]
    root = logging.getLogger()
    root.addHandler(store)
    running = asyncio.create_task(store.run())
    try:
        LOGGER.error("the first")
        async with asyncio.timeout(WAIT_SECONDS):
            await storage.enough.wait()
    finally:
        root.removeHandler(store)
        store.stop()
        await running
    # Each write that fails is told once, and that is what the next one is about.
    assert store.lost == storage.writes
    assert store.stored == 0


async def test_records_from_every_thread_are_taken_and_a_flood_is_bounded() -> None:
    store = LogStore(_Failing(), Redactor())  # type: ignore[arg-type]
    logger = logging.Logger("kaged.flood")
    logger.addHandler(store)
    threads = [
        threading.Thread(target=lambda: [logger.info("x") for _ in range(MAX_WAITING)]) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.lost == pytest.approx(2 * MAX_WAITING, abs=10)


async def test_strange_records_are_stored_within_bounds(driver: Driver) -> None:
    log_event(
        LOGGER, "odd", text="\ud800 lone", big=2**80, what=Path("/x"), many=["y" * 100] * 10_000, n={1: 2}
    )
    (store,) = [handler for handler in logging.getLogger().handlers if isinstance(handler, LogStore)]
    store.handle(LOGGER.makeRecord("l", logging.ERROR, "f", 1, "does not %d go", ("together",), None))
    (odd,) = await stored(driver, 1, event="odd")
    assert odd["fields"]["big"] == str(2**80)
    assert odd["fields"]["what"] == "/x"
    assert odd["fields"]["n"] == {"1": 2}
    assert len(odd["fields"]["many"]) < MAX_FIELD_BYTES
    assert store.lost == 1
