"""Catching up with sessions over HTTP, and what a socket is told when its session goes away."""

from __future__ import annotations

from typing import Any

import pytest

from app.events.sessions import SessionUpdated
from tests.driver.daemon import close_code, next_frame
from tests.driver.ledger import TRANSIENT
from tests.driver.sessions import Driver
from tests.fakes.provider_script import Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider


async def caught_up(driver: Driver, after: int) -> dict[str, Any]:
    answer = await driver.call("GET", f"/sync?sessions={driver.session_id}:{after}")
    found: dict[str, Any] = answer["sessions"][0]
    return found


async def test_catching_up_gives_the_frames_that_the_socket_gave(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ToolCall("file_read", {"path": "README.md"}),)), Reply((Text("Done."),)))
    watch = await driver.run("Go")
    told = [frame for frame in watch.frames if frame["type"] not in TRANSIENT]
    caught = await caught_up(driver, 0)
    assert caught["frames"] == told
    assert (caught["from_seq"], caught["through_seq"]) == (1, told[-1]["seq"])
    assert (caught["has_more"], caught["resync"]) == (False, False)
    later = await caught_up(driver, told[3]["seq"])
    assert later["frames"] == told[4:]
    nothing = await caught_up(driver, told[-1]["seq"])
    assert (nothing["frames"], nothing["resync"]) == ([], False)


async def test_a_long_log_is_caught_up_with_in_pieces(driver: Driver) -> None:
    stream = await driver.daemon.services.events.stream(driver.session_id)
    await stream.record([SessionUpdated(title=f"title {number}") for number in range(1203)])
    numbers, more, after = [], True, 0
    while more:
        piece = await caught_up(driver, after)
        numbers += [frame["seq"] for frame in piece["frames"]]
        assert piece["frames"][0]["seq"] == piece["from_seq"] == after + 1
        after, more = piece["through_seq"], piece["has_more"]
    assert numbers == list(range(1, 1204))


async def test_a_client_ahead_of_the_log_or_behind_its_beginning_has_to_reload(driver: Driver) -> None:
    events = driver.daemon.services.events
    stream = await events.stream(driver.session_id)
    await stream.record([SessionUpdated(title=f"title {number}") for number in range(5)])
    ahead = await caught_up(driver, 1_000_000)
    assert (ahead["resync"], ahead["frames"], ahead["through_seq"]) == (True, [], 5)
    storage = driver.daemon.services.storage
    await storage.write(lambda uow: uow.events.trim_older_than(2**60))
    await events.refresh_trim_points()
    await stream.record([SessionUpdated(title="after")])
    behind = await caught_up(driver, 2)
    assert behind["resync"]
    assert [frame["payload"]["title"] for frame in behind["frames"]] == ["after"]


@pytest.mark.requirement("websocket.closes")
async def test_the_sockets_of_a_deleted_session_close_with_4404(driver: Driver) -> None:
    async with driver.daemon.websocket(f"/sessions/{driver.session_id}/ws") as socket:
        await next_frame(socket, "sync")
        await driver.session_call("DELETE")
        assert await close_code(socket) == 4404
    async with driver.daemon.websocket(f"/sessions/{driver.session_id}/ws") as socket:
        assert await close_code(socket) == 4404
