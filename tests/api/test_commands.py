"""Operators see, read and stop what agents left running."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML, Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

pytestmark = pytest.mark.requirement("shell.background")


@pytest.fixture
async def session(client: httpx2.AsyncClient, session_id: str, tmp_path: Path) -> str:
    """The path of a session whose agent has the shell tools."""
    file = tmp_path / "shop" / ".kaged" / "project.yaml"
    file.write_text(PROJECT_YAML + "    shell.*: { enabled: true }\n")
    answer = await client.post("/api/v1/projects/load", json={"path": str(tmp_path / "shop")})
    created = await client.post(
        "/api/v1/sessions", json={"project_id": answer.json()["id"], "title": "Shell"}
    )
    assert created.status_code == 201, created.text
    return f"/api/v1/sessions/{created.json()['id']}"


async def run(client: httpx2.AsyncClient, session: str, command: str) -> dict[str, Any]:
    answer = await client.post(f"{session}/tools/shell.bash", json={"params": {"command": command}})
    envelope: dict[str, Any] = answer.json()
    assert envelope["type"] == "output", envelope
    data: dict[str, Any] = envelope["data"]
    return data


async def said(client: httpx2.AsyncClient, path: str, output: str) -> None:
    """Wait until a command has said `output`: what goes on in the background may have yet to begin."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (await client.get(path)).json()["output"] != output:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def ended(pid: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110  (a real process)
            await asyncio.sleep(0.01)


async def test_a_background_command_is_listed_shown_and_stopped(
    client: httpx2.AsyncClient, session: str
) -> None:
    command = "(echo up; sleep 600) &"
    (entry,) = (await run(client, session, command))["background"]
    (listed,) = (await client.get(f"{session}/commands")).json()["items"]
    assert listed.pop("started_at")
    assert listed == {
        "id": entry["id"],
        "agent_path": "primary",
        "command": command,
        "cwd": ".",
        "state": "background",
        "pid": entry["pid"],
        "exit_code": 0,
        "timed_out": False,
        "ended_at": None,
    }
    path = f"{session}/commands/{entry['id']}"
    await said(client, path, "up\n")

    stopped = await client.delete(path)
    assert stopped.status_code == 200
    assert (stopped.json()["state"], stopped.json()["pid"]) == ("ended", None)
    assert not Path(f"/proc/{entry['pid']}").exists()
    assert (await client.get(path)).json()["output"] == "up\n"
    audit = (await client.get("/api/v1/audit", params={"event": "operator.stop_command"})).json()
    assert audit["items"][0]["data"]["command_id"] == entry["id"]


async def test_a_command_that_still_runs_can_be_stopped(client: httpx2.AsyncClient, session: str) -> None:
    call = asyncio.create_task(run(client, session, "echo working; sleep 600"))
    async with asyncio.timeout(WAIT_SECONDS):
        while not (listed := (await client.get(f"{session}/commands")).json()["items"]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert listed[0]["state"] == "running"
    await client.delete(f"{session}/commands/{listed[0]['id']}")
    assert (await call)["exit_code"] in {137, 143}
    assert (await client.get(f"{session}/commands")).json()["items"] == []


async def test_what_is_not_there_is_not_found(client: httpx2.AsyncClient, session: str) -> None:
    assert (await client.get("/api/v1/sessions/ses_none/commands")).status_code == 404
    for method in ("GET", "DELETE"):
        answer = await client.request(method, f"{session}/commands/cmd_none")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("way", ["archive", "delete"])
async def test_commands_end_with_their_session(client: httpx2.AsyncClient, session: str, way: str) -> None:
    (entry,) = (await run(client, session, "setsid sleep 600 &"))["background"]
    if way == "archive":
        await client.post(f"{session}/archive")
    else:
        await client.delete(session)
    await ended(entry["pid"])


async def test_commands_end_with_the_daemon(tmp_path: Path, model_settings: dict[str, Any]) -> None:
    root = tmp_path / "shop"
    (root / ".kaged").mkdir(parents=True)
    (root / "prompts").mkdir()
    (root / "prompts" / "primary.md").write_text("You keep the shop.\n")
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML + "    shell.*: { enabled: true }\n")
    async with running_daemon(tmp_path / "data", **model_settings) as daemon, daemon.client() as client:
        session = await _session(daemon, client, root)
        (entry,) = (await run(client, session, "setsid sleep 600 &"))["background"]
    assert not Path(f"/proc/{entry['pid']}").exists()


async def _session(daemon: Daemon, client: httpx2.AsyncClient, root: Path) -> str:
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()["id"]
    created = await client.post("/api/v1/sessions", json={"project_id": project})
    return f"/api/v1/sessions/{created.json()['id']}"


async def test_the_number_of_commands_is_a_setting(tmp_path: Path, model_settings: dict[str, Any]) -> None:
    settings = model_settings | {"limits": {"ptys_per_session": 1}}
    async with running_daemon(tmp_path / "data", **settings) as daemon:
        assert daemon.services.machine.terminals.per_session == 1
