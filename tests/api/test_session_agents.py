"""The agents of a session, each with what it may reach."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.driver.family import agent, write_family

pytestmark = pytest.mark.requirement("delegation.shown")

CAGE = {
    "fs": [
        {"mode": "rw", "path": "./src/"},
        {"mode": "ro", "path": "{workspace}"},
        {"mode": "deny", "path": "x"},
    ],
    "net": {"allow": ["pypi.org:443"]},
    "capabilities": ["shell"],
    "env": {"API_TOKEN": "not-to-be-shown"},
    "limits": {"walltime_seconds": 60},
}


async def test_each_agent_is_listed_with_its_cage_and_without_its_variables(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    inner = agent("inner", cage={"fs": [{"mode": "ro", "path": "src"}]})
    root = write_family(
        tmp_path / "family",
        agent("primary", subagents={"caged": agent("caged", cage=CAGE, subagents={"inner": inner})}),
    )
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()
    trust = {"digest": project["trust"]["digest"]}
    await client.post(f"/api/v1/projects/{project['id']}/trust", json=trust)
    made = (await client.post("/api/v1/sessions", json={"project_id": project["id"]})).json()
    answer = await client.get(f"/api/v1/sessions/{made['id']}/agents")
    assert answer.status_code == 200, answer.text
    free, caged, below = answer.json()["items"]
    assert (free["path"], free["cage"]) == ("primary", None)
    assert caged["path"] == "primary.subagents.caged"
    assert caged["cage"] == {
        "files": [
            {"path": "src", "mode": "rw"},
            {"path": ".", "mode": "ro"},
            {"path": "x", "mode": "deny"},
        ],
        "hosts": ["pypi.org:443"],
        "capabilities": ["shell"],
        "unix_sockets": False,
        "keeps_state": False,
        "seconds": 60,
        "memory_mb": None,
    }
    assert below["path"] == "primary.subagents.caged.subagents.inner"
    assert (below["cage"]["hosts"], below["cage"]["capabilities"]) == ([], [])
    assert "not-to-be-shown" not in answer.text

    missing = await client.get("/api/v1/sessions/ses_01JZ0000000000000000000000/agents")
    assert missing.status_code == 404
