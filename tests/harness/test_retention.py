"""Old events go, by age and by size, and clients that were away are told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import text

from app.config import StorageSettings
from app.daemon.background import trim_once
from app.harness.stream.event_hub import EventHub
from app.ids import now_ms
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.sessions import WAIT_SECONDS, driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def made_earlier(by_ms: int, through_seq: int) -> Any:
    """Put these events into one moment, since the log is trimmed by whole minutes."""

    def work(uow: UnitOfWork) -> None:
        earlier = text("UPDATE events SET created_at = :at WHERE seq <= :through")
        uow.connection.execute(earlier, {"at": now_ms() - by_ms, "through": through_seq})

    return work


async def first_frames(daemon: Daemon, session_id: str, after_seq: int) -> list[dict[str, Any]]:
    """Return the first two frames that a client gets."""
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={after_seq}") as socket:
        return [orjson.loads(await socket.recv()) for _ in range(2)]


async def until_trimmed(daemon: Daemon, session_id: str) -> list[dict[str, Any]]:
    """Return the first frames once the daemon has trimmed the log, which it does soon after its start."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            frames = await first_frames(daemon, session_id, 0)
            if frames[0]["type"] == "resync":
                return frames
            await asyncio.sleep(0.02)


@pytest.mark.requirement("websocket.order")
@pytest.mark.parametrize(
    ("limits", "age_ms"),
    [({"event_retention_days": 2}, 3 * DAY_MS), ({"event_retention_mb": 1}, 10 * MINUTE_MS)],
    ids=["by age", "by size"],
)
async def test_a_client_from_before_the_trim_is_sent_to_the_snapshot_and_goes_on(
    fake: FakeProvider,
    project_root: Path,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    limits: dict[str, int],
    age_ms: int,
) -> None:
    (project_root / "long.txt").write_text("a long line of the file\n" * 3_000)
    reads = [
        Reply(
            tuple(
                ToolCall("file_read", {"path": "long.txt", "limit": 1_000 + 10 * n + part}, id=f"c{n}.{part}")
                for part in range(3)
            )
        )
        for n in range(20)
    ]  # their events are more than the megabyte that is the smallest limit
    fake.script(*reads, text_reply("Read."), text_reply("And here."))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        await driver.run("Read it often")
        old = (await driver.session_call("GET"))["last_seq"]
        await driver.run("And now?")
        await driver.daemon.services.storage.write(made_earlier(age_ms, old))
        session_id, messages = driver.session_id, await driver.messages()

    settings = {**settings_overrides, "storage": limits}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        resync, sync = await until_trimmed(daemon, session_id)
        assert resync["payload"] == {"from_seq": old + 1, "snapshot": f"/api/v1/sessions/{session_id}"}
        assert (sync["type"], sync["payload"]["from_seq"]) == ("sync", old + 1)
        snapshot = await client.get(resync["payload"]["snapshot"])
        assert snapshot.json()["last_seq"] > old
        sync, posted = await first_frames(daemon, session_id, old)
        assert (sync["type"], posted["type"]) == ("sync", "message.posted")
        assert posted["payload"]["content"] == "And now?"
        kept = (await client.get(f"/api/v1/sessions/{session_id}/messages?limit=100")).json()["items"]
        assert [m["id"] for m in kept] == [m["id"] for m in messages]  # only events go


async def test_a_session_without_any_event_left_still_says_where_to_go_on_from(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(text_reply("Yes."))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        await driver.run("Is it?")
        last = (await driver.session_call("GET"))["last_seq"]
        await driver.daemon.services.storage.write(made_earlier(40 * DAY_MS, last))
        session_id = driver.session_id
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        await until_trimmed(daemon, session_id)
        detail = (await client.get(f"/api/v1/sessions/{session_id}")).json()
        assert detail["last_seq"] == last
        async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={last}") as socket:
            assert orjson.loads(await socket.recv())["type"] == "sync"


async def test_the_room_of_a_deleted_session_is_given_back_without_any_event_that_is_old(
    sqlite_storage: Storage, tmp_path: Path
) -> None:
    await sqlite_storage.write(rows.family)
    await sqlite_storage.write(
        lambda uow: uow.messages.add_many(rows.message(n, content="x" * 20_000) for n in range(1, 200))
    )

    def pages(uow: UnitOfWork) -> int:
        return int(uow.connection.execute(text("PRAGMA page_count")).scalar_one())

    before = await sqlite_storage.read(pages)
    assert await sqlite_storage.write(lambda uow: uow.sessions.delete("ses_00001"))
    assert await sqlite_storage.read(pages) == before
    await trim_once(sqlite_storage, EventHub(sqlite_storage), StorageSettings())
    assert await sqlite_storage.read(pages) < before / 5
