"""Whatever the order of publishing, failing, listening, leaving and restarting: every listener gets
every durable frame once and in order, and the whole text of each message that it saw end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import StorageError
from app.events.sessions import SessionUpdated
from app.events.union import EVENT_TYPES, MessageDelta, MessageEnd, MessageStart
from app.harness.stream.event_hub import EventHub
from app.harness.stream.session_stream import SessionStream
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.harness.listening import Listener

TRANSIENT = {payload.TYPE for payload in EVENT_TYPES if not payload.DURABLE}

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(1, 3)),
        st.tuples(st.just("delta"), st.integers(1, 4)),
        st.tuples(st.just("message"), st.just(0)),
        st.tuples(st.just("fail"), st.integers(1, 2)),
        st.tuples(st.just("hold"), st.integers(0, 3)),
        st.tuples(st.just("fail_held"), st.integers(0, 3)),
        st.tuples(st.just("join"), st.just(0)),
        st.tuples(st.just("leave"), st.integers(0, 3)),
        st.tuples(st.just("return"), st.integers(0, 3)),
        st.tuples(st.just("turns"), st.integers(1, 8)),
        st.tuples(st.just("settle"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=40,
)


class Client:
    """One client over all of its connections."""

    def __init__(self) -> None:
        self.after_seq = 0
        self.durable: dict[int, str] = {}
        self.listener: Listener | None = None
        self.task: asyncio.Task[None] | None = None
        self._texts: dict[str, str] = {}
        self.ended: dict[str, str] = {}

    async def connect(self, hub: EventHub, session_id: str) -> None:
        if self.task is None:
            self.listener = Listener(await hub.subscribe(session_id, self.after_seq))
            self.listener.texts.update(self._texts)
            self.task = asyncio.create_task(self.listener.listen())

    async def leave(self) -> None:
        """Go away at once; what has been received counts."""
        listener, task = self.listener, self.task
        if listener is None or task is None:
            return
        self.task = None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        listener.close()
        self._take(listener)

    def _take(self, listener: Listener) -> None:
        last = self.after_seq
        live_from = None
        for frame, text in zip(listener.frames, listener.encoded, strict=True):
            assert frame["type"] != "resync"
            if frame["type"] == "sync":
                assert live_from is None, "sync came twice"
                live_from = frame["payload"]["through_seq"]
                continue
            assert live_from is not None, "something came before sync"
            assert frame["seq"] > last, "out of order or twice"
            last = frame["seq"]
            if frame["type"] not in TRANSIENT:
                self.durable[frame["seq"]] = text
            if frame["type"] == "message.end" and frame["seq"] > live_from:
                message_id = frame["payload"]["messageId"]
                self.ended[message_id] = listener.texts[message_id]
        self.after_seq = last
        self._texts = dict(listener.texts)


class Scenario:
    """Interprets the operations over one session of a real database."""

    def __init__(self, storage: Storage, session_id: str) -> None:
        self.storage = storage
        self.session_id = session_id
        self.hub = EventHub(storage)
        self.clients: list[Client] = []
        self.said: dict[str, str] = {}
        self.cut_off: set[str] = set()
        self.open: str | None = None
        self.counter = 0
        self.failing: list[asyncio.Future[None]] = []

    async def stream(self) -> SessionStream:
        return await self.hub.stream(self.session_id)

    async def run(self, operations: list[tuple[str, int]]) -> None:
        for name, number in operations:
            await getattr(self, f"do_{name}")(number)
        await self.do_settle(0)
        for client in self.clients:
            await client.connect(self.hub, self.session_id)
        await self.do_settle(0)
        for client in self.clients:
            await client.leave()
        await self.verify()

    async def verify(self) -> None:
        stored = await self.storage.read(lambda uow: uow.events.after(self.session_id, 0, 2**60, 10_000))
        log = {row.seq: row.frame.decode() for row in stored}
        for client in self.clients:
            assert client.durable == log
            for message_id, text in client.ended.items():
                if message_id not in self.cut_off:
                    assert text == self.said[message_id]
        assert not any("never" in text for text in log.values())

    async def do_record(self, number: int) -> None:
        self.counter += 1
        title = SessionUpdated(title=f"title {self.counter}")
        (await self.stream()).record([title] * number)

    async def do_fail(self, number: int) -> None:
        def work(_: UnitOfWork) -> None:
            raise StorageError("broken on purpose")

        events = [SessionUpdated(title="never")] * number
        self.failing.append((await self.stream()).record(events, work))

    async def do_hold(self, number: int) -> None:
        """Keep three places for a unit that turns out to have so many events."""
        self.counter += 1
        await self._hold([SessionUpdated(title=f"held {self.counter}")] * number, None)

    async def do_fail_held(self, number: int) -> None:
        events = [SessionUpdated(title="never")] * number
        self.failing.append(await self._hold(events, StorageError("broken on purpose")))

    async def _hold(self, events: list[SessionUpdated], failure: StorageError | None) -> asyncio.Future[None]:
        stream = await self.stream()
        place = stream.hold(3)

        def work(uow: UnitOfWork) -> None:
            place.store(uow, events, 1)
            if failure is not None:
                raise failure

        stored = self.storage.submit(work)
        stored.add_done_callback(lambda done: stream.settle(place, stored=done.exception() is None))
        return stored

    async def do_message(self, _: int) -> None:
        """Open a message, or close the open one."""
        stream = await self.stream()
        if self.open is None:
            self.open = f"msg_{len(self.said)}"
            self.said[self.open] = ""
            stream.record([MessageStart(run_id="r", message_id=self.open, provider="p", model="m")])
        else:
            stream.record([MessageEnd(message_id=self.open, stop_reason="stop")])
            self.open = None

    async def do_delta(self, number: int) -> None:
        if self.open is not None:
            stream = await self.stream()
            for _ in range(number):
                self.counter += 1
                self.said[self.open] += f"{self.counter} "
                stream.emit(MessageDelta(message_id=self.open, delta=f"{self.counter} ", kind="text"))

    async def do_join(self, _: int) -> None:
        if len(self.clients) < 4:
            self.clients.append(Client())
            await self.clients[-1].connect(self.hub, self.session_id)

    async def do_leave(self, number: int) -> None:
        if number < len(self.clients):
            await self.clients[number].leave()

    async def do_return(self, number: int) -> None:
        if number < len(self.clients):
            await self.clients[number].connect(self.hub, self.session_id)

    async def do_turns(self, number: int) -> None:
        for _ in range(number):
            await asyncio.sleep(0)

    async def do_settle(self, _: int) -> None:
        """Wait until everything recorded is published and every client has it."""
        stream = await self.stream()
        await stream.record([])
        failing, self.failing = self.failing, []
        for error in await asyncio.gather(*failing, return_exceptions=True):
            assert isinstance(error, StorageError)
        for client in self.clients:
            if client.task is not None and client.listener is not None:
                listener = client.listener
                goal = await self._last_due(stream, client.after_seq)
                await listener.until(lambda listener=listener, goal=goal: listener.highest_seq >= goal)  # type: ignore[misc]

    async def _last_due(self, stream: SessionStream, after_seq: int) -> int:
        """Return the highest number that a connected client is going to see."""
        last = await self.storage.read(lambda uow: uow.events.last_seq(self.session_id))
        return max(after_seq, last)

    async def do_restart(self, _: int) -> None:
        """The daemon stops and starts: clients are sent away, the message in flight is closed."""
        await self.do_settle(0)
        for client in self.clients:
            await client.leave()
        self.hub = EventHub(self.storage)
        if self.open is not None:
            self.cut_off.add(self.open)
            await self.do_message(0)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.timeout(300)
@pytest.mark.requirement("websocket.order", "websocket.resume")
def test_every_listener_gets_every_durable_frame_once_and_in_order(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    storage = runner.run(Storage.open(None, tmp_path))
    runner.run(storage.write(rows.family))
    sessions = 1

    @given(OPERATIONS)
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def holds(operations: list[tuple[str, int]]) -> None:
        nonlocal sessions
        sessions += 1
        row = rows.session(sessions)
        runner.run(storage.write(lambda uow: uow.sessions.add(row)))
        runner.run(Scenario(storage, row.id).run(operations))

    try:
        holds()
    finally:
        runner.run(storage.close())
