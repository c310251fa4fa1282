"""A full disk and a stopped PostgreSQL in the middle of a run, then space and server again.

What the run could not store is stored then, by itself: its calls, its messages, its end, and the end of the
workflow run that it was for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.storage.backup import upgrade
from tests.driver.daemon import running_daemon
from tests.driver.outages import FullDisk, Outage, StoppedServer, small_disk
from tests.driver.sessions import WAIT_SECONDS, Watch, check_stream
from tests.fakes.provider_script import Hold, Reply, Text
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import Shop, says, waits, write_shop

pytestmark = [pytest.mark.requirement("durability.outage_at_end"), pytest.mark.requirement("in_use.outage")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "data") as folder:
        yield folder


@pytest.fixture(params=["full disk", "stopped PostgreSQL"])
async def outage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Outage]:
    if request.param == "full disk":
        yield FullDisk(request.getfixturevalue("disk"))
        return
    server, url = request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_url")
    await upgrade(url, tmp_path)
    stopped = StoppedServer(server, url)
    try:
        yield stopped
    finally:
        await asyncio.to_thread(stopped.end)


@pytest.fixture
async def shop(
    outage: Outage, lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any]
) -> AsyncIterator[Shop]:
    root = write_shop(tmp_path / "shop")
    settings = {**settings_overrides, **outage.settings}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        driver = Shop(daemon, client)
        await driver.load(root)
        yield driver


async def until_idle_in_memory(shop: Shop, session_id: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while shop.daemon.services.sessions.states()["running"]:  # noqa: ASYNC110 - the storage is away
            await asyncio.sleep(0.02)


async def until_live(shop: Shop, watch: Watch) -> None:
    """Wait until nothing is replayed any more: that needs the storage."""
    stored = (await shop.session_call("GET"))["last_seq"]
    await watch.until(lambda frame: frame["seq"] >= stored)


async def left_open(shop: Shop, session_id: str) -> tuple[list[str], list[str]]:
    """Return the ids of calls without a result and of messages that are not complete."""

    def read(uow: Any) -> tuple[list[str], list[str]]:
        calls = [call.call_id for call in uow.tool_calls.unfinished(session_id)]
        return calls, [row.id for row in uow.messages.incomplete(session_id)]

    return await shop.daemon.services.storage.read(read)


async def test_an_outage_while_a_tool_runs_leaves_nothing_open_once_it_is_over(
    shop: Shop, outage: Outage, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(waits("a"), says("Nobody reads this yet."))
    run = await shop.invoke("nap")
    await lab.until_started("a")
    session_id = shop.session_id = (await shop.run_of(run["id"]))["session_id"]
    async with shop.watching() as watch:
        await watch.until_type("message.tool_call")
        await until_live(shop, watch)
        await asyncio.to_thread(outage.begin)
        lab.release("a")
        await until_idle_in_memory(shop, session_id)
        await asyncio.to_thread(outage.end)
        ended = await watch.until_type("run.ended")
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert (ended["payload"]["state"], ended["payload"]["reason"]) == ("failed", "unavailable")
    (result,) = watch.of("message.tool_result")
    assert '"name":"a"' in result["payload"]["content"].replace(" ", "")
    assert (await shop.until(run["id"], "failed"))["error"]["code"] == "unavailable"
    assert await left_open(shop, session_id) == ([], [])
    assert [m["role"] for m in await shop.messages()][-3:] == ["primary", "tool", "primary"]
    fake.script(says("As good as new."))
    again = await shop.run("Go on")
    assert again.text() == "As good as new."


async def test_an_outage_while_a_model_answers_keeps_the_whole_answer(
    shop: Shop, outage: Outage, fake: FakeProvider
) -> None:
    hold = Hold()
    fake.script(Reply((Text("One "), hold, Text("two"))))
    run = await shop.invoke("nap")
    session_id = shop.session_id = (await shop.until_session(run["id"], "running"))["id"]
    async with shop.watching() as watch:
        await watch.until_type("message.delta", "message.snapshot")
        await until_live(shop, watch)
        await asyncio.to_thread(outage.begin)
        hold.gate.set()
        await until_idle_in_memory(shop, session_id)
        refused = await shop.client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Hello"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
        await asyncio.to_thread(outage.end)
        await watch.until_type("run.ended")
        await watch.until_state("idle")
    check_stream(watch.frames)
    await shop.until(run["id"], "failed", "succeeded")
    assert await left_open(shop, session_id) == ([], [])
    assert [m["content"] for m in await shop.messages() if m["role"] == "primary"] == ["One two"]
    assert "Hello" not in [m["content"] for m in await shop.messages()]
