"""Replaying what is stored: in pages of bounded size, and with a word about what is gone meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import NotFound
from app.events.sessions import SessionUpdated
from app.harness.stream import subscription
from app.harness.stream.event_hub import EventHub
from app.storage.storage import Storage
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS

SESSION = "ses_00001"


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await Storage.open(None, tmp_path)
    await opened.write(rows.family)
    yield opened
    await opened.close()


@pytest.fixture
async def hub(storage: Storage) -> EventHub:
    return EventHub(storage)


@pytest.mark.requirement("websocket.order")
async def test_a_page_of_large_frames_is_bounded_in_bytes(
    hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "PAGE_BYTES", 10_000)
    stream = await hub.stream(SESSION)
    sizes = [3_000] * 20 + [40_000] + [100] * 20
    for size in sizes:
        await stream.record([SessionUpdated(title="x" * size)])
    listening = await hub.subscribe(SESSION, 0)
    batches = listening.batches()
    await anext(batches)  # sync
    told: list[int] = []
    while len(told) < len(sizes):
        batch = await asyncio.wait_for(anext(batches), WAIT_SECONDS)
        told += [seq for seq, _, _ in batch]
        assert len(batch) == 1 or sum(len(text) for _, _, text in batch) <= 10_000
    assert told == list(range(1, len(sizes) + 1))
    listening.close()


@pytest.mark.requirement("websocket.order")
async def test_a_client_that_the_retention_overtakes_gets_notice_and_goes_on_behind_it(
    hub: EventHub, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "PAGE", 2)
    stream = await hub.stream(SESSION)
    for number in range(10):
        await stream.record([SessionUpdated(title=f"title {number}")])
    listening = await hub.subscribe(SESSION, 0)
    batches = listening.batches()
    await anext(batches)  # sync
    assert [seq for seq, _, _ in await anext(batches)] == [1, 2]
    assert await storage.write(lambda uow: uow.events.trim_older_than(2**60, limit=6)) == 6
    frames: list[dict[str, Any]] = []
    while not frames or frames[-1]["seq"] < 10:
        batch = await asyncio.wait_for(anext(batches), WAIT_SECONDS)
        frames += [orjson.loads(text) for _, _, text in batch]
    assert [(frame["type"], frame["seq"]) for frame in frames] == [
        ("resync", 6),
        *(("session.updated", seq) for seq in range(7, 11)),
    ]
    assert frames[0]["payload"] == {"from_seq": 7, "snapshot": f"/api/v1/sessions/{SESSION}"}
    listening.close()


async def test_asking_for_sessions_that_are_not_there_leaves_nothing_in_memory(hub: EventHub) -> None:
    asked = [f"ses_{number:026d}" for number in range(50) for _ in range(2)]
    found = await asyncio.gather(*(hub.stream(name) for name in asked), return_exceptions=True)
    assert all(isinstance(answer, NotFound) for answer in found)
    assert not hub._opening


async def test_all_who_ask_for_a_session_at_once_get_one_stream(hub: EventHub) -> None:
    streams = await asyncio.gather(*(hub.stream(SESSION) for _ in range(20)))
    assert len({id(stream) for stream in streams}) == 1
