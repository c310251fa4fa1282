"""Language servers in the audit trail: spawned, crashed and stopped, found through GET /audit."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.driver.daemon import PROJECT_YAML
from tests.driver.daemon_process import WAIT_SECONDS

HOSTILE = Path(__file__).parents[1] / "fakes" / "hostile_language_server.py"


@pytest.fixture
async def session(client: httpx2.AsyncClient, session_id: str, tmp_path: Path) -> tuple[str, str]:
    """The ids of a project with a server that crashes once, and of a session in it."""
    shop = tmp_path / "shop"
    log = tmp_path / "server.log"
    hover = "textDocument/hover"
    command = [sys.executable, str(HOSTILE), "--log", str(log), "--crash-at", hover, "--crash-times", "1"]
    servers = [{"lang": "hostile", "command": command, "extensions": [".hostile"]}]
    (shop / ".kaged" / "project.yaml").write_text(
        f"{PROJECT_YAML}    code.lsp: {{enabled: true}}\nlsp: {orjson.dumps({'servers': servers}).decode()}\n"
    )
    (shop / "one.hostile").write_text("word bad\n")
    loaded = await client.post("/api/v1/projects/load", json={"path": str(shop)})
    assert loaded.status_code in {200, 201}, loaded.text
    project: str = loaded.json()["id"]
    made = await client.post("/api/v1/sessions", json={"project_id": project})
    assert made.status_code == 201, made.text
    return project, made.json()["id"]


async def lsp(client: httpx2.AsyncClient, session: str, **params: Any) -> Any:
    answer = await client.post(
        f"/api/v1/sessions/{session}/tools/code.lsp", json={"params": params, "agent_path": "primary"}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


async def rows(client: httpx2.AsyncClient, event: str, count: int) -> list[dict[str, Any]]:
    """Return the events once there are so many: nobody waits for their being stored."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            wanted = {"limit": 100, "event": f"code.lsp.server_{event}"}
            answer = await client.get("/api/v1/audit", params=wanted)
            assert answer.status_code == 200, answer.text
            found: list[dict[str, Any]] = answer.json()["items"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.audit.events")
async def test_the_life_of_a_language_server_is_in_the_audit_trail(
    client: httpx2.AsyncClient, session: tuple[str, str]
) -> None:
    project, its_session = session
    answer = await lsp(client, its_session, action="hover", path="one.hostile", line=1, character=1)
    assert answer["type"] == "output", answer
    spawned, crashed = await rows(client, "spawned", 2), await rows(client, "crashed", 1)
    assert len(spawned) == 2 and len(crashed) == 1
    assert all(one["project_id"] == project for one in (*spawned, *crashed))
    assert spawned[0]["data"]["language"] == "hostile" and spawned[0]["data"]["project_id"] == project
    assert spawned[0]["data"]["command"][1] == str(HOSTILE)
    assert crashed[0]["data"] == {
        "project_id": project, "language": "hostile", "exit_code": 3, "restart_count": 0,
    }  # fmt: skip
    await lsp(client, its_session, action="reload", path="one.hostile")
    [stopped] = await rows(client, "stopped", 1)
    assert stopped["data"] == {"project_id": project, "language": "hostile", "reason": "reload"}
    by_project = await client.get("/api/v1/audit", params={"project_id": project, "limit": 100})
    events = [one["event"] for one in by_project.json()["items"]]
    assert len([event for event in events if event.startswith("code.lsp.server_")]) == 4
