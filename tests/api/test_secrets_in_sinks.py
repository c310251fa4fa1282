"""Secrets end nowhere: not in logs, events, the audit trail, errors, metrics, exports, or at a provider.

Each test shows beside it that the sink was reached at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.storage.models import AuditEvent
from app.storage.unit_of_work import UnitOfWork
from tests.driver.daemon import PROJECT_YAML, Daemon, next_frame, running_daemon, write_project
from tests.driver.daemon_process import WAIT_SECONDS
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("daemon.redaction")

KEY = "the-providers-key-of-many-letters"
SHAPED = "ghp_" + "abcdEFGH0123" * 3


@pytest.fixture
async def daemon(tmp_path: Path, model: FakeProvider) -> AsyncIterator[Daemon]:
    settings = {
        "models": {"main": ["fake:model-a"]},
        "providers": {"fake": {"driver": "openai", "base_url": f"{model.base_url}/v1", "api_key": KEY}},
    }
    async with running_daemon(tmp_path / "data", **settings) as running:
        yield running


@pytest.fixture
async def session(daemon: Daemon, client: httpx2.AsyncClient, tmp_path: Path) -> str:
    """A session in a project whose files hold the daemon's own secrets."""
    root = write_project(tmp_path / "shop")
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML + "    shell.bash: { enabled: true }\n")
    (root / "notes.txt").write_text(f"before {KEY} between {daemon.token} after\n")
    project = await client.post("/api/v1/projects/load", json={"path": str(root)})
    made = await client.post("/api/v1/sessions", json={"project_id": project.json()["id"]})
    session_id: str = made.json()["id"]
    return session_id


async def texts(client: httpx2.AsyncClient, *paths: str) -> dict[str, str]:
    found = {}
    for path in paths:
        answer = await client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        found[path] = answer.text
    return found


def clean(texts: dict[str, str], *secrets: str) -> None:
    for place, text in texts.items():
        for secret in secrets:
            assert secret not in text, place


async def test_what_a_tool_shows_of_the_daemons_own_secrets_reaches_nobody(
    daemon: Daemon, client: httpx2.AsyncClient, session: str, model: FakeProvider
) -> None:
    command = {"command": "cat notes.txt; sleep 0.2; cat notes.txt >&2"}
    calls = (
        ToolCall("file_read", {"path": "notes.txt"}, id="call_1"),
        ToolCall("shell_bash", command, id="call_2"),
    )
    model.script(Reply(calls), text_reply("Read."))
    frames: list[dict[str, Any]] = []
    async with daemon.websocket(f"/sessions/{session}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session}/messages", json={"content": "Read it."})
        while not frames or frames[-1]["type"] not in ("run.ended", "permission.requested"):
            frames.append(await next_frame(socket))
    direct = await client.post(
        f"/api/v1/sessions/{session}/tools/file.read", json={"params": {"path": "notes.txt"}}
    )
    run = next(frame["run_id"] for frame in frames if frame["type"] == "run.started")
    seen = await texts(
        client,
        f"/sessions/{session}/messages",
        f"/sessions/{session}/export",
        f"/runs/{run}",
        f"/sync?sessions={session}:0",
        "/audit?limit=100",
        "/logs?limit=100",
        "/metrics",
    )
    seen["frames"] = orjson.dumps(frames).decode()
    seen["direct"] = direct.text
    seen["provider"] = b"".join(request.body for request in model.requests).decode()
    clean(seen, KEY, daemon.token)
    for place in ("direct", "frames", "provider", f"/sessions/{session}/messages"):
        assert "before ******** between ******** after" in seen[place], place


async def test_what_a_command_that_goes_on_has_said_is_shown_without_secrets(
    daemon: Daemon, client: httpx2.AsyncClient, session: str
) -> None:
    command = {"command": f"(cat notes.txt; sleep 600) & : {KEY}"}
    called = await client.post(f"/api/v1/sessions/{session}/tools/shell.bash", json={"params": command})
    (going,) = called.json()["data"]["background"]
    path = f"/sessions/{session}/commands"
    async with asyncio.timeout(WAIT_SECONDS):
        while "after" not in (await client.get(f"/api/v1{path}/{going['id']}")).json()["output"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    seen = await texts(client, path, f"{path}/{going['id']}")
    stopped = await client.delete(f"/api/v1{path}/{going['id']}")
    seen["stopped"] = stopped.text
    assert stopped.json()["output"] == "before ******** between ******** after\n"
    clean(seen, KEY, daemon.token)


async def test_audit_rows_hold_no_secret_of_a_tools_arguments_also_where_they_are_cut(
    daemon: Daemon, client: httpx2.AsyncClient, session: str
) -> None:
    """The trail keeps the first eighty characters of a long text: here the cut goes through a secret."""
    asked = [
        f"missing/{SHAPED}.txt",
        f"missing/{KEY}",
        "x" * 60 + KEY + "y" * 200,
        "x" * 50 + daemon.token + "y" * 200,
    ]
    for path in asked:
        await client.post(f"/api/v1/sessions/{session}/tools/file.read", json={"params": {"path": path}})
    seen = await texts(client, "/audit?event=tool.*&limit=100", "/logs?limit=100")
    assert seen["/audit?event=tool.*&limit=100"].count("tool.called") == len(asked)
    clean(seen, SHAPED, KEY, KEY[:12], daemon.token[:12])


async def test_errors_and_rows_of_operations_hold_no_secrets(
    daemon: Daemon, client: httpx2.AsyncClient, session: str
) -> None:
    answers = [
        await client.get(f"/api/v1/sessions/{KEY}"),
        await client.get(f"/{KEY}"),
        await client.post("/api/v1/sessions", json={KEY: 1}),
        await client.post("/api/v1/projects/load", json={"path": f"/missing/{KEY}"}),
    ]
    async with daemon.websocket(f"/sessions/{session}/ws") as socket:
        await socket.send(orjson.dumps({"type": "ping", KEY: 1}).decode())
        refused = await next_frame(socket, "error")
    assert [answer.status_code // 100 for answer in answers] == [4] * 4
    clean({answer.request.url.path: answer.text for answer in answers}, KEY)
    assert "********" in answers[0].text
    assert "unknown field" in orjson.dumps(refused).decode()
    clean({"frame": orjson.dumps(refused).decode()}, KEY)
    clean(await texts(client, "/audit?limit=100"), KEY)


async def test_a_made_token_is_shown_once_and_kept_nowhere(client: httpx2.AsyncClient) -> None:
    made = await client.post("/api/v1/tokens", json={"name": "t"}, headers={"idempotency-key": "the same"})
    again = await client.post("/api/v1/tokens", json={"name": "t"}, headers={"idempotency-key": "the same"})
    assert made.json()["token"] != again.json()["token"]
    seen = await texts(client, "/tokens", "/audit?limit=100", "/logs?limit=100")
    assert "operator.create_token" in seen["/audit?limit=100"]
    clean(seen, made.json()["token"], again.json()["token"])


async def test_no_way_of_adding_to_the_audit_trail_keeps_a_secret(
    daemon: Daemon, client: httpx2.AsyncClient
) -> None:
    told = {"known": f"a {KEY}", "shaped": [SHAPED], SHAPED: 1, "password": "hunter2", "kept": "words"}
    plain = {"created_at": 1, "event": "test.row", "actor": "test", "data": told}

    def add(uow: UnitOfWork) -> None:
        uow.audit.add(AuditEvent(**plain))
        uow.audit.add_many([AuditEvent(**plain)])
        uow.audit.insert(**plain)
        uow.audit.insert_many([plain])
        uow.audit.append([plain])

    await daemon.services.storage.write(add)
    seen = await texts(client, "/audit?event=test.row&limit=100")
    assert "".join(seen.values()).count("words") == 5
    clean(seen, KEY, SHAPED, "hunter2")
