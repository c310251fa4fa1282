"""kill -9 at any moment: what was acknowledged, told or written is there afterwards, once.

A real daemon process works on real files and is killed at random moments, aimed at every phase of
a run; after each restart everything that any client was told is held against what the daemon says.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import Frame, Ledger, get
from tests.driver.rounds import SEED, rounds
from tests.driver.sessions import write_project
from tests.e2e.work_script import SHARED, Worker, broken_files, whole
from tests.fakes.provider_server import FakeProvider

KILLS = rounds(16, 200)
LANES = 2
KILLS_PER_SESSION = 6
AT_REST = ("idle", "paused")

Reached = Callable[[Frame], bool]
Spawn = Callable[[Path], Awaitable[DaemonProcess]]
"""Starts the process of a daemon over a lane's folder: `data`, `shop` and `config.toml` in it."""


def on_this_host(folder: Path) -> Awaitable[DaemonProcess]:
    return DaemonProcess.spawn(folder / "data", folder / "config.toml", folder / "shop")


class Follower:
    """A client on the session's socket: everything that it gets goes into the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.closed = False
        self.seen: list[Frame] = []
        self._ledger = ledger
        self._changed = asyncio.Event()

    async def follow(self, socket: ClientConnection) -> None:
        try:
            async for text in socket:
                assert isinstance(text, str)
                frame = orjson.loads(text)
                self._ledger.received(frame, text)
                self.seen.append(frame)
                self._changed.set()
        except ConnectionClosed:
            pass
        finally:
            self.closed = True
            self._changed.set()

    async def until(self, reached: Reached, *, start: int = 0, seconds: float = 60) -> bool:
        """Wait for a frame from `start` on that fulfils the condition; False when the socket closed."""
        at = start
        async with asyncio.timeout(seconds):
            while True:
                while at < len(self.seen):
                    at += 1
                    if reached(self.seen[at - 1]):
                        return True
                if self.closed:
                    return False
                self._changed.clear()
                await self._changed.wait()

    async def until_idle(self, *, start: int = 0) -> None:
        assert await self.until(is_state("idle"), start=start, seconds=60)


def is_type(*types: str) -> Reached:
    return lambda frame: frame["type"] in types


def is_state(state: str) -> Reached:
    return lambda frame: frame["type"] == "session.state" and frame["payload"]["state"] == state


def nth(number: int, event: str) -> Reached:
    """Return a condition that holds at the `number`th frame of a type."""
    left = number

    def reached(frame: Frame) -> bool:
        nonlocal left
        left -= frame["type"] == event
        return left <= 0

    return reached


class Lane:
    """One data folder whose daemon is killed again and again."""

    def __init__(
        self,
        folder: Path,
        model: FakeProvider,
        worker: Worker,
        chance: random.Random,
        *,
        spawn: Spawn = on_this_host,
    ) -> None:
        self.kills = 0
        self.interrupted = 0
        self.during_start = 0
        self._folder = folder
        self._spawn = spawn
        self._root = write_project(folder / "shop")
        (self._root / SHARED).write_text(whole(0))
        (self._root / "new").mkdir()
        write_config(folder / "config.toml", model.port)
        self._worker = worker
        self._chance = chance
        self._ledger: Ledger | None = None
        self._unanswered: dict[str, dict[str, str]] = {}
        self._start_seconds = 1.0
        self._jobs = 0
        self._lives = 0

    async def run(self, kills: int) -> None:
        while self.kills < kills:
            await self._live()
        daemon = await self._start()
        try:
            async with self._working(daemon) as (client, follower):
                await self._finish(client, follower)
        finally:
            await daemon.kill()

    async def _start(self) -> DaemonProcess:
        began = time.monotonic()
        daemon = await self._spawn(self._folder)
        try:
            await daemon.ready()
        except BaseException:
            await daemon.kill()
            raise
        self._start_seconds = time.monotonic() - began
        return daemon

    async def _live(self) -> None:
        """One life: start, hold the daemon to what was told, work, and be killed."""
        if self._lives % 4 == 3:
            await self._die_while_starting()
        daemon = await self._start()
        try:
            async with self._working(daemon) as (client, follower):
                if self._lives % KILLS_PER_SESSION == KILLS_PER_SESSION - 1:
                    await self._finish(client, follower)
                    self._ledger = await self._new_session(client, daemon.project_id)
                    await self._post(client, self._ledger)
                    await asyncio.sleep(self._chance.uniform(0, 0.2))
                else:
                    await self._work_until_the_moment(client, follower)
                await daemon.kill()
                self.kills += 1
        finally:
            await daemon.kill()
        self._lives += 1

    async def _die_while_starting(self) -> None:
        """Be killed before it is ready: mostly while it recovers what the last life left."""
        daemon = await self._spawn(self._folder)
        await asyncio.sleep(self._start_seconds * self._chance.uniform(0.4, 1.05))
        await daemon.kill()
        self.kills += 1
        self.during_start += 1

    @asynccontextmanager
    async def _working(self, daemon: DaemonProcess) -> AsyncIterator[tuple[httpx2.AsyncClient, Follower]]:
        """Check the last life, then follow the session while the block runs."""
        async with daemon.client() as client:
            if self._ledger is None:
                self._ledger = await self._new_session(client, daemon.project_id)
            ledger = self._ledger
            await self._check(daemon, client, ledger)
            follower = Follower(ledger)
            path = f"/sessions/{ledger.session_id}/ws?after_seq={ledger.highest_seq}"
            async with daemon.websocket(path) as socket:
                following = asyncio.create_task(follower.follow(socket))
                try:
                    yield client, follower
                    # What has arrived before the kill has been received by a client, too.
                    async with asyncio.timeout(30):
                        while daemon.process.returncode is not None and not following.done():
                            await asyncio.wait({following}, timeout=5)
                finally:
                    following.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await following

    async def _check(self, daemon: DaemonProcess, client: httpx2.AsyncClient, ledger: Ledger) -> None:
        session = await ledger.check(daemon, client)
        self.interrupted += session["state"] == "paused"
        assert not broken_files(self._root)
        assert not self._worker.complaints
        assert "Traceback" not in daemon.errors.read_text()

    async def _new_session(self, client: httpx2.AsyncClient, project_id: str) -> Ledger:
        answer = await client.post("/sessions", json={"project_id": project_id})
        assert answer.status_code == 201, answer.text
        self._unanswered.clear()
        return Ledger(answer.json()["id"])

    async def _post(self, client: httpx2.AsyncClient, ledger: Ledger, mode: str = "queue") -> None:
        """Post the next job."""
        self._jobs += 1
        self._unanswered[f"key-{self._jobs}"] = {"content": f"Job {self._jobs}", "mode": mode}
        await self._send(client, ledger, f"key-{self._jobs}")

    async def _send(self, client: httpx2.AsyncClient, ledger: Ledger, key: str) -> None:
        """Send a job; nothing is known of it when the daemon is killed before it answers."""
        path, headers = f"/sessions/{ledger.session_id}/messages", {"Idempotency-Key": key}
        try:
            answer = await client.post(path, json=self._unanswered[key], headers=headers)
        except httpx2.TransportError:
            return
        del self._unanswered[key]
        assert answer.status_code in (201, 202), answer.text
        ledger.acknowledged(answer.json())

    async def _send_again(self, client: httpx2.AsyncClient, ledger: Ledger) -> None:
        """Repeat what was never answered, as a client does; it must not happen twice."""
        for key in list(self._unanswered):
            await self._send(client, ledger, key)

    async def _set_going(self, client: httpx2.AsyncClient) -> bool:
        """Resume what was interrupted, or post a job; False when there was nothing to resume."""
        assert self._ledger is not None
        session = await get(client, f"/sessions/{self._ledger.session_id}")
        if session["state"] != "paused":
            await self._post(client, self._ledger)
            await self._send_again(client, self._ledger)
            return True
        answer = await client.post(f"/sessions/{self._ledger.session_id}/resume")
        assert answer.status_code in (200, 201), answer.text
        if answer.status_code == 201:
            self._ledger.runs.add(answer.json()["run"]["id"])
            await self._send_again(client, self._ledger)
        return answer.status_code == 201

    async def _finish(self, client: httpx2.AsyncClient, follower: Follower) -> None:
        """One resume, and all that was ever asked is done."""
        assert self._ledger is not None
        going = await self._set_going(client)
        state, start = "", 0
        while state != "idle":
            if state:
                await follower.until_idle(start=start)
            start = len(follower.seen)
            session = await get(client, f"/sessions/{self._ledger.session_id}")
            state = session["state"]
        assert session["queued_messages"] == 0
        # A run that was killed behind its last answer has nothing left to do: it is not run again.
        newest = (await get(client, f"/sessions/{self._ledger.session_id}/runs"))["items"][0]
        assert newest["state"] == ("succeeded" if going else "interrupted")

    async def _work_until_the_moment(self, client: httpx2.AsyncClient, follower: Follower) -> None:
        """Work, and return when the daemon is to be killed."""
        assert self._ledger is not None
        chance, start = self._chance, len(follower.seen)
        moment = self._lives % 8
        if moment == 0:  # right after the answer to the post, or before it
            going = asyncio.create_task(self._set_going(client))
            await asyncio.wait({going}, timeout=chance.choice([0.005, 0.02, 1]))
            await asyncio.sleep(chance.uniform(0, 0.005))
            await self._let_go(going)
            return
        await self._set_going(client)
        if chance.random() < 0.5:
            await self._post(client, self._ledger, chance.choice(["queue", "steer"]))
        events = {
            1: ("message.delta", chance.randint(1, 25), 0.002),
            2: ("message.tool_call", chance.randint(1, 4), 0.03),
            3: ("message.tool_result", chance.randint(1, 4), 0.005),
            4: ("message.end", chance.randint(1, 3), 0.02),
            5: ("run.ended", 1, 0.01),
            6: ("message.start", chance.randint(1, 3), 0.01),
        }
        if moment in events:
            event, number, delay = events[moment]
            reached = nth(number, event)
            await follower.until(lambda frame: reached(frame) or is_state("idle")(frame), start=start)
            await asyncio.sleep(chance.uniform(0, delay))
            return
        # Any time at all, with a message on its way into the queue.
        await asyncio.sleep(chance.uniform(0, 0.3))
        posting = asyncio.create_task(self._post(client, self._ledger))
        await asyncio.sleep(chance.uniform(0, 0.02))
        await self._let_go(posting)

    async def _let_go(self, request: asyncio.Task[object]) -> None:
        """Give up on a request as a client does that goes away; its answer counts if it is there."""
        request.cancel()
        with contextlib.suppress(asyncio.CancelledError, httpx2.TransportError):
            await request


@pytest.mark.requirement("recovery.kills", "recovery.restart", "websocket.resume")
@pytest.mark.timeout(120 + KILLS * 6)
async def test_nothing_acknowledged_is_lost_or_doubled_when_the_daemon_is_killed(tmp_path: Path) -> None:
    worker = Worker()
    async with FakeProvider(worker, keep_requests=0) as model:
        lanes = []
        async with asyncio.TaskGroup() as tasks:
            for number in range(LANES):
                folder = tmp_path / f"lane{number}"
                folder.mkdir()
                lanes.append(Lane(folder, model, worker, random.Random(SEED * LANES + number)))
                tasks.create_task(lanes[-1].run(KILLS // LANES))
    # The test must have met what it is about: many kills in the middle of a run, some while starting.
    assert sum(lane.interrupted for lane in lanes) > KILLS // 4
    assert sum(lane.during_start for lane in lanes) > KILLS // 10
