"""One message by its address, and what a session may set in place of its project's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML, Daemon, next_frame, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider


@pytest.mark.requirement("loop.messages", "http.resources")
async def test_a_result_too_large_for_a_frame_is_whole_at_the_address_that_the_frame_names(
    daemon: Daemon, client: httpx2.AsyncClient, model: FakeProvider, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    more = PROJECT_YAML.replace(
        "file.read: { enabled: true }", "file.read: { enabled: true, limits: { max_output_bytes: 250000 } }"
    )
    (root / ".kaged" / "project.yaml").write_text(more)
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()
    session_id = (await client.post("/api/v1/sessions", json={"project_id": project["id"]})).json()["id"]
    lines = [f"line {number}: {'ü' * 60}" for number in range(1, 1_200)]
    (tmp_path / "shop" / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    model.script(Reply((ToolCall("file_read", {"path": "long.txt"}),)), text_reply("Long."))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Read it"})
        result = (await next_frame(socket, "message.tool_result"))["payload"]
        await next_frame(socket, "run.ended")
    assert len(result["content"].encode()) <= 64 * 1024
    whole = await client.get(result["contentRef"])
    assert whole.status_code == 200, whole.text
    message = whole.json()
    assert message["role"] == "tool"
    assert message["content"].startswith(result["content"])
    assert lines[-1] in message["content"]
    assert message["content"] == model.requests[1].json["messages"][-1]["content"]  # what the model read


async def test_a_message_is_found_only_in_its_own_session(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("Yes."))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        posted = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Hello?"})
        await next_frame(socket, "run.ended")
    message_id = posted.json()["message"]["id"]
    other = (await client.post("/api/v1/sessions", json={"project_id": project_id})).json()["id"]
    found = await client.get(f"/api/v1/sessions/{session_id}/messages/{message_id}")
    assert found.json() == posted.json()["message"]
    for path in (f"{other}/messages/{message_id}", f"{session_id}/messages/msg_nothing"):
        missing = await client.get(f"/api/v1/sessions/{path}")
        assert missing.status_code == 404
        assert missing.json()["error"]["code"] == "not_found"


@pytest.mark.requirement("loop.stops", "http.sessions")
async def test_the_overrides_of_a_session_take_effect(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, model: FakeProvider
) -> None:
    overrides = {"model": "fake:model-b", "max_steps": 1, "max_output_tokens": 77}
    created = await client.post("/api/v1/sessions", json={"project_id": project_id, "overrides": overrides})
    assert created.json()["overrides"] == overrides
    session = created.json()["id"]
    model.script(Reply((ToolCall("file_read", {"path": "README.md"}),)))
    async with daemon.websocket(f"/sessions/{session}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session}/messages", json={"content": "Go"})
        ended = (await next_frame(socket, "run.ended"))["payload"]
    assert (ended["state"], ended["reason"], ended["steps"]) == ("succeeded", "max_steps", 1)
    sent = model.requests[0].json
    assert sent["model"] == "model-b"
    assert 77 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"modell": "main"}, "overrides.modell"),
        ({"max_steps": 0}, "overrides.max_steps"),
        ({"max_output_tokens": "many"}, "overrides.max_output_tokens"),
        ({"primary": {"model": "main"}}, "overrides.primary"),
    ],
)
async def test_an_override_that_would_have_no_effect_is_refused_by_name(
    client: httpx2.AsyncClient, project_id: str, overrides: dict[str, Any], field: str
) -> None:
    answer = await client.post("/api/v1/sessions", json={"project_id": project_id, "overrides": overrides})
    assert answer.status_code == 400
    assert field in answer.json()["error"]["details"]["fields"]
