"""Events of sessions that another daemon owns: in order, each once, from the rows of the shared database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.errors import Conflict, NotFound
from app.events.payload import EventPayload
from app.events.sessions import SessionStateChanged, SessionUpdated
from app.events.union import MessageDelta, MessageEnd, MessageStart
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import HubClosed, SessionDeleted
from app.harness.stream.session_stream import SessionStream
from app.harness.stream.subscription import PAGE
from app.storage.backup import upgrade
from app.storage.engine import open_database
from app.storage.leases import Replica
from app.storage.notices import Notices
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS
from tests.harness.listening import Listener

SESSION, PROJECT = "ses_00001", "prj_00001"


@dataclass
class Pair:
    """The hub of the daemon that owns every project, and that of one that owns what is in `taken`."""

    owner: EventHub
    other: EventHub
    taken: set[str]

    async def stream(self) -> SessionStream:
        return await self.owner.stream(SESSION)


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[Pair]:
    await upgrade(postgres_url, tmp_path)
    stores = [
        await Storage.open(postgres_url, tmp_path, replica=Replica(f"http://127.0.0.1:{number}"))
        for number in (1, 2)
    ]
    await stores[0].write(rows.family)
    owner, other = (EventHub(store) for store in stores)
    taken: set[str] = set()
    owner.follow_others(lambda: [PROJECT])
    other.follow_others(lambda: taken)
    yield Pair(owner, other, taken)
    for hub in (owner, other):
        hub.close()
    for store in stores:
        await store.close()


def title(number: int) -> SessionUpdated:
    return SessionUpdated(title=f"title {number}")


async def record(stream: SessionStream, *numbers: int) -> None:
    await asyncio.gather(*(stream.record([title(number)], durable=True) for number in numbers))


def titles(listener: Listener) -> list[str]:
    return [frame["payload"]["title"] for frame in listener.of("session.updated")]


@pytest.mark.requirement("replicas.streams")
async def test_every_stored_event_arrives_once_and_in_order_also_without_a_notice(pair: Pair) -> None:
    stream = await pair.stream()
    await record(stream, *range(3))
    async with Listener.on(pair.other, SESSION) as listener:
        await listener.until(lambda: len(titles(listener)) == 3)
        for number in range(3, PAGE + 200):
            stream.emit(MessageDelta(message_id="msg_1", delta="word ", kind="text", attempt=1))
            await record(stream, number)
        expected = [f"title {number}" for number in range(PAGE + 200)]
        await listener.until(lambda: len(titles(listener)) >= len(expected))
        assert titles(listener) == expected
        assert listener.numbers() == sorted(set(listener.numbers()))
        assert listener.frames[0]["type"] == "sync"
        assert listener.of("message.delta") == []  # the owner alone has what is not stored
    last = listener.highest_seq
    async with Listener.on(pair.other, SESSION, after_seq=last) as again:
        await record(stream, 1_000)
        await again.until(lambda: titles(again) == ["title 1000"])


@pytest.mark.requirement("replicas.streams")
async def test_a_notice_wakes_who_follows_the_project(pair: Pair, postgres_url: str, tmp_path: Path) -> None:
    followed = pair.other.followed
    assert followed is not None
    loop, heard = asyncio.get_running_loop(), asyncio.Event()

    def notice(text: str) -> None:
        followed.notice(text)
        heard.set()

    notices = Notices(
        open_database(postgres_url, tmp_path),
        "dmn_none",
        lambda text: loop.call_soon_threadsafe(notice, text),  # type: ignore[arg-type, return-value]
    )
    notices.start()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await heard.wait()
        stream = await pair.stream()
        async with Listener.on(pair.other, SESSION) as listener:
            await listener.until_type("sync")
            await record(stream, 1)
            await listener.until(lambda: titles(listener) == ["title 1"])
    finally:
        await asyncio.to_thread(notices.close)


@pytest.mark.requirement("replicas.streams")
async def test_a_refused_record_does_not_change_the_order_in_which_the_others_are_stored(pair: Pair) -> None:
    stream, storage = await pair.stream(), pair.owner.store

    def refuse(uow: UnitOfWork) -> None:
        raise Conflict("refused", reason="test")

    outcomes: list[asyncio.Future[None]] = []
    for number in range(20):
        outcomes.append(stream.record([title(number)], refuse if number == 1 else None))
        if number % 4 == 3:
            for _ in range(6):  # more turns than a batch is gathered for
                await asyncio.sleep(0)
    done = await asyncio.gather(*outcomes, return_exceptions=True)
    assert [isinstance(one, Conflict) for one in done] == [number == 1 for number in range(20)]

    def stored(uow: UnitOfWork) -> Sequence[int]:
        found = uow.connection.exec_driver_sql("SELECT seq FROM events ORDER BY ctid")
        return found.scalars().all()

    numbers = list(await storage.read(stored))
    assert len(numbers) == 19
    assert numbers == sorted(numbers)


async def test_what_was_trimmed_or_never_was_sends_the_client_to_the_session(pair: Pair) -> None:
    stream = await pair.stream()
    await record(stream, *range(5))
    last = stream.published_seq
    await pair.owner.store.write(lambda uow: uow.sessions.update(SESSION, trimmed_through_seq=last - 1))
    async with Listener.on(pair.other, SESSION) as listener:
        await listener.until(lambda: titles(listener) == ["title 4"])
        assert [frame["type"] for frame in listener.frames[:2]] == ["resync", "sync"]
        assert listener.frames[0]["payload"]["from_seq"] == last
        await pair.owner.store.write(
            lambda uow: uow.sessions.update(SESSION, trimmed_through_seq=last + 5_000)
        )
        await listener.until(lambda: len(listener.of("resync")) == 2)
    async with Listener.on(pair.other, SESSION, after_seq=10**9) as ahead:
        await ahead.until_type("sync")
        assert ahead.frames[0]["type"] == "resync"
        assert ahead.frames[0]["payload"]["from_seq"] < 10**9


@pytest.mark.requirement("replicas.streams")
async def test_a_subscription_ends_with_its_session_its_daemon_or_when_the_project_changes_hands(
    pair: Pair,
) -> None:
    with pytest.raises(NotFound):
        await pair.other.subscribe("ses_00099", 0)
    for end, failure in (("taken", HubClosed), ("closed", HubClosed), ("deleted", SessionDeleted)):
        listener = Listener(await pair.other.subscribe(SESSION, 0))
        listening = asyncio.create_task(listener.listen())
        await listener.until_type("sync")
        assert pair.other.subscribers == 1
        if end == "taken":
            pair.taken.add(PROJECT)
            pair.other.take_over("prj_00002")
            pair.other.take_over(PROJECT)
        elif end == "closed":
            assert pair.other.followed is not None
            pair.other.followed.close()
        else:
            await pair.owner.store.write(lambda uow: uow.sessions.delete(SESSION))
        with pytest.raises(failure):
            async with asyncio.timeout(WAIT_SECONDS):
                await listening
        listener.close()
        assert pair.other.subscribers == 0
        pair.taken.clear()
    pair.taken.add(PROJECT)
    with pytest.raises(NotFound):
        await pair.other.subscribe(SESSION, 0)


async def test_a_heartbeat_bears_the_number_of_the_event_before_it(pair: Pair) -> None:
    stream = await pair.stream()
    await record(stream, 1)
    async with Listener.on(pair.other, SESSION) as listener:
        await listener.until(lambda: titles(listener) == ["title 1"])
        pair.other.heartbeat()
        await listener.until_type("heartbeat")
        assert listener.of("heartbeat")[0]["seq"] == listener.of("session.updated")[0]["seq"]
        await record(stream, 2)
        await listener.until(lambda: titles(listener) == ["title 1", "title 2"])


@pytest.mark.requirement("replicas.streams")
async def test_who_listens_to_all_sessions_hears_those_of_other_daemons(pair: Pair) -> None:
    stream = await pair.stream()
    await record(stream, 1)
    source = pair.other.subscribe_all()
    listener = Listener(source)
    listening = asyncio.create_task(listener.listen())
    try:
        number = 2
        async with asyncio.timeout(WAIT_SECONDS):  # from some moment on it hears all
            while len(titles(listener)) < 2:
                await record(stream, number)
                number += 1
                await asyncio.sleep(0.3)
        quiet: Sequence[EventPayload] = (
            MessageStart(run_id="run_1", message_id="msg_1", provider="p", model="m", attempt=1),
            MessageEnd(message_id="msg_1", stop_reason="stop"),
            SessionStateChanged(state="idle", previous="running"),
        )
        await stream.record(quiet)
        await listener.until_type("session.state")
        assert listener.of("message.start") == []
        heard = titles(listener)
        assert heard == [f"title {one}" for one in range(number - len(heard), number)]
        numbers = [frame["seq"] for frame in listener.frames]
        assert numbers == list(range(1, len(numbers) + 1))
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        listener.close()
