"""kill -9 while a call waits for consent: the question stays, and its answer counts after the restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import ClientConnection

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.ledger import check_closed, get
from tests.driver.sessions import PROJECT_YAML, write_project
from tests.e2e.test_question_restart import replay
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("authorisation.ask", "interactions.permission")

RULES = 'permissions: [{ permission: file.write, pattern: "**", action: ask }]\n'


async def frame_of(socket: ClientConnection, *types: str) -> dict[str, Any]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            frame: dict[str, Any] = orjson.loads(await socket.recv())
            if frame["type"] in types:
                return frame


async def test_a_call_that_waited_is_run_after_the_restart_and_another_is_refused(
    tmp_path: Path,
) -> None:
    root = write_project(tmp_path / "shop", PROJECT_YAML + RULES)
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        calls = [
            ToolCall("file_write", {"path": name, "content": "hello\n"}, f"call_{name}")
            for name in ("notes.txt", "secret.txt")
        ]
        model.script(Reply((*calls, ToolCall("file_read", {"path": "README.md"}, "call_read"))))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            session = f"/sessions/{made.json()['id']}"
            async with daemon.websocket(f"{session}/ws?after_seq=0") as socket:
                await client.post(f"{session}/messages", json={"content": "Write"})
                # In any order: the call that need not wait may be over before the others ask.
                kinds = ("permission.requested", "message.tool_result")
                told = [await frame_of(socket, *kinds) for _ in (*calls, "the one that need not wait")]
                asked = [frame for frame in told if frame["type"] == "permission.requested"]
                assert len(asked) == len(calls)
        await daemon.kill()

        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                detail = await get(client, session)
                pending = {
                    one["request"]["subjects"][0]: one["id"]
                    for one in (await get(client, f"{session}/interactions?state=pending"))["items"]
                }
                model.script(text_reply("Written."))
                async with daemon.websocket(f"{session}/ws?after_seq={detail['last_seq']}") as socket:
                    path = f"{session}/interactions/{{}}/answer"
                    refused = {"answer": "reject", "comment": "Not that one."}
                    first = await client.post(path.format(pending["secret.txt"]), json=refused)
                    between = await get(client, session)
                    assert not (root / "notes.txt").exists()
                    second = await client.post(path.format(pending["notes.txt"]), json={"answer": "once"})
                    await frame_of(socket, "run.ended")
                    late = await client.post(path.format(pending["notes.txt"]), json={"answer": "reject"})
                after = await get(client, session)
                (run, before) = (await get(client, f"{session}/runs"))["items"]
                calls_after = (await get(client, f"/runs/{before['id']}"))["tool_calls"]
                audit = await get(client, f"/audit?session_id={after['id']}&limit=100")
                frames = await replay(daemon, session, after["last_seq"])
        finally:
            assert await daemon.stop() == 0

    assert (detail["state"], detail["state_reason"], detail["pending_interactions"]) == (
        "paused",
        "interaction",
        2,
    )
    assert set(pending.values()) == {frame["payload"]["interaction_id"] for frame in asked}
    assert (first.status_code, second.status_code, late.status_code) == (200, 200, 409)
    assert late.json()["error"]["details"]["reason"] == "already_answered"
    assert (between["state"], between["pending_interactions"]) == ("paused", 1)
    assert (after["state"], run["state"]) == ("idle", "succeeded")
    assert (root / "notes.txt").read_text() == "hello\n"
    assert not (root / "secret.txt").exists()
    assert [call["state"] for call in calls_after] == ["succeeded", "failed", "succeeded"]
    check_closed(frames)
    results = [one["content"] for one in model.requests[-1].json["messages"] if one["role"] == "tool"]
    assert "notes.txt" in results[0]
    assert "Not that one." in results[1]
    assert "Shop" in results[2]
    written = [row for row in audit["items"] if row["event"] == "tool.completed"]
    assert [row["data"]["success"] for row in written if row["data"]["call_id"] == "call_notes.txt"] == [True]
    rows = [row for row in audit["items"] if row["event"] == "permission.answered"]
    answered = {row["data"]["interaction_id"]: row for row in rows}
    assert {row["actor"] for row in answered.values()} == {"operator"}
    assert set(answered) == set(pending.values())


async def test_a_subagents_question_of_a_killed_daemon_is_expired(
    tmp_path: Path,
) -> None:
    coder = (
        "  subagents:\n    coder:\n      model: main\n      system_prompt: project:/prompts/primary.md\n"
        '      cage: disabled\n      description: Codes.\n      tools: { "file.*": { enabled: true } }\n'
    )
    root = write_project(tmp_path / "shop", PROJECT_YAML + coder + RULES)
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        write = ToolCall("file_write", {"path": "notes.txt", "content": "hello\n"})
        model.script(Reply((ToolCall("agent-coder", {"task": "Write"}),)), Reply((write,)))
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
                detail = await get(client, session)
                (expired,) = (await get(client, f"{session}/interactions"))["items"]
                path = f"{session}/interactions/{expired['id']}/answer"
                late = await client.post(path, json={"answer": "once"})
                async with daemon.websocket(f"{session}/ws?after_seq={question['seq']}") as socket:
                    told = await frame_of(socket, "permission.answered")
                    result = await frame_of(socket, "message.tool_result")
                    model.script(text_reply("I ask again."))
                    await client.post(f"{session}/resume")
                    await frame_of(socket, "run.started")
                    await frame_of(socket, "run.ended")
        finally:
            assert await daemon.stop() == 0

    assert (detail["state"], detail["state_reason"]) == ("paused", "daemon_restart")
    assert detail["pending_interactions"] == 0
    assert expired["id"] == question["payload"]["interaction_id"]
    assert (expired["state"], expired["answer"], expired["answered_by"]) == ("expired", None, None)
    assert told["payload"]["state"] == "expired"
    assert result["payload"]["content"].endswith("while it waited for consent; it was not run")
    assert (late.status_code, late.json()["error"]["details"]["state"]) == (409, "expired")
    assert not (root / "notes.txt").exists()
