"""Tool calls in the audit trail: what is noted, and how it is found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML

CAGED = """  subagents:
    worker:
      model: main
      system_prompt: ./prompts/primary.md
      description: Works
      cage: {fs: [{mode: ro, path: ./src}]}
      tools: {"file.*": {enabled: true}, "edit.*": {enabled: true}}
"""


@pytest.fixture
async def session(client: httpx2.AsyncClient, session_id: str, tmp_path: Path) -> str:
    """The id of a session whose root agent has a caged child."""
    shop = tmp_path / "shop"
    (shop / ".kaged" / "project.yaml").write_text(
        PROJECT_YAML + "    file.create: {enabled: true}\n    edit.text: {enabled: true}\n" + CAGED
    )
    (shop / "src").mkdir(exist_ok=True)
    (shop / "src" / "a.txt").write_text("old text\n")
    loaded = await client.post("/api/v1/projects/load", json={"path": str(shop)})
    assert loaded.status_code in {200, 201}, loaded.text
    made = await client.post("/api/v1/sessions", json={"project_id": loaded.json()["id"]})
    assert made.status_code == 201, made.text
    found: str = made.json()["id"]
    return found


async def call(client: httpx2.AsyncClient, session: str, tool: str, agent: str, **params: Any) -> Any:
    answer = await client.post(
        f"/api/v1/sessions/{session}/tools/{tool}", json={"params": params, "agent_path": agent}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


async def rows(client: httpx2.AsyncClient, **filters: Any) -> list[dict[str, Any]]:
    answer = await client.get("/api/v1/audit", params={"limit": 100, **filters})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


@pytest.mark.requirement("audit.called", "audit.files", "audit.query")
async def test_calls_denials_and_changes_of_files_are_found_by_filters(
    client: httpx2.AsyncClient, session: str
) -> None:
    worker = "primary.subagents.worker"
    await call(client, session, "file.read", "primary", path="src/a.txt")
    await call(client, session, "edit.text", "primary", path="src/a.txt", old_string="old", new_string="new")
    await call(client, session, "file.create", "primary", path="src/b.txt", content="sk-" + "x" * 40)
    await call(client, session, "file.write", "primary", path="src/b.txt", content="y" * 5_000)
    denied = await call(client, session, "file.create", worker, path="src/c.txt", content="z")
    assert denied["code"] == "capability_denied"

    called = await rows(client, event="tool.called", session_id=session)
    assert [row["data"]["tool_name"] for row in reversed(called)] == [
        "file.read", "edit.text", "file.create", "file.write", "file.create",
    ]  # fmt: skip
    for row in called:
        assert {"caller", "session_id", "run_id", "request_id", "params"} <= row["data"].keys()
    assert called[1]["data"]["params"]["content"]["characters"] == 5_000
    completed = await rows(client, event="tool.completed", session_id=session)
    assert [row["data"]["success"] for row in reversed(completed)] == [True, True, True, True, False]
    assert {row["data"]["request_id"] for row in completed} == {row["data"]["request_id"] for row in called}

    (refusal,) = await rows(client, event="tool.denied")
    assert (refusal["agent_path"], refusal["session_id"]) == (worker, session)
    assert refusal["data"]["denied_capability"] == "fs rw on src/c.txt"
    assert refusal["data"]["cage_summary"].startswith("fs: [ro src]")
    assert refusal["data"]["caller"] == worker

    changed = await rows(client, event="file.*", session_id=session)
    assert [row["event"] for row in reversed(changed)] == ["file.edited", "file.written", "file.written"]
    assert [row["data"]["path"] for row in reversed(changed)] == ["src/a.txt", "src/b.txt", "src/b.txt"]

    assert await rows(client, event="tool.*", session_id="ses_nothing") == []
    assert await rows(client, event="tool.*", until="2020-01-01T00:00:00Z") == []
    assert len(await rows(client, event="tool.denied", since="2020-01-01T00:00:00Z")) == 1


@pytest.mark.requirement("audit.query")
async def test_nothing_of_the_interface_changes_the_trail(client: httpx2.AsyncClient, session: str) -> None:
    await call(client, session, "file.read", "primary", path="src/a.txt")
    before = await rows(client, event="tool.*")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/api/v1/audit", f"/api/v1/audit/{before[0]['id']}"):
            answer = await client.request(method, path, json={})
            assert answer.status_code in {404, 405}
    assert await rows(client, event="tool.*") == before
