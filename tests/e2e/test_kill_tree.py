"""kill -9 in the middle of a tree of agents: after the restart nothing of it is orphaned, and it goes on.

A real daemon process is killed at random moments while thirty agents on four levels work, some of them in
the background.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.agent_tree import Model, all_of, check_at_rest, check_frames, tree
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.family import write_family
from tests.driver.rounds import SEED
from tests.fakes.provider_server import FakeProvider

KILLS = 10


@pytest.mark.requirement("delegation.tree", "delegation.background", "websocket.resume")
@pytest.mark.timeout(120 + KILLS * 20)
async def test_a_tree_that_is_killed_leaves_nothing_behind_and_goes_on(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    root = write_family(tmp_path / "family", tree())
    interrupted = 0
    async with FakeProvider(Model(chance, slowness=0.1, background=True), keep_requests=0) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            session_id = ""
            for number in range(KILLS):
                async with daemon.client() as client:
                    if not number % 3:
                        made = await client.post("/sessions", json={"project_id": daemon.project_id})
                        session_id = made.json()["id"]
                    await set_going(client, session_id)
                    await asyncio.sleep(chance.uniform(0, 1.2))
                await daemon.kill()
                daemon = await DaemonProcess.start(tmp_path / "data", config, root)
                async with daemon.client() as client:
                    interrupted += await check_after_kill(daemon, client, session_id)
            async with daemon.client() as client:
                await set_going(client, session_id)
                await until_idle(daemon, client, session_id)
                fetch = fetching(client)
                runs = await check_at_rest(fetch, session_id)
                newest = max((run for run in runs if run["parent_run_id"] is None), key=lambda r: r["id"])
                assert newest["state"] == "succeeded"
            assert "Traceback" not in daemon.errors.read_text()
        finally:
            await daemon.kill()
    assert interrupted > KILLS // 3


def fetching(client: httpx2.AsyncClient) -> Any:
    async def fetch(path: str) -> dict[str, Any]:
        answer = await client.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    return fetch


async def set_going(client: httpx2.AsyncClient, session_id: str) -> None:
    """Resume what was interrupted, else post a message."""
    state = (await client.get(f"/sessions/{session_id}")).json()["state"]
    if state == "paused":
        answer = await client.post(f"/sessions/{session_id}/resume")
        assert answer.status_code in (200, 201), answer.text
        if answer.status_code == 201:
            return
    answer = await client.post(f"/sessions/{session_id}/messages", json={"content": "All of you"})
    assert answer.status_code in (201, 202), answer.text


async def check_after_kill(daemon: DaemonProcess, client: httpx2.AsyncClient, session_id: str) -> int:
    """Nothing of the last life is under way; return 1 when something had been."""
    fetch = fetching(client)
    session = await fetch(f"/sessions/{session_id}")
    assert session["state"] in ("idle", "paused", "running")  # running: an agent is told of a task
    if session["state"] == "running":
        await until_idle(daemon, client, session_id)
    runs = await check_at_rest(fetch, session_id)
    checkpoints = await all_of(fetch, f"/sessions/{session_id}/checkpoints")
    messages = {m["id"]: m for m in await all_of(fetch, f"/sessions/{session_id}/messages")}
    for checkpoint in checkpoints:
        cursor = checkpoint["message_cursor"]
        assert cursor is None or messages[cursor]["agent_path"] == "primary"
    told = [m["details"]["runId"] for m in messages.values() if m["details"].get("kind") == "task_result"]
    assert sorted(told) == sorted(run["id"] for run in runs if run["background"])
    last_seq = (await fetch(f"/sessions/{session_id}"))["last_seq"]
    check_frames(await frames_of(daemon, session_id, last_seq))
    return int(session["state"] == "paused")


async def until_idle(daemon: DaemonProcess, client: httpx2.AsyncClient, session_id: str) -> None:
    """Wait until the session is idle and no task of it is left in the background."""
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket, asyncio.timeout(60):
        while True:
            session = (await client.get(f"/sessions/{session_id}")).json()
            if session["state"] == "idle" and not session["background_runs"]:
                return
            async for text in socket:
                if orjson.loads(text)["type"] in ("session.state", "run.ended"):
                    break


async def frames_of(daemon: DaemonProcess, session_id: str, last_seq: int) -> list[dict[str, Any]]:
    """Return every stored frame of the session."""
    found: list[dict[str, Any]] = []
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket, asyncio.timeout(30):
        async for text in socket:
            frame = orjson.loads(text)
            if frame["type"] != "sync":
                found.append(frame)
            if frame.get("seq", 0) >= last_seq:
                break
    return found
