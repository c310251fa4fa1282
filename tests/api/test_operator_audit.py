"""What operators do leaves a row in the audit trail, with who did it; what they say does not."""

from __future__ import annotations

import httpx2
import orjson
import pytest

from tests.driver.daemon import Daemon, next_frame
from tests.fakes.provider_script import Reply, Stall, Text
from tests.fakes.provider_server import FakeProvider


async def _operations(client: httpx2.AsyncClient) -> list[dict[str, object]]:
    answer = await client.get("/api/v1/audit", params={"event": "operator.*", "limit": 100})
    assert answer.status_code == 200, answer.text
    return list(reversed(answer.json()["items"]))


@pytest.mark.requirement("http.resources", "durability.audited_project")
async def test_every_change_by_an_operator_is_noted_with_the_one_who_made_it(
    client: httpx2.AsyncClient, session_id: str, project_id: str
) -> None:
    await client.patch(f"/api/v1/sessions/{session_id}", json={"title": "Another"})
    made = await client.post("/api/v1/tokens", json={"name": "script"})
    await client.delete(f"/api/v1/tokens/{made.json()['id']}")
    refused = await client.post(f"/api/v1/sessions/{session_id}/cancel")
    await client.delete(f"/api/v1/sessions/{session_id}")

    rows = await _operations(client)
    assert refused.status_code == 409
    assert [row["event"] for row in rows] == [
        "operator.load_project",
        "operator.create_session",
        "operator.update_session",
        "operator.create_token",
        "operator.revoke_token",
        "operator.delete_session",
    ]
    assert {row["actor"] for row in rows} == {"operator"}
    assert [row["session_id"] for row in rows[1:3]] == [session_id, session_id]
    assert [row["project_id"] for row in rows] == [project_id] * 3 + [None, None, project_id]
    assert all(str(row["request_id"]).startswith("req_") for row in rows)
    assert made.json()["token"] not in orjson.dumps(rows).decode()


@pytest.mark.requirement("http.runs")
async def test_a_cancel_over_rest_and_over_the_socket_is_noted(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    for way in ("rest", "socket"):
        model.script(Reply((Text("One moment"), Stall())))
        async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
            await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go"})
            await next_frame(socket, "message.delta")
            if way == "rest":
                await client.post(f"/api/v1/sessions/{session_id}/cancel")
            else:
                await socket.send('{"type": "cancel"}')
            await next_frame(socket, "run.ended")
            # The row is written after the run has ended; what a socket says is done in its order.
            await socket.send('{"type": "ping"}')
            await next_frame(socket, "pong")

    noted = [row for row in await _operations(client) if row["event"] == "operator.cancel_session"]
    assert [(row["session_id"], row["data"].get("by")) for row in noted] == [  # type: ignore[attr-defined]
        (session_id, None),
        (session_id, "websocket"),
    ]
