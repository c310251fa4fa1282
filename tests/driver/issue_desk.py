"""A desk for issues: a real daemon, a project with a session in it, and calls of `kaged.issue` as the
root agent makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.driver.daemon import Daemon, running_daemon, write_project

# Nothing listens there: no test of issues runs a model.
MODELS: dict[str, Any] = {
    "models": {"main": ["fake:model-a"]},
    "providers": {"fake": {"driver": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-test"}},
}


@dataclass
class IssueDesk:
    daemon: Daemon
    client: httpx2.AsyncClient
    project_id: str
    session_id: str

    async def rest(self, method: str, path: str = "", body: Any = None, **options: Any) -> httpx2.Response:
        """Call a route of the project's issues."""
        address = f"/api/v1/projects/{self.project_id}/issues{path}"
        return await self.client.request(method, address, json=body, **options)

    async def changed(self, method: str, path: str, body: Any, status: int = 200) -> Any:
        """Call such a route and expect a status; return the body of the answer."""
        answer = await self.rest(method, path, body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def file(self, title: str = "Add dark mode", body: str = "It is too bright.") -> int:
        """File an issue as an operator; return its number."""
        return int((await self.changed("POST", "", {"title": title, "body": body}, 201))["number"])

    async def move(self, number: int, to: str, comment: str | None = None) -> None:
        await self.changed("POST", f"/{number}/transition", {"to": to, "comment": comment})

    async def call(self, action: str, **params: Any) -> dict[str, Any]:
        """Call the tool; return the whole envelope.

        Not over REST, which refuses some texts before a tool sees them: a model's call does not."""
        sessions = self.daemon.services.sessions
        given = {"action": action, **params}
        return (await sessions.call_tool(self.session_id, "kaged.issue", given, actor="ada")).as_json()

    async def ok(self, action: str, **params: Any) -> dict[str, Any]:
        envelope = await self.call(action, **params)
        assert envelope["type"] == "output", envelope
        data: dict[str, Any] = envelope["data"]
        return data

    async def refused(self, code: str, action: str, **params: Any) -> dict[str, Any]:
        envelope = await self.call(action, **params)
        assert (envelope["type"], envelope.get("code")) == ("error", code), envelope
        return envelope

    async def shown(self, number: int) -> dict[str, Any]:
        """Return the issue as an operator sees it."""
        found: dict[str, Any] = await self.changed("GET", f"/{number}", None)
        return found


@asynccontextmanager
async def issue_desk(
    folder: Path, storage_url: str | None, project_yaml: str | None = None
) -> AsyncIterator[IssueDesk]:
    """Start a daemon with one project and one session; `project_yaml` is its file, if another than usual."""
    async with (
        issue_daemon(folder, storage_url) as daemon,
        project_desk(daemon, folder, project_yaml) as desk,
    ):
        yield desk


@asynccontextmanager
async def issue_daemon(folder: Path, storage_url: str | None) -> AsyncIterator[Daemon]:
    """Start a daemon without a project. It trusts those below `folder` and in the folders beside it."""
    settings: dict[str, Any] = {**MODELS, "projects": {"trusted": [str(folder.parent)]}}
    if storage_url is not None:
        settings["storage"] = {"url": storage_url}
    async with running_daemon(folder / "data", **settings) as daemon:
        yield daemon


@asynccontextmanager
async def project_desk(
    daemon: Daemon, folder: Path, project_yaml: str | None = None
) -> AsyncIterator[IssueDesk]:
    """Load a new project, whose issues begin with number 1, into a daemon and open a session in it."""
    root = write_project(folder / "shop")
    if project_yaml is not None:
        (root / ".kaged" / "project.yaml").write_text(project_yaml)
    async with daemon.client() as client:
        loaded = await client.post("/api/v1/projects/load", json={"path": str(root)})
        assert loaded.status_code == 200, loaded.text
        project_id = str(loaded.json()["id"])
        opened = await client.post("/api/v1/sessions", json={"project_id": project_id})
        yield IssueDesk(daemon, client, project_id, str(opened.json()["id"]))
