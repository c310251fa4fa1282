"""The hostile language server does what its arguments say; else the tests that use it show nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.child import Child
from app.bridges.processes.process import ChildProcesses
from app.bridges.rpc.message_stream import PeerClosed
from app.bridges.rpc.peer import JsonRpcPeer
from tests.driver.daemon_process import WAIT_SECONDS

SERVER = Path(__file__).parent / "hostile_language_server.py"
URI = "file:///project/a.txt"
TEXT = "one bad word\nanother word\n"
AT_WORD = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 9}}


class Session:
    def __init__(self, child: Child, log: Path) -> None:
        assert child.stdout is not None
        assert child.stdin is not None
        self.child, self.log = child, log
        self.published: list[Any] = []
        self.asked: list[tuple[str, Any]] = []
        self.peer = JsonRpcPeer(
            child.stdout,
            child.stdin,
            name="hostile",
            on_notification=lambda _method, params: self.published.append(params),
            on_request=self.respond,
        )
        self.running = asyncio.create_task(self.peer.run())

    async def respond(self, method: str, params: Any) -> Any:
        self.asked.append((method, params))

    async def begin(self) -> None:
        await self.request("initialize", {})
        self.peer.notify("initialized", {})
        self.open(1, TEXT)

    def open(self, version: int, text: str) -> None:
        document = {"uri": URI, "version": version, "languageId": "plain", "text": text}
        self.peer.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, version: int, text: str) -> None:
        params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": [{"text": text}]}
        self.peer.notify("textDocument/didChange", params)

    async def request(self, method: str, params: Any = None, seconds: float = WAIT_SECONDS) -> Any:
        async with asyncio.timeout(seconds):
            return await self.peer.request(method, params)

    async def has_published(self, count: int) -> None:
        async with asyncio.timeout(2 * WAIT_SECONDS):
            while len(self.published) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.fixture
def talk(tmp_path: Path) -> Any:
    @asynccontextmanager
    async def start(*behaviour: str) -> AsyncIterator[Session]:
        children, log = ChildProcesses(), tmp_path / "log"
        child = await children.start(
            [sys.executable, "-I", "-S", str(SERVER), "--log", str(log), *behaviour],
            owner="test",
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            stdin="pipe",
            stderr="null",
        )
        session = Session(child, log)
        yield session
        session.peer.close("over")
        await session.running
        await children.aclose()

    return start


async def test_by_default_it_is_a_good_server(talk: Any) -> None:
    async with talk() as it:
        await it.begin()
        assert (await it.request("textDocument/hover", AT_WORD))["contents"]["value"] == "word"
        assert (await it.request("textDocument/definition", AT_WORD))["range"]["start"]["line"] == 0
        assert len(await it.request("textDocument/references", AT_WORD)) == 2
        it.change(2, "good")
        assert await it.request("shutdown") is None
        assert [(one["version"], len(one["diagnostics"])) for one in it.published] == [(1, 1), (2, 0)]
        it.peer.notify("exit")
        assert await it.child.wait() == 0
        assert [one["message"]["method"] for one in it.events("received")][-2:] == ["shutdown", "exit"]


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (["--crash-at", "textDocument/hover"], 3),
        (["--crash-at", "textDocument/hover", "--half-answer"], 3),
        (["--crash-at", "initialize"], 3),
        (["--crash-after", "0.1", "--never-answer", "textDocument/hover"], 3),
        (["--crash-at-start"], 4),
    ],
)
async def test_it_crashes(talk: Any, behaviour: list[str], code: int) -> None:
    async with talk(*behaviour) as it:
        with pytest.raises(PeerClosed):
            await it.begin()
            await it.request("textDocument/hover", AT_WORD)
        assert await it.child.wait() == code


async def test_it_crashes_in_the_first_starts_only(talk: Any) -> None:
    behaviour = ["--crash-at", "initialize", "--crash-times", "1"]
    async with talk(*behaviour) as it:
        assert await it.child.has_ended(0.1) is False
        with pytest.raises(PeerClosed):
            await it.begin()
    async with talk(*behaviour) as it:
        await it.begin()
        assert [one["start"] for one in it.events("started")] == [1, 2]


async def test_it_hangs_and_hears_no_signal(talk: Any) -> None:
    async with talk("--hang-at", "textDocument/hover", "--deaf", "--children", "2") as it:
        await it.begin()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await it.request("textDocument/hover", AT_WORD, 0.2)
        os.kill(it.child.pid, signal.SIGTERM)
        async with asyncio.timeout(WAIT_SECONDS):
            while not it.events("signal"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not await it.child.has_ended(0.3)
        assert it.events("signal") == [{"event": "signal", "number": signal.SIGTERM}]
        assert len(it.events("child")) == 2


@pytest.mark.parametrize("garbage", ["text", "length", "binary", "json", "batch", "huge", "endless"])
async def test_it_sends_garbage(talk: Any, garbage: str) -> None:
    async with talk("--garbage-at", "textDocument/hover", "--garbage", garbage) as it:
        await it.begin()
        with pytest.raises(PeerClosed, match="protocol"):
            await it.request("textDocument/hover", AT_WORD)


async def test_answers_come_late_out_of_order_twice_or_not(talk: Any) -> None:
    behaviour = ["--reorder", "3", "--duplicate", "--delay", "a=2", "--never-answer", "b"]
    async with talk(*behaviour) as it:
        await it.begin()
        ended: list[str] = []

        async def ask(method: str) -> None:
            await it.request(method, AT_WORD, 0.5 if method == "b" else WAIT_SECONDS)
            ended.append(method)

        names = ["a", "b", "textDocument/hover", "textDocument/references", "textDocument/definition"]
        await asyncio.gather(*map(ask, names), return_exceptions=True)
        assert ended == [*reversed(names[2:]), "a"]


@pytest.mark.parametrize(
    ("behaviour", "count"),
    [(["--flood", "100000"], 100_001), (["--flood-bytes", "5000000"], 2)],
)
async def test_it_floods(talk: Any, behaviour: list[str], count: int) -> None:
    async with talk(*behaviour) as it:
        await it.begin()
        await it.has_published(count)
        assert len(it.published[0]["diagnostics"]) > (0 if count > 2 else 20_000)


async def test_diagnostics_are_late_stale_or_without_version(talk: Any) -> None:
    async with talk("--stale-diagnostics") as it:
        await it.begin()
        it.change(2, "good")
        await it.has_published(3)
        assert [one["version"] for one in it.published] == [1, 2, 1]
    async with talk("--late-diagnostics", "2", "--unversioned") as it:
        await it.begin()
        await it.request("textDocument/hover", AT_WORD)
        assert it.published == []
        await it.has_published(1)
        assert "version" not in it.published[0]
    async with talk("--pull") as it:
        await it.begin()
        pulled = await it.request("textDocument/diagnostic", {"textDocument": {"uri": URI}})
        assert len(pulled["items"]) == 1
        assert it.published == []


@pytest.mark.parametrize(
    "wrong", ["mixed", "positions", "uris", "edit", "deep", "null", "number", "long", "many"]
)
async def test_answers_are_wrong_in_every_way(talk: Any, wrong: str) -> None:
    async with talk("--wrong-types", "all", "--wrong", wrong, "--wrong-capabilities") as it:
        await it.begin()
        result = await it.request("textDocument/rename", AT_WORD)
        assert (result is None) is (wrong == "null")
        await it.has_published(5)


async def test_it_asks_of_its_own_accord(talk: Any) -> None:
    async with talk("--unknown-requests", "--apply-edit", URI, "--flood-requests", "20") as it:
        await it.begin()
        await it.request("textDocument/hover", AT_WORD)
        methods = [method for method, _ in it.asked]
        assert methods.count("workspace/configuration") == 21
        assert {"hostile/unknown", "workspace/applyEdit", "client/registerCapability"} <= set(methods)


async def test_it_writes_to_stderr_grows_and_reads_no_more(talk: Any) -> None:
    behaviour = ["--stderr-bytes", "5000000", "--grow", "100", "--stop-reading", "textDocument/hover"]
    async with talk(*behaviour) as it:
        await it.begin()
        await it.request("textDocument/hover", AT_WORD)
        assert int(Path(f"/proc/{it.child.pid}/statm").read_text().split()[1]) * 4096 > 100_000_000
        for _ in range(3):
            it.peer.notify("n", "x" * 100_000)
        assert it.peer.bytes_waiting > 100_000


@pytest.mark.parametrize(("way", "code"), [("late", 0), ("never", None), ("crash", 5), ("at-shutdown", 0)])
async def test_it_does_not_end_as_it_should(talk: Any, way: str, code: int | None) -> None:
    async with talk("--exit", way, "--exit-seconds", "2") as it:
        await it.begin()
        if way == "at-shutdown":
            with pytest.raises(PeerClosed):
                await it.request("shutdown")
        else:
            await it.request("shutdown")
            it.peer.notify("exit")
        assert not (way == "late" and await it.child.has_ended(0.2))
        assert await it.child.has_ended(0.8 if code is None else WAIT_SECONDS) is (code is not None)
        assert it.child.exit_code == code
