"""What a session held is freed when it is over, not when the garbage collector comes by."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from app.api.stream import _Socket
from app.harness.conversation.history import History
from app.harness.sessions import live_sessions
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Hold the garbage collector back: it would free what refers to each other, too."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def held(kind: type) -> int:
    return sum(type(one) is kind for one in gc.get_objects())


async def until_freed(kind: type, left: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while held(kind) > left:  # noqa: ASYNC110 - nothing tells when an object is freed
            await asyncio.sleep(0.02)


async def test_a_deleted_session_leaves_no_conversation_in_memory(
    fake: FakeProvider, driver: Driver, uncollected: None
) -> None:
    before = held(History)
    for _ in range(3):
        fake.script(text_reply("Yes."))
        await driver.new_session()
        await driver.run("Is it?")
        assert held(History) > before
        await driver.session_call("DELETE")
        await until_freed(History, before)


async def test_sessions_that_others_take_the_place_of_leave_no_conversation_in_memory(
    fake: FakeProvider, driver: Driver, uncollected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_sessions, "MAX_LIVE_SESSIONS", 1)
    before = held(History)
    first = driver.session_id
    for _ in range(4):
        fake.script(text_reply("Yes."))
        await driver.run("Is it?")
        await driver.new_session()
    # A session that comes right after the end of a run finds it at work still, and leaves it where it is.
    async with asyncio.timeout(WAIT_SECONDS):
        while held(History) > before:
            await driver.new_session()
            await driver.rename("Another")
    fake.script(text_reply("Still."))
    driver.session_id = first
    await driver.run("And now?")
    assert [m["content"] for m in await driver.messages()] == ["Is it?", "Yes.", "And now?", "Still."]


async def test_a_socket_that_its_client_closes_is_freed(driver: Driver, uncollected: None) -> None:
    before = held(_Socket)
    for _ in range(5):
        async with driver.daemon.websocket(f"/sessions/{driver.session_id}/ws") as socket:
            await socket.recv()
            assert held(_Socket) > before
        await until_freed(_Socket, before)
