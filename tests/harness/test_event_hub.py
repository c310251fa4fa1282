"""The event hub over a real storage: one order for everybody, nothing twice, nothing missing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageError, StorageOutage
from app.events.payload import EventPayload
from app.events.sessions import SessionStateChanged, SessionUpdated
from app.events.union import MessageDelta, MessageEnd, MessageStart, MessageToolCall, encode_frame
from app.harness.stream import event_hub, frames
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import HubClosed, SessionDeleted
from app.harness.stream.session_stream import SessionStream
from app.harness.stream.stream_records import RESERVATION
from app.harness.stream.subscription import PAGE
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.daemon_process import WAIT_SECONDS
from tests.harness.listening import Listener

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


@pytest.fixture
async def stream(hub: EventHub) -> SessionStream:
    return await hub.stream(SESSION)


def title(number: int) -> SessionUpdated:
    return SessionUpdated(title=f"title {number}")


def start(message_id: str, attempt: int = 1) -> MessageStart:
    return MessageStart(run_id="run_1", message_id=message_id, provider="p", model="m", attempt=attempt)


def delta(message_id: str, text: str, *, attempt: int = 1, thinking: bool = False) -> MessageDelta:
    kind = "thinking" if thinking else "text"
    return MessageDelta(message_id=message_id, delta=text, kind=kind, attempt=attempt)  # type: ignore[arg-type]


def end(message_id: str) -> MessageEnd:
    return MessageEnd(message_id=message_id, stop_reason="stop")


def fail(_: UnitOfWork) -> None:
    raise StorageError("broken on purpose")


@pytest.mark.requirement("websocket.order")
async def test_sync_is_first_and_says_the_range_that_follows(hub: EventHub, stream: SessionStream) -> None:
    for number in range(3):
        await stream.record([title(number)])
    async with Listener.on(hub, SESSION, after_seq=1) as listener:
        await listener.until(lambda: len(listener.frames) == 3)
        stream.record([title(3)])
        await listener.until(lambda: len(listener.frames) == 4)
    sync, *others = listener.frames
    assert (sync["type"], sync["seq"]) == ("sync", 1)
    assert sync["payload"] == {"from_seq": 2, "through_seq": 3}
    assert [frame["seq"] for frame in others] == [2, 3, 4]


async def test_a_replay_of_many_pages_has_every_frame_once(hub: EventHub, stream: SessionStream) -> None:
    count = 2 * PAGE + 3
    await stream.record([title(number) for number in range(count)])
    async with Listener.on(hub, SESSION) as listener:
        await listener.until(lambda: len(listener.frames) > count)
    assert listener.numbers() == list(range(1, count + 1))


@pytest.mark.requirement("websocket.snapshot")
async def test_who_joins_in_the_middle_of_a_message_gets_a_snapshot_and_then_the_rest(
    hub: EventHub, stream: SessionStream
) -> None:
    await stream.record([start("m")])
    stream.emit(delta("m", "I think. ", thinking=True))
    stream.emit(delta("m", "One, "))
    await stream.record([MessageToolCall(message_id="m", id="c1", name="file.read", arguments={})])
    stream.emit(delta("m", "two, "))
    await stream.record([MessageToolCall(message_id="m", id="c2", name="file.read", arguments={})])
    async with Listener.on(hub, SESSION) as listener:
        stream.emit(delta("m", "three."))
        await stream.record([end("m")])
        await listener.until_type("message.end")
    kinds = [frame["type"] for frame in listener.frames]
    assert kinds == [
        "sync",
        "message.start",
        "message.tool_call",
        "message.snapshot",
        "message.tool_call",
        "message.delta",
        "message.end",
    ]
    snapshot = listener.of("message.snapshot")[0]["payload"]
    assert (snapshot["text"], snapshot["thinking"], snapshot["attempt"]) == ("One, two, ", "I think. ", 1)
    assert [call["id"] for call in snapshot["tool_calls"]] == ["c1"]
    assert listener.texts["m"] == "One, two, three."
    assert listener.numbers() == sorted(set(listener.numbers()))


async def test_who_has_seen_all_deltas_so_far_gets_no_snapshot(hub: EventHub, stream: SessionStream) -> None:
    await stream.record([start("m")])
    stream.emit(delta("m", "One, "))
    async with Listener.on(hub, SESSION, after_seq=2) as listener:
        stream.emit(delta("m", "two."))
        await listener.until_type("message.delta")
    assert [frame["type"] for frame in listener.frames] == ["sync", "message.delta"]


@pytest.mark.requirement("websocket.snapshot")
async def test_who_has_read_what_is_stored_gets_all_of_every_message_in_flight(
    hub: EventHub, stream: SessionStream
) -> None:
    await stream.record([start("m"), start("silent")])
    stream.emit(delta("m", "One, "))
    await stream.record([MessageToolCall(message_id="m", id="c1", name="file.read", arguments={})])
    await stream.record([title(1)])  # a later event of something else
    seen = stream.published_seq
    second = MessageToolCall(message_id="m", id="c2", name="file.read", arguments={})
    await stream.record([start("later"), second])
    async with Listener.on(hub, SESSION, after_seq=seen, all_snapshots=True) as listener:
        stream.emit(delta("m", "two."))
        stream.emit(delta("later", "Yes."))
        await listener.until(lambda: len(listener.of("message.delta")) == 2)
    assert [(frame["type"], frame["seq"]) for frame in listener.frames[:5]] == [
        ("sync", seen),
        ("message.snapshot", seen),
        ("message.snapshot", seen),
        ("message.start", seen + 1),
        ("message.tool_call", seen + 2),
    ]
    said = {frame["payload"]["messageId"]: frame["payload"] for frame in listener.of("message.snapshot")}
    assert set(said) == {"m", "silent"}
    assert [call["id"] for call in said["m"]["tool_calls"]] == ["c1"]
    assert (said["silent"]["text"], said["silent"]["tool_calls"]) == ("", [])
    assert (listener.texts["m"], listener.texts["later"]) == ("One, two.", "Yes.")


async def test_a_retried_stream_is_a_higher_attempt_and_its_snapshot_has_no_older_text(
    hub: EventHub, stream: SessionStream
) -> None:
    await stream.record([start("m")])
    stream.emit(delta("m", "Wrong "))
    stream.emit(delta("m", "Right ", attempt=2))
    async with Listener.on(hub, SESSION) as listener:
        stream.emit(delta("m", "answer", attempt=2))
        await listener.until_type("message.delta")
    assert listener.of("message.snapshot")[0]["payload"]["attempt"] == 2
    assert listener.texts["m"] == "Right answer"


async def test_of_a_commit_that_fails_nothing_is_published_and_later_frames_go_on(
    hub: EventHub, stream: SessionStream
) -> None:
    async with Listener.on(hub, SESSION) as listener:
        before = stream.record([title(1)])
        broken = stream.record([title(2)], fail)
        stream.emit(delta("m", "after"))
        after = stream.record([title(3)])
        await asyncio.gather(before, after)
        with pytest.raises(StorageError, match="on purpose"):
            await broken
        await listener.until(lambda: len(listener.frames) == 4)
    assert [frame["type"] for frame in listener.frames[1:]] == [
        "session.updated",
        "message.delta",
        "session.updated",
    ]
    async with Listener.on(hub, SESSION) as later:
        await later.until(lambda: len(later.frames) == 3)
    titles = [frame["payload"]["title"] for frame in later.of("session.updated")]
    assert titles == ["title 1", "title 3"]


async def test_what_was_recorded_before_a_place_is_kept_is_stored_before_it(
    storage: Storage, stream: SessionStream
) -> None:
    order: list[str] = []
    recorded = stream.record([title(1)], lambda _: order.append("recorded"))
    place = stream.hold(1)
    held = storage.submit(lambda _: order.append("held"))
    await asyncio.gather(recorded, held)
    stream.settle(place, stored=False)
    assert order == ["recorded", "held"]


async def test_a_batch_of_which_a_part_fails_is_committed_before_what_came_later(
    storage: Storage, stream: SessionStream
) -> None:
    """Who reads the rows after the last one that it knows would miss what is committed late."""
    recorded = [stream.record([title(1)]), stream.record([title(2)], fail), stream.record([title(3)])]
    place = stream.hold(1)

    def later(unit: UnitOfWork) -> list[int]:
        return [row.seq for row in unit.events.after(SESSION, 0, 2**62, 100)]

    assert await storage.submit(later) == [1, 3]
    told = await asyncio.gather(*recorded, return_exceptions=True)
    assert [type(answer) for answer in told] == [type(None), StorageError, type(None)]
    stream.settle(place, stored=False)


async def test_a_place_whose_unit_fails_is_left_empty_and_what_came_after_it_goes_on(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    async with Listener.on(hub, SESSION) as listener:
        place = stream.hold(2)
        later = stream.record([title(2)])

        def failing(unit: UnitOfWork) -> None:
            place.store(unit, [title(1)], 1)
            fail(unit)

        with pytest.raises(StorageError):
            await storage.write(failing)
        await later
        assert not listener.of("session.updated")
        stream.settle(place, stored=False)
        await listener.until(lambda: bool(listener.of("session.updated")))
    assert [frame["payload"]["title"] for frame in listener.of("session.updated")] == ["title 2"]


async def test_a_frame_is_not_published_before_its_commit_and_none_overtakes_it(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    gate = threading.Event()
    async with Listener.on(hub, SESSION) as listener:
        await listener.until_type("sync")
        blocking = storage.submit(lambda _: gate.wait(WAIT_SECONDS))
        recorded = stream.record([title(1)])
        stream.emit(delta("m", "later"))
        await asyncio.wait({blocking, recorded}, timeout=0.2)
        assert not recorded.done()
        assert [frame["type"] for frame in listener.frames] == ["sync"]
        gate.set()
        await listener.until(lambda: len(listener.frames) == 3)
    assert [frame["type"] for frame in listener.frames[1:]] == ["session.updated", "message.delta"]
    await blocking


async def test_a_caller_that_gives_up_waiting_hides_nothing_from_the_others(
    hub: EventHub, stream: SessionStream
) -> None:
    async with Listener.on(hub, SESSION) as listener:
        stream.record([title(1)]).cancel()
        await listener.until_type("session.updated")


@pytest.mark.requirement("websocket.resume")
async def test_numbers_go_on_rising_after_a_restart_also_over_transient_frames(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    async with Listener.on(hub, SESSION) as listener:
        await stream.record([start("m")])
        for number in range(RESERVATION + 50):
            stream.emit(delta("m", "x"))
            if number % 500 == 0:
                await listener.until(lambda: listener.highest_seq >= stream.published_seq)
        await listener.until(lambda: listener.highest_seq == RESERVATION + 51)
    again = EventHub(storage)
    async with Listener.on(again, SESSION, after_seq=listener.highest_seq) as later:
        await (await again.stream(SESSION)).record([end("m")])
        await later.until_type("message.end")
    assert later.of("message.end")[0]["seq"] > listener.highest_seq
    assert "resync" not in [frame["type"] for frame in later.frames]


async def test_numbers_that_a_failed_reservation_did_not_cover_are_not_given_out(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    async with Listener.on(hub, SESSION) as listener:
        with pytest.raises(StorageError):
            await stream.record([title(1)], fail)
        stream.emit(delta("m", "x"))
        await listener.until_type("message.delta")
    again = await EventHub(storage).stream(SESSION)
    assert again.published_seq >= listener.highest_seq


async def test_a_session_has_one_stream_as_long_as_anybody_holds_it(
    hub: EventHub, stream: SessionStream, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_hub, "MAX_CACHED_STREAMS", 2)
    for number in range(2, 8):
        await storage.write(lambda uow, number=number: uow.sessions.add(rows.session(number)))  # type: ignore[misc]
        await hub.stream(f"ses_{number:05}")
    async with Listener.on(hub, SESSION) as listener:
        await stream.record([title(1)])
        await listener.until_type("session.updated")
    assert await hub.stream(SESSION) is stream


@pytest.mark.requirement("websocket.resume")
async def test_a_client_behind_the_trim_point_has_to_reload(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    await stream.record([title(number) for number in range(5)])
    await asyncio.sleep(0.002)  # trimming is by milliseconds: the later frames must be later
    await stream.record([title(number) for number in range(5, 8)])
    newest = (await storage.read(lambda uow: uow.events.after(SESSION, 5, 8, 9)))[0].created_at
    await storage.write(lambda uow: uow.events.trim_older_than(newest))
    await hub.refresh_trim_points()
    async with Listener.on(hub, SESSION, after_seq=2) as listener:
        await listener.until(lambda: len(listener.frames) == 5)
    resync, sync, *others = listener.frames
    assert resync["payload"] == {"from_seq": 6, "snapshot": f"/api/v1/sessions/{SESSION}"}
    assert (resync["type"], sync["type"], sync["payload"]["from_seq"]) == ("resync", "sync", 6)
    assert [frame["seq"] for frame in others] == [6, 7, 8]
    async with Listener.on(hub, SESSION, after_seq=5) as listener:
        await listener.until(lambda: len(listener.frames) == 4)
    assert listener.frames[0]["type"] == "sync"


async def test_a_client_from_before_the_trimmed_log_sees_all_of_the_message_in_flight(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    await stream.record([start("m")])
    stream.emit(delta("m", "One, "))
    await stream.record([title(1)])
    await storage.write(lambda uow: uow.events.trim_older_than(2**62))
    await hub.refresh_trim_points()
    async with Listener.on(hub, SESSION, after_seq=0) as listener:
        stream.emit(delta("m", "two."))
        await listener.until_type("message.delta")
    assert listener.frames[0]["type"] == "resync"
    assert listener.texts["m"] == "One, two."


async def test_a_client_from_the_future_has_to_reload_and_sees_the_message_in_flight(
    hub: EventHub, stream: SessionStream
) -> None:
    await stream.record([start("m")])
    stream.emit(delta("m", "One, "))
    async with Listener.on(hub, SESSION, after_seq=1_000_000) as listener:
        stream.emit(delta("m", "two."))
        await listener.until_type("message.delta")
    assert [frame["type"] for frame in listener.frames] == [
        "resync",
        "sync",
        "message.snapshot",
        "message.delta",
    ]
    assert listener.texts["m"] == "One, two."


@pytest.mark.requirement("websocket.frames")
async def test_a_heartbeat_goes_to_sessions_with_listeners_and_is_not_replayed(
    hub: EventHub, stream: SessionStream
) -> None:
    hub.heartbeat()
    await stream.record([title(1)])
    async with Listener.on(hub, SESSION) as listener:
        hub.heartbeat()
        await listener.until_type("heartbeat")
    assert listener.numbers() == [1, 2]
    async with Listener.on(hub, SESSION) as later:
        await stream.record([title(2)])
        await later.until(lambda: len(later.frames) == 3)
    assert [frame["type"] for frame in later.frames[1:]] == ["session.updated"] * 2


@pytest.mark.requirement("websocket.fanout")
async def test_a_frame_is_encoded_once_for_a_hundred_listeners(
    hub: EventHub, stream: SessionStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []

    def counting(seq: int, payload: EventPayload, **options: Any) -> bytes:
        encoded.append(payload.TYPE)
        return encode_frame(seq, payload, **options)

    listeners = [Listener(await hub.subscribe(SESSION, 0)) for _ in range(100)]
    monkeypatch.setattr(frames, "encode_frame", counting)
    async with asyncio.TaskGroup() as tasks:
        for listener in listeners:
            tasks.create_task(listener.listen(until="message.end"))
        await stream.record([start("m")])
        for number in range(50):
            stream.emit(delta("m", f"{number} "))
        await stream.record([end("m")])
    assert {len(listener.frames) for listener in listeners} == {53}
    assert len([name for name in encoded if name != "sync"]) == 52


@pytest.mark.requirement("websocket.closes")
async def test_when_the_hub_closes_what_was_published_is_delivered_first(
    hub: EventHub, stream: SessionStream
) -> None:
    listener = Listener(await hub.subscribe(SESSION, 0))
    everywhere = Listener(hub.subscribe_all())
    await stream.record([title(1)])
    hub.close()
    with pytest.raises(HubClosed):
        await listener.listen()
    with pytest.raises(HubClosed):
        await everywhere.listen()
    assert [frame["type"] for frame in listener.frames] == ["sync", "session.updated"]
    with pytest.raises(HubClosed):
        await hub.subscribe(SESSION, 0)
    with pytest.raises(HubClosed):
        hub.subscribe_all()


async def test_a_deleted_session_sends_its_listeners_away(hub: EventHub, stream: SessionStream) -> None:
    listener = Listener(await hub.subscribe(SESSION, 0))
    hub.forget(SESSION)
    with pytest.raises(SessionDeleted):
        await listener.listen()


async def test_who_listens_to_all_sessions_hears_states_and_no_texts(
    hub: EventHub, stream: SessionStream, storage: Storage
) -> None:
    await storage.write(lambda uow: uow.sessions.add(rows.session(2)))
    other = await hub.stream("ses_00002")
    everywhere = Listener(hub.subscribe_all())
    task = asyncio.create_task(everywhere.listen())
    await stream.record([SessionStateChanged(state="running", previous="idle"), start("m")])
    stream.emit(delta("m", "text"))
    await stream.record([end("m")])
    await other.record([SessionStateChanged(state="running", previous="idle")])
    hub.heartbeat()
    await everywhere.until(lambda: len(everywhere.frames) == 3)
    task.cancel()
    assert [(f["seq"], f["type"], f["session_id"]) for f in everywhere.frames] == [
        (1, "session.state", SESSION),
        (2, "session.state", "ses_00002"),
        (3, "heartbeat", ""),
    ]


class AnswerLost:
    """The storage, which commits a unit and then loses the connection on which it would say so."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.losing = False

    def submit(self, work: Any, **options: Any) -> asyncio.Future[Any]:
        stored = self._storage.submit(work, **options)
        if not self.losing:
            return stored

        async def lost() -> None:
            await stored
            self.losing = False
            raise StorageOutage("PostgreSQL closed the connection")

        return asyncio.ensure_future(lost())

    async def read(self, work: Any) -> Any:
        return await self._storage.read(work)


@pytest.mark.requirement("durability.outage_at_end")
async def test_a_kept_record_whose_commit_worked_and_was_not_reported_is_stored_and_published_once(
    storage: Storage,
) -> None:
    store = AnswerLost(storage)
    hub = EventHub(store)
    stream = await hub.stream(SESSION)
    async with Listener.on(hub, SESSION) as listener:
        store.losing = True
        with pytest.raises(StorageOutage):
            await stream.record([title(1)], lambda uow: uow.messages.add(rows.message(7)), kept=True)
        assert stream.owes
        await stream.record([title(2)])
        await listener.until(lambda: len(listener.of("session.updated")) == 2)
    assert not stream.owes
    told = [frame["payload"]["title"] for frame in listener.frames if frame["type"] == "session.updated"]
    assert told == ["title 1", "title 2"]
    assert await storage.read(lambda uow: uow.messages.get("msg_00007")) is not None
    hub.close()


async def test_what_is_said_between_a_refused_record_and_a_stored_one_is_published(
    hub: EventHub, stream: SessionStream
) -> None:
    def refuse(uow: UnitOfWork) -> None:
        raise ValueError

    async with Listener.on(hub, SESSION) as listener:
        await listener.until_type("sync")
        refused = stream.record([title(1)], refuse)
        stream.emit(delta("msg_1", "word"))
        await stream.record([title(2)])
        await listener.until_type("session.updated")
        assert isinstance(refused.exception(), ValueError)
        assert [frame["type"] for frame in listener.frames[1:]] == ["message.delta", "session.updated"]
