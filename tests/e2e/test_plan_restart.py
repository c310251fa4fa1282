"""kill -9 around a plan: it is decided after the restart, and the mode that was acknowledged stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import get
from tests.driver.sessions import write_project
from tests.e2e.test_question_restart import frame_of
from tests.fakes.provider_script import RecordedRequest, Reply, Stall, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

PLAN = ToolCall("kaged_plan", {"plan": "1. Write it."}, "p")
WRITE = ToolCall("file_write", {"path": "note.txt", "content": "x"}, "w")


class Planner:
    """A model that plans, then writes. While it `stalls` it answers nothing."""

    def __init__(self) -> None:
        self.stalls = False

    def __call__(self, request: RecordedRequest) -> Reply:
        if self.stalls:
            return Reply((Stall(),))
        results = [str(one["content"]) for one in request.json["messages"] if one["role"] == "tool"]
        if not results:
            return Reply((PLAN,))
        return Reply((WRITE,)) if "accepted" in results[-1] else text_reply("Written.")


@pytest.mark.requirement("modes.decision", "modes.change")
async def test_a_plan_of_a_killed_daemon_is_accepted_and_its_mode_outlives_the_next_kill(
    tmp_path: Path,
) -> None:
    root, planner = write_project(tmp_path / "shop"), Planner()
    async with FakeProvider(planner) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            body = {"project_id": daemon.project_id, "mode": "plan"}
            session = f"/sessions/{(await client.post('/sessions', json=body)).json()['id']}"
            async with daemon.websocket(f"{session}/ws?after_seq=0") as socket:
                await client.post(f"{session}/messages", json={"content": "Plan"})
                proposed = await frame_of(socket, "interaction.requested")
        await daemon.kill()

        planner.stalls = True
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            before = await get(client, session)
            answer = f"{session}/interactions/{proposed['payload']['interaction_id']}/answer"
            accepted = await client.post(answer, json={"decision": "accept", "mode": "edits"})
        await daemon.kill()

        planner.stalls = False
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with asyncio.timeout(60), daemon.client() as client:
                after = await get(client, session)
                late = await client.post(answer, json={"decision": "reject"})
                while (await get(client, session))["state"] != "idle":
                    await client.post(f"{session}/resume")  # refused while it runs by itself
                    await asyncio.sleep(0.05)
                ended = await get(client, session)
        finally:
            assert await daemon.stop() == 0

    assert (before["mode"], before["pending_interactions"]) == ("plan", 1)
    assert accepted.json()["answer"] == {"state": "accepted", "mode": "edits"}
    assert (after["mode"], after["pending_interactions"]) == ("edits", 0)
    assert late.json()["error"]["details"]["reason"] == "already_answered"
    assert (ended["mode"], ended["last_run"]["state"]) == ("edits", "succeeded")
    assert (root / "note.txt").read_text() == "x"
