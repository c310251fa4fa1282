"""The access log: what a record says of requests and WebSockets, and what it never says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.ids import is_id
from app.observability import event_of
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon, write_project

SECRET = "correct-horse-battery-staple"
SETTINGS: dict[str, Any] = {"daemon": {"access_log": True}, "models": {"main": ["ollama:small"]}}
Entry = dict[str, Any]


@pytest.fixture
async def daemon(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Daemon]:
    caplog.set_level(logging.DEBUG)
    async with running_daemon(tmp_path / "data", **SETTINGS) as running:
        yield running


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[httpx2.AsyncClient]:
    async with daemon.client() as client:
        yield client


def entries(caplog: pytest.LogCaptureFixture, *events: str) -> list[Entry]:
    """Return the records of the access log, the oldest first."""
    found = []
    for record in caplog.records:
        if record.name == "kaged.access":
            event, fields = event_of(record)
            found.append({"event": event, "severity": record.levelno, **fields})
    return [entry for entry in found if not events or entry["event"] in events]


async def until_closed(caplog: pytest.LogCaptureFixture) -> Entry:
    """Wait for the end of a WebSocket, which the daemon may see after its client."""
    async with asyncio.timeout(15):
        while True:
            if found := entries(caplog, "websocket.closed"):
                return found[0]
            await asyncio.sleep(0.01)


async def new_session(client: httpx2.AsyncClient, tmp_path: Path) -> str:
    root = write_project(tmp_path / "shop")
    loaded = await client.post("/api/v1/projects/load", json={"path": str(root)})
    made = await client.post("/api/v1/sessions", json={"project_id": loaded.json()["id"]})
    session_id: str = made.json()["id"]
    return session_id


@pytest.mark.requirement("observability.access_log")
async def test_a_request_is_one_record_with_the_template_of_its_route(
    client: httpx2.AsyncClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = await new_session(client, tmp_path)
    caplog.clear()
    answer = await client.get(f"/api/v1/sessions/{session_id}", headers={"x-request-id": "edge-7"})
    (entry,) = entries(caplog)
    assert entry.pop("duration_ms") > 0
    assert entry == {
        "event": "http.request",
        "severity": logging.INFO,
        "method": "GET",
        "route": "/api/v1/sessions/{session_id}",
        "session_id": session_id,
        "status": 200,
        "bytes": len(answer.content),
        "request_id": "edge-7",
        "actor": "operator",
        "client": "127.0.0.1",
    }
    assert answer.headers["x-request-id"] == "edge-7"


@pytest.mark.requirement("observability.access_log")
async def test_a_refused_request_is_a_record_without_an_actor(
    daemon: Daemon, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async with daemon.client("") as anonymous:
        answer = await anonymous.delete("/api/v1/sessions/ses_unknown")
    absent = await client.get("/api/v1/no/such%1b[31m/place")
    method = await client.put("/api/v1/projects")
    refused, nowhere, wrong = entries(caplog)
    assert (answer.status_code, refused["status"], refused["actor"]) == (401, 401, None)
    assert refused["route"] == "/api/v1/sessions/{session_id}"
    assert "session_id" not in refused, "a made-up id is not an id"
    assert is_id(refused["request_id"], "req")
    assert refused["request_id"] == answer.json()["error"]["request_id"]
    assert (absent.status_code, nowhere["status"], nowhere["route"]) == (404, 404, None)
    assert nowhere["path"] == "/api/v1/no/such\ufffd[31m/place"
    assert (method.status_code, wrong["status"], wrong["route"]) == (405, 405, "/api/v1/projects")


@pytest.mark.requirement("observability.access_log")
async def test_secrets_of_a_request_are_not_in_its_record(
    daemon: Daemon, client: httpx2.AsyncClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = await new_session(client, tmp_path)
    caplog.clear()
    async with daemon.client("") as browser:
        await browser.get(f"/launch?token={SECRET}")
        await browser.get(f"/api/v1/sessions?text={SECRET}", headers={"authorization": f"Bearer {SECRET}"})
        await browser.get("/api/v1/nowhere", params={"key": SECRET}, headers={"cookie": f"kaged={SECRET}"})
    await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": SECRET})
    async with daemon.websocket(f"/ws?key={SECRET}", token=SECRET) as socket:
        await close_code(socket)
    await until_closed(caplog)
    assert [entry["route"] for entry in entries(caplog, "http.request")] == [
        "/launch",
        "/api/v1/sessions",
        None,
        "/api/v1/sessions/{session_id}/messages",
    ]
    text = repr(entries(caplog))
    assert SECRET not in text
    assert daemon.token not in text


@pytest.mark.requirement("observability.access_log")
async def test_a_websocket_is_a_record_when_it_opens_and_one_when_it_closes(
    daemon: Daemon, client: httpx2.AsyncClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = await new_session(client, tmp_path)
    caplog.clear()
    sent = {"x-request-id": "edge-8"}
    async with daemon.websocket(f"/sessions/{session_id}/ws", additional_headers=sent) as socket:
        assert socket.response is not None
        assert socket.response.headers["x-request-id"] == "edge-8"
        await next_frame(socket, "sync")
        await socket.send('{"type": "ping"}')
        await next_frame(socket, "pong")
        (opened,) = entries(caplog)
    closed = await until_closed(caplog)
    common = {
        "route": "/api/v1/sessions/{session_id}/ws",
        "session_id": session_id,
        "request_id": "edge-8",
        "actor": "operator",
        "client": "127.0.0.1",
    }
    assert opened == {"event": "websocket.opened", "severity": logging.INFO, **common}
    assert closed.items() >= {**common, "code": 1000, "frames_received": 1}.items()
    assert closed["frames_sent"] >= 2
    assert closed["duration_ms"] > 0


@pytest.mark.requirement("observability.access_log")
async def test_a_websocket_that_is_refused_has_the_code_in_its_record(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    async with daemon.websocket("/sessions/ses_unknown/ws", token="") as socket:
        assert await close_code(socket) == 4401
    closed = await until_closed(caplog)
    assert (closed["code"], closed["actor"]) == (4401, None)
    assert closed["route"] == "/api/v1/sessions/{session_id}/ws"


@pytest.mark.requirement("observability.access_log")
async def test_what_monitors_ask_is_quiet_unless_it_fails(
    daemon: Daemon, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    await client.get("/healthz")
    await client.get("/readyz")
    await client.get("/api/v1/metrics")
    async with daemon.client("") as anonymous:
        await anonymous.get("/api/v1/metrics")
    levels = [(entry["route"], entry["severity"]) for entry in entries(caplog)]
    assert levels == [
        ("/healthz", logging.DEBUG),
        ("/readyz", logging.DEBUG),
        ("/api/v1/metrics", logging.DEBUG),
        ("/api/v1/metrics", logging.INFO),
    ]


@pytest.mark.requirement("observability.access_log")
async def test_the_record_is_found_by_the_session_and_by_the_request_id(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    session_id = await new_session(client, tmp_path)
    await client.get(f"/api/v1/sessions/{session_id}", headers={"x-request-id": "edge-9"})
    query = {"event": "http.request", "session_id": session_id, "text": "edge-9"}
    async with asyncio.timeout(15):
        while True:
            if found := (await client.get("/api/v1/logs", params=query)).json()["items"]:
                break
            await asyncio.sleep(0.05)
    (entry,) = found
    assert (entry["logger"], entry["session_id"]) == ("kaged.access", session_id)
    assert entry["fields"]["route"] == "/api/v1/sessions/{session_id}"


@pytest.mark.requirement("observability.access_log")
async def test_without_the_setting_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running_daemon(tmp_path / "data") as daemon, daemon.client() as client:
        await client.get("/api/v1/projects")
    assert entries(caplog) == []
