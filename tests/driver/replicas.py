"""Several daemons, as processes, on one PostgreSQL database and one project.

Owns: starting them, asking who owns the project, waiting for that. Never: what a test does to them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from app.storage.backup import upgrade
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Answer, RecordedRequest, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage:
    fs: [{ mode: rw, path: . }]
    capabilities: [shell]
  tools:
    "file.*": { enabled: true }
    shell.bash: { enabled: true }
"""
WAIT_SECONDS = 120.0
"""For a takeover: ten seconds of the lease, and what a busy machine needs."""
LINES = "lines"


class Replicas:
    """Daemons by name, each with a data folder of its own."""

    def __init__(self, folder: Path, url: str, model_port: int) -> None:
        self.folder, self.url, self._port = folder, url, model_port
        self.root = folder / "shop"
        self.daemons: dict[str, DaemonProcess] = {}
        self.project_id = ""
        self._storage: dict[str, dict[str, str]] = {}

    async def start(
        self, name: str, *, replicas: bool = True, project: bool = True, **storage: str
    ) -> DaemonProcess:
        """Start a daemon. `storage` has further settings of the section; a daemon that was there before keeps
        them."""
        storage = {"url": self.url, **self._storage.get(name, {}), **storage}
        self._storage[name] = storage
        config = write_config(self.folder / f"{name}.toml", self._port)
        with config.open("a") as file:
            file.write(f"\n[storage]\nreplicas = {str(replicas).lower()}\n")
            file.writelines(f'{key} = "{value}"\n' for key, value in storage.items())
        roots = [self.root] if project else []
        daemon = await DaemonProcess.spawn(self.folder / name, config, *roots)
        self.daemons[name] = daemon
        await daemon.ready(WAIT_SECONDS)
        self.project_id = self.project_id or daemon.project_id
        return daemon

    async def until_owner(self, *daemons: DaemonProcess) -> DaemonProcess:
        """Wait until one of the daemons serves the project."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                for daemon in daemons:
                    if await owns(daemon):
                        return daemon
                await asyncio.sleep(0.05)


async def owns(daemon: DaemonProcess) -> bool:
    """Tell whether a daemon says that it owns the one project of the database."""
    try:
        async with daemon.client() as client:
            return "\nkaged_projects_owned 1" in (await client.get("/metrics")).text
    except (OSError, httpx2.HTTPError):
        return False


@asynccontextmanager
async def prepared(folder: Path, url: str, model_port: int) -> AsyncIterator[Replicas]:
    """A migrated database and a project. What was started is killed in the end."""
    made = Replicas(folder, url, model_port)
    await upgrade(url, folder)
    write_project(made.root, YAML)
    try:
        yield made
    finally:
        for daemon in made.daemons.values():
            await daemon.kill()


async def until(condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> None:
    """Wait until the condition, which may be a coroutine, is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.05)


class Work:
    """The model: what it is told to do by the last message of the operator. It counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer_all = False

    @classmethod
    def of(cls, model: FakeProvider) -> Work:
        work = cls()
        model.respond = work
        return work

    def __call__(self, request: RecordedRequest) -> Answer:
        last = request.json["messages"][-1]
        text = str(last["content"])
        self.asked.append(f"{last['role']}: {text[:60]}")
        if last["role"] != "user" or self.answer_all:
            return text_reply("Done.")
        if "write lines" in text:
            command = f"while sleep 0.1; do date +%s.%N >> {LINES}; done"
            return Reply((ToolCall("shell_bash", {"command": command}, id=f"call_{len(self.asked)}"),))
        if "stall" in text:
            return Reply((Text("I begin "), Stall()))
        return text_reply(f"Answer to {text[:40]}")


async def new_session(client: httpx2.AsyncClient, project_id: str) -> str:
    made = await client.post("/sessions", json={"project_id": project_id})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def post(client: httpx2.AsyncClient, session_id: str, content: str) -> dict[str, Any]:
    posted = await client.post(f"/sessions/{session_id}/messages", json={"content": content})
    assert posted.status_code in (201, 202), posted.text
    answer: dict[str, Any] = posted.json()
    return answer
