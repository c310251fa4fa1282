"""kill -9 while one call of a step runs and the next waits for its turn: only the first may have run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import orjson
import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.ledger import ABORTED, get
from tests.driver.sessions import PROJECT_YAML, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

YAML = PROJECT_YAML + "    shell.bash: { enabled: true }\n"


@pytest.mark.requirement("durability.start_marks")
async def test_a_call_that_had_not_begun_is_reported_as_such_and_is_not_run_by_itself(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", YAML)
    os.mkfifo(root / "begun")
    commands = {"call_a": "echo yes > begun; exec sleep 600", "call_b": "touch second"}
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        model.script(Reply(tuple(ToolCall("shell_bash", {"command": c}, n) for n, c in commands.items())))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            session = f"/sessions/{made.json()['id']}"
            await client.post(f"{session}/messages", json={"content": "Go"})
            async with asyncio.timeout(WAIT_SECONDS):
                await asyncio.to_thread((root / "begun").read_text)
        await daemon.kill()

        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                detail = await get(client, session)
                model.script(text_reply("I see."))
                async with daemon.websocket(f"{session}/ws?after_seq={detail['last_seq']}") as socket:
                    assert (await client.post(f"{session}/resume")).status_code == 201
                    async with asyncio.timeout(WAIT_SECONDS):
                        while orjson.loads(await socket.recv())["type"] != "run.ended":
                            pass
                (_, cut_off) = (await get(client, f"{session}/runs"))["items"]
                calls = (await get(client, f"/runs/{cut_off['id']}"))["tool_calls"]
        finally:
            await daemon.kill()

    assert [(call["call_id"], call["state"]) for call in calls] == [(one, "interrupted") for one in commands]
    assert [call["started_at"] is None for call in calls] == [False, True]
    given = [one["content"] for one in model.requests[-1].json["messages"] if one["role"] == "tool"]
    assert len(given) == len(commands)
    assert ABORTED in given[0]
    assert "not started (daemon restart)" in given[1]
    assert not (root / "second").exists()
