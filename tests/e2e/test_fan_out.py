"""One session, a hundred sockets: stalled and restless clients cost the others nothing."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import socket as sockets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

import httpx2
import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import TRANSIENT, Frame, check_closed
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Answer, Part, RecordedRequest, Reply, Text, Thinking, ToolCall
from tests.fakes.provider_server import FakeProvider

CLIENTS, STALLED, RESTLESS = 100, 10, 3
WARM_UP_TURNS, TURNS, TEXTS, THOUGHTS = 40, 500, 6, 6
THOUGHT = "Hm. " * 1000
MEMORY_MIB = 160
_SEQ = re.compile(r'"seq":(\d+)')


class Talker:
    """The model: each turn some thinking, some text, and one call; after `turns` turns only text."""

    def __init__(self) -> None:
        self.turns = 0
        self.said = 0

    def __call__(self, _: RecordedRequest) -> Answer:
        self.said += 1
        parts: list[Part] = [Thinking(THOUGHT) for _ in range(THOUGHTS)]
        parts += [Text(f"{self.said}.{number} ") for number in range(TEXTS)]
        self.turns -= 1
        if self.turns > 0:
            # Alike calls in a row would look like a loop.
            path, limit = "README.md", 1000 + self.said
            parts.append(ToolCall("file_read", {"path": path, "limit": limit}, id=f"call_{self.said}"))
        return Reply(tuple(parts))


class Client:
    """A client over all of its connections."""

    def __init__(self, daemon: DaemonProcess, session_id: str) -> None:
        self.durable: dict[int, str] = {}
        self.texts: dict[str, str] = defaultdict(str)
        self.after_seq = 0
        self.transient = 0
        self.close_codes: list[int | None] = []
        self.connections = 0
        self.runs = 0
        self.runs_to_see = 1
        self.synced = asyncio.Event()
        self.ended = asyncio.Event()
        self.reading = asyncio.Event()
        self.reading.set()
        self._progress = asyncio.Event()
        self._daemon = daemon
        self._path = f"/sessions/{session_id}/ws"
        self._connection: ClientConnection | None = None

    async def follow(self) -> None:
        """Read through the end of the run, coming back with `after_seq` whenever the socket closes."""
        while not self.ended.is_set():
            async with self._connect() as connection:
                self._connection = connection
                self.connections += 1
                try:
                    while not self.ended.is_set():
                        await self.reading.wait()
                        self._take(await connection.recv())
                except ConnectionClosed:
                    self.close_codes.append(connection.close_code)

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[ClientConnection]:
        # A small window, so that a client which does not read is noticed by the daemon soon.
        host, port = self._daemon.url.removeprefix("http://").split(":")
        raw = sockets.socket()
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 16 * 1024)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, (host, int(port)))
        path = f"{self._path}?after_seq={self.after_seq}"
        async with self._daemon.websocket(
            path, sock=raw, max_queue=1, ping_interval=None, close_timeout=1
        ) as connection:
            yield connection

    async def has_seen(self, messages: int) -> None:
        """Wait until this many messages have begun."""
        while len(self.texts) < messages:
            self._progress.clear()
            await self._progress.wait()

    def drop(self) -> None:
        """Lose the connection without a word."""
        if self._connection is not None:
            self._connection.transport.abort()

    def _take(self, text: str | bytes) -> None:
        assert isinstance(text, str)
        found = _SEQ.match(text, 1)
        assert found is not None, text[:80]
        kind = text[text.index('"type":"') + 8 : text.index('"', text.index('"type":"') + 8)]
        if kind == "sync":
            self.synced.set()
            return
        assert kind != "resync"
        seq = int(found[1])
        assert seq > self.after_seq, f"{seq} after {self.after_seq}"
        self.after_seq = seq
        if kind not in TRANSIENT:
            self.durable[seq] = text
            if kind == "session.state" and '"state":"idle"' in text:
                self.runs += 1
                if self.runs == self.runs_to_see:
                    self.ended.set()
            return
        self.transient += 1
        if kind == "heartbeat":
            return
        self._progress.set()
        payload = orjson.loads(text)["payload"]
        if kind == "message.snapshot":
            self.texts[payload["messageId"]] = payload["text"]
        elif payload["kind"] == "text":
            self.texts[payload["messageId"]] += payload["delta"]


@pytest.fixture
async def talker() -> Talker:
    return Talker()


@pytest.fixture
async def daemon(tmp_path: Path, talker: Talker) -> AsyncIterator[DaemonProcess]:
    async with FakeProvider(talker, keep_requests=0) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, write_project(tmp_path / "shop"))
        try:
            yield daemon
        finally:
            await daemon.kill()


class Session:
    """The session that all follow, and the runs that they see."""

    def __init__(self, daemon: DaemonProcess, http: httpx2.AsyncClient, talker: Talker) -> None:
        self.id = ""
        self._daemon = daemon
        self._http = http
        self._talker = talker

    async def open(self) -> None:
        made = await self._http.post("/sessions", json={"project_id": self._daemon.project_id})
        self.id = made.json()["id"]

    async def run(self, turns: int, until: list[Client], half_way: Callable[[], None] | None = None) -> None:
        """Post a message and wait until the clients have seen the end of its run."""
        said = self._talker.said
        for client in until:
            await client.synced.wait()
        self._talker.turns = turns
        answer = await self._http.post(f"/sessions/{self.id}/messages", json={"content": f"{turns} turns"})
        assert answer.status_code == 201, answer.text
        async with asyncio.timeout(150):
            if half_way is not None:
                await until[0].has_seen(said + turns // 2)
                half_way()
            for client in until:
                await client.ended.wait()


def read_on(clients: list[Client]) -> None:
    for client in clients:
        client.reading.set()


async def drop_at_random(clients: list[Client]) -> None:
    chance = random.Random(7)
    while True:
        await asyncio.sleep(chance.uniform(0.02, 0.5))
        chance.choice(clients).drop()


async def highest_memory(pid: int, seen: list[float]) -> None:
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        seen.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
        await asyncio.sleep(0.1)


def durations(durable: dict[int, str]) -> list[float]:
    """Return how many seconds each run took."""
    frames = [orjson.loads(text) for text in durable.values()]
    times = [datetime.fromisoformat(f["ts"]) for f in frames if f["type"] in ("run.started", "run.ended")]
    return [(end - start).total_seconds() for start, end in zip(times[::2], times[1::2], strict=True)]


def expected_texts(durable: dict[int, str]) -> dict[str, str]:
    """Return the text of each message: the n-th one is what the model said the n-th time."""
    frames: list[Frame] = [orjson.loads(text) for text in durable.values()]
    ids = [frame["payload"]["messageId"] for frame in frames if frame["type"] == "message.start"]
    return {key: "".join(f"{n}.{i} " for i in range(TEXTS)) for n, key in enumerate(ids, 1)}


@pytest.mark.requirement("websocket.bounds", "websocket.fanout")
@pytest.mark.timeout(400)
async def test_a_hundred_clients_ten_stalled_three_restless(daemon: DaemonProcess, talker: Talker) -> None:
    async with daemon.client() as http, asyncio.TaskGroup() as tasks:
        session = Session(daemon, http, talker)
        await session.open()
        clients = [Client(daemon, session.id) for _ in range(CLIENTS)]
        stalled, restless = clients[:STALLED], clients[STALLED : STALLED + RESTLESS]
        steady = clients[STALLED + RESTLESS :]

        first = [tasks.create_task(client.follow()) for client in (*restless, *steady)]
        await session.run(WARM_UP_TURNS, [*restless, *steady])
        await asyncio.gather(*first)

        for client in clients:
            client.runs_to_see = 2
            client.ended.clear()
            client.synced.clear()
        for client in stalled:
            client.reading.clear()
        for client in clients:
            tasks.create_task(client.follow())
        memory: list[float] = []
        helpers = [
            tasks.create_task(drop_at_random(restless)),
            tasks.create_task(highest_memory(daemon.pid, memory)),
        ]
        await session.run(TURNS, steady, half_way=lambda: read_on(stalled[::2]))
        assert not any(client.durable for client in stalled[1::2])
        read_on(stalled[1::2])
        async with asyncio.timeout(60):
            for client in clients:
                await client.ended.wait()
        for helper in helpers:
            helper.cancel()

    reference = steady[0].durable
    texts = expected_texts(reference)
    check_closed([orjson.loads(text) for text in reference.values()])
    assert len(texts) == WARM_UP_TURNS + TURNS
    for client in steady:
        assert client.close_codes == []
        assert client.texts == texts
    for client in clients:
        assert list(client.durable) == sorted(client.durable)
        assert client.durable == reference
        # Deltas of a message that ended while the client was away are not sent again.
        assert all(texts[key].startswith(text) for key, text in client.texts.items())
    assert all(client.connections > 2 for client in restless)
    deltas = (THOUGHTS + TEXTS) * (WARM_UP_TURNS + TURNS)
    for client in stalled[
        ::2
    ]:  # back in time, but for a busy machine; what was merged is up to the kernel's buffers
        assert set(client.close_codes) <= {4008, 1006}
        assert client.close_codes or client.transient <= deltas
    for client in stalled[1::2]:
        assert client.close_codes
        # 1006: it did not read the close frame for ten seconds either
        assert set(client.close_codes) <= {4008, 1006}
    warm_up, measured = (
        seconds / turns for seconds, turns in zip(durations(reference), (WARM_UP_TURNS, TURNS), strict=True)
    )
    assert measured < 2 * warm_up + 0.02, (warm_up, measured)
    assert max(memory) - memory[0] < MEMORY_MIB, (memory[0], max(memory))
