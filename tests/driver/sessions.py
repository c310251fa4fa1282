"""Drives a daemon as a client does: HTTP for commands, a WebSocket for what happens.

Owns: waiting on conditions, collecting frames, checking that a stream is well formed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

Frame = dict[str, Any]

PROJECT_YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools:
    "file.*": { enabled: true }
    "edit.*": { enabled: true }
"""
FEW_TOOLS_YAML = (
    PROJECT_YAML
    + """\
    "kaged.*": { enabled: false }
    "kaged.checkpoint": { enabled: true }
"""
)
"""For models with a small window, which the schemas of all tools would fill."""


def write_project(root: Path, yaml: str = PROJECT_YAML) -> Path:
    """Write a small valid project into `root` and return it."""
    (root / ".kaged").mkdir(parents=True)
    (root / "prompts").mkdir()
    (root / ".kaged" / "project.yaml").write_text(yaml)
    (root / "prompts" / "primary.md").write_text("You keep the shop.\n")
    (root / "README.md").write_text("# Shop\n\nIt sells things.\n")
    return root


@dataclass
class Watch:
    """Frames of one socket, in the order received."""

    frames: list[Frame] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False

    async def read(self, socket: ClientConnection) -> None:
        try:
            async for text in socket:
                self.frames.append(orjson.loads(text))
                self._changed.set()
        except ConnectionClosed:
            pass
        self.closed = True
        self._changed.set()

    async def until(
        self, condition: Callable[[Frame], bool], *, seconds: float = WAIT_SECONDS, start: int = 0
    ) -> Frame:
        """Return the first frame from `start` on that fulfils `condition`."""
        async with asyncio.timeout(seconds):
            at = start
            while True:
                while at < len(self.frames):
                    if condition(self.frames[at]):
                        return self.frames[at]
                    at += 1
                assert not self.closed, f"the socket closed; got {[f['type'] for f in self.frames]}"
                self._changed.clear()
                await self._changed.wait()

    async def until_type(self, *types: str, **options: Any) -> Frame:
        return await self.until(lambda frame: frame["type"] in types, **options)

    async def until_text(self, text: str) -> None:
        """Wait until the model has said exactly `text`, over all messages."""
        await self.until(lambda _: self.text() == text)

    async def until_state(self, state: str, *, start: int = 0) -> Frame:
        return await self.until(
            lambda f: f["type"] == "session.state" and f["payload"]["state"] == state, start=start
        )

    async def until_as_far_as(self, other: Watch) -> None:
        """Wait until all has come that another socket of the session has received."""
        last = other.frames[-1]["seq"]
        await self.until(lambda frame: frame["seq"] >= last)

    def of(self, *types: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in types]

    def text(self) -> str:
        return "".join(
            f["payload"]["delta"] for f in self.of("message.delta") if f["payload"]["kind"] == "text"
        )


class Driver:
    """One session of one project."""

    def __init__(self, daemon: Daemon, client: httpx2.AsyncClient) -> None:
        self.daemon = daemon
        self.client = client
        self.project_id = ""
        self.session_id = ""

    async def load(self, root: Path) -> None:
        self.project_id = (await self.call("POST", "/projects/load", {"path": str(root)}))["id"]

    async def new_session(self, **values: Any) -> str:
        made = await self.call("POST", "/sessions", {"project_id": self.project_id, **values}, status=201)
        self.session_id = made["id"]
        return self.session_id

    async def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, status: int | None = None
    ) -> Any:
        answer = await self.client.request(method, f"/api/v1{path}", json=body)
        expected = (200, 201, 202, 204) if status is None else (status,)
        assert answer.status_code in expected, (answer.status_code, answer.text)
        return answer.json() if answer.content else None

    async def session_call(
        self, method: str, path: str = "", body: dict[str, Any] | None = None, *, status: int | None = None
    ) -> Any:
        return await self.call(method, f"/sessions/{self.session_id}{path}", body, status=status)

    async def post(self, content: str, **values: Any) -> Any:
        return await self.session_call("POST", "/messages", {"content": content, **values})

    async def rename(self, title: str) -> None:
        """Rename the session; what was asked of it before has been done when this returns."""
        await self.session_call("PATCH", "", {"title": title})

    async def state(self) -> str:
        state: str = (await self.session_call("GET"))["state"]
        return state

    async def last_run(self) -> Any:
        return (await self.session_call("GET", "/runs"))["items"][0]

    async def messages(self) -> list[dict[str, Any]]:
        found, cursor = [], None
        while True:
            suffix = f"&cursor={cursor}" if cursor else ""
            page = await self.session_call("GET", f"/messages?limit=100{suffix}")
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    @asynccontextmanager
    async def watching(self, after_seq: int = 0) -> AsyncIterator[Watch]:
        """Collect frames while the block runs."""
        watch = Watch()
        path = f"/sessions/{self.session_id}/ws?after_seq={after_seq}"
        async with self.daemon.websocket(path) as socket:
            reading = asyncio.create_task(watch.read(socket))
            try:
                yield watch
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def run(self, content: str, **values: Any) -> Watch:
        """Post a message, watch its run to the end, and check the stream."""
        seq = (await self.session_call("GET"))["last_seq"]
        async with self.watching(seq) as watch:
            await self.post(content, **values)
            await watch.until_type("run.ended")
            await watch.until(
                lambda f: f["type"] == "session.state" and f["payload"]["previous"] == "running"
            )
        check_stream(watch.frames)
        return watch


def check_stream(frames: list[Frame]) -> None:
    """Every stream: `sync` first, `seq` rising, everything that was opened is closed once."""
    assert frames[0]["type"] in ("sync", "resync")
    live = [frame for frame in frames if frame["type"] not in ("sync", "resync", "pong")]
    numbers = [frame["seq"] for frame in live]
    assert numbers == sorted(set(numbers)), numbers
    starts = Counter(f["payload"]["messageId"] for f in live if f["type"] == "message.start")
    ends = Counter(f["payload"]["messageId"] for f in live if f["type"] == "message.end")
    assert starts == ends, (starts, ends)
    calls = Counter(f["payload"]["id"] for f in live if f["type"] == "message.tool_call")
    results = Counter(f["payload"]["toolCallId"] for f in live if f["type"] == "message.tool_result")
    assert calls == results, (calls, results)
    assert Counter(f["payload"]["step"] for f in live if f["type"] == "step.started") == Counter(
        f["payload"]["step"] for f in live if f["type"] == "step.ended"
    )


DRIVERS = ("openai", "openai-responses", "anthropic", "google")


def provider_settings(driver: str, base_url: str, **more: Any) -> dict[str, Any]:
    """Return the settings of a provider `fake` that speaks one of the wire protocols."""
    path = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "", "google": "/v1beta"}[driver]
    return {"fake": {"driver": driver, "base_url": base_url + path, "api_key": "sk-test-secret", **more}}


@asynccontextmanager
async def driven(
    data_dir: Path, root: Path, *, session: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[Driver]:
    """Run a daemon with `settings` over `root` and drive a new session of it."""
    async with running_daemon(data_dir, **settings) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        await driver.new_session(**(session or {}))
        yield driver


@asynccontextmanager
async def restarted(data_dir: Path, **settings: Any) -> AsyncIterator[Driver]:
    """Run a daemon over data that are there; the driver loads and opens nothing by itself."""
    async with running_daemon(data_dir, **settings) as daemon, daemon.client() as client:
        yield Driver(daemon, client)
