"""kill -9 at any moment of a revert and of its undo: the files are old or new, and the next one works."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.rounds import SEED, rounds
from tests.driver.sessions import WAIT_SECONDS, write_project
from tests.fakes.provider_script import Reply, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.changes.desk import files
from tests.harness.checkpoints.test_files import YAML, repository, shell

KILLS = rounds(4, 100)
LINES = "".join(f"line {number}\n" for number in range(400))


@pytest.mark.requirement("changes.revert")
@pytest.mark.timeout(120 + KILLS * 20)
async def test_a_killed_revert_leaves_old_or_new_files_and_can_be_undone(
    tmp_path: Path, fake: FakeProvider
) -> None:
    root = repository(write_project(tmp_path / "shop", YAML))
    (root / "lines.txt").write_text(LINES)
    config = write_config(tmp_path / "config.toml", fake.port)
    before = files(root)
    chance = random.Random(SEED)
    ends: dict[str, int] = {"old": 0, "new": 0}
    daemon = await DaemonProcess.start(tmp_path / "data", config, root)
    try:
        session = await _renamed(daemon, fake)
        after = files(root)
        assert after != before
        states = {"changed": after, "reverted": before}
        now = "changed"
        for round_ in range(KILLS):
            async with daemon.client() as client:
                work = asyncio.create_task(_other_way(client, session, now))
                await asyncio.sleep(chance.random() * 0.25)
                await daemon.kill()
                await asyncio.gather(work, return_exceptions=True)
            daemon = await DaemonProcess.start(tmp_path / "data", config, root)
            found = [name for name, state in states.items() if files(root) == state]
            assert len(found) == 1, (SEED, round_, sorted(files(root)))
            ends["old" if found[0] == now else "new"] += 1
            now = found[0]
            async with daemon.client() as client:
                page = (await client.get(f"/sessions/{session}/changes")).raise_for_status().json()
                assert page["total"] == (1 if now == "changed" else 0), (SEED, round_, page)
        async with daemon.client() as client:
            await _other_way(client, session, now)
            assert files(root) == states["reverted" if now == "changed" else "changed"]
        assert all(ends.values()) or KILLS < 20, ends
    finally:
        await daemon.kill()


async def _renamed(daemon: DaemonProcess, fake: FakeProvider) -> str:
    """Have an agent rename and change a file; return the session's id."""
    command = "sed 's/line 7$/line seven/' lines.txt > there.txt; rm lines.txt"
    fake.script(Reply((shell(command),)), text_reply("Done."))
    async with daemon.client() as client:
        made = await client.post("/sessions", json={"project_id": daemon.project_id})
        session: str = made.raise_for_status().json()["id"]
        (await client.post(f"/sessions/{session}/messages", json={"content": "Go"})).raise_for_status()
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                row = (await client.get(f"/sessions/{session}")).raise_for_status().json()
                if row["state"] == "idle":
                    break
                await asyncio.sleep(0.05)
        page = (await client.get(f"/sessions/{session}/changes")).raise_for_status().json()
        assert [(one["status"], one["old_path"]) for one in page["items"]] == [("renamed", "lines.txt")]
    return session


async def _other_way(client: httpx2.AsyncClient, session: str, now: str) -> None:
    """Revert the change, or undo the newest revert, which the audit trail names."""
    if now == "changed":
        body = {"path": "there.txt"}
        (await client.post(f"/sessions/{session}/reverts", json=body)).raise_for_status()
        return
    rows: list[dict[str, Any]] = (
        (await client.get("/audit", params={"session_id": session, "event": "changes.reverted", "limit": 1}))
        .raise_for_status()
        .json()["items"]
    )
    revert = rows[0]["data"]["revert_id"]
    (await client.post(f"/sessions/{session}/reverts/{revert}/undo")).raise_for_status()
