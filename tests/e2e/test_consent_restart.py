"""kill -9 while a call waits for a human: the question is closed, the model is told that nothing ran."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import ClientConnection

from tests.e2e.daemon_process import DaemonProcess, write_config
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.driving import PROJECT_YAML, write_project

pytestmark = pytest.mark.requirement("R3.permit.ask")

RULES = 'permissions: [{ permission: file.write, pattern: "**", action: ask }]\n'


async def frame_of(socket: ClientConnection, *types: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            frame: dict[str, Any] = orjson.loads(await socket.recv())
            if frame["type"] in types:
                return frame


async def test_a_question_of_a_killed_daemon_is_expired_and_the_work_goes_on_with_one_resume(
    tmp_path: Path,
) -> None:
    root = write_project(tmp_path / "shop", PROJECT_YAML + RULES)
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        write = ToolCall("file_write", {"path": "notes.txt", "content": "hello\n"})
        model.script(Reply((write,)))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            session = f"/sessions/{made.json()['id']}"
            async with daemon.websocket(f"{session}/ws?after_seq=0") as socket:
                await client.post(f"{session}/messages", json={"content": "Write"})
                question = await frame_of(socket, "permission.requested")
        await daemon.kill()

        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                detail = (await client.get(session)).json()
                (expired,) = (await client.get(f"{session}/interactions")).json()["items"]
                late = await client.post(
                    f"{session}/interactions/{expired['id']}/answer", json={"answer": "once"}
                )
                async with daemon.websocket(f"{session}/ws?after_seq={question['seq']}") as socket:
                    told = await frame_of(socket, "permission.answered")
                    result = await frame_of(socket, "message.tool_result")
                assert not (root / "notes.txt").exists()
                model.script(Reply((write,)), text_reply("Written."))
                async with daemon.websocket(f"{session}/ws?after_seq={result['seq']}") as socket:
                    await client.post(f"{session}/resume")
                    again = await frame_of(socket, "permission.requested")
                    path = f"{session}/interactions/{again['payload']['interaction_id']}/answer"
                    assert (await client.post(path, json={"answer": "once"})).status_code == 200
                    await frame_of(socket, "run.ended")
        finally:
            assert await daemon.stop() == 0

    assert (detail["state"], detail["state_reason"]) == ("paused", "daemon_restart")
    assert detail["pending_interactions"] == 0
    assert expired["id"] == question["payload"]["interaction_id"]
    assert (expired["state"], expired["answer"], expired["answered_by"]) == ("expired", None, None)
    assert expired["closed_at"] is not None
    assert told["payload"] == {
        "interaction_id": expired["id"],
        "tool_call_id": "call_1",
        "state": "expired",
    }
    assert result["payload"]["content"].endswith("while it waited for consent; it was not run")
    assert late.status_code == 409
    assert late.json()["error"]["details"]["state"] == "expired"
    assert (root / "notes.txt").read_text() == "hello\n"
