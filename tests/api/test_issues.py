"""Issues over REST, on a real daemon with each database in turn: every route and every error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import Daemon, running_daemon


@pytest.fixture
async def daemon(
    storage_url: str | None, tmp_path: Path, model_settings: dict[str, Any]
) -> AsyncIterator[Daemon]:
    """A daemon on each database in turn."""
    storage = {} if storage_url is None else {"storage": {"url": storage_url}}
    async with running_daemon(tmp_path / "data", **model_settings, **storage) as running:
        yield running


class Issues:
    """The issues of one project, by a client that expects what it says."""

    def __init__(self, client: httpx2.AsyncClient, project_id: str) -> None:
        self.client = client
        self.base = f"/api/v1/projects/{project_id}/issues"

    async def call(self, method: str, path: str, expected: int, body: Any = None, **options: Any) -> Any:
        answer = await self.client.request(method, self.base + path, json=body, **options)
        assert answer.status_code == expected, answer.text
        return answer.json() if answer.content else None

    async def file(self, title: str = "Add dark mode", body: str = "It is too bright.") -> dict[str, Any]:
        filed: dict[str, Any] = await self.call("POST", "", 201, {"title": title, "body": body})
        return filed

    async def get(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = await self.call("GET", f"/{number}", 200)
        return found

    async def move(self, number: int, to: str, comment: str | None = None, expected: int = 200) -> Any:
        return await self.call("POST", f"/{number}/transition", expected, {"to": to, "comment": comment})


@pytest.fixture
def issues(client: httpx2.AsyncClient, project_id: str) -> Issues:
    return Issues(client, project_id)


@pytest.mark.requirement("issues.rest")
async def test_numbers_go_on_when_the_project_is_loaded_again(issues: Issues, project_id: str) -> None:
    first = await issues.file()
    root = (await issues.client.get(f"/api/v1/projects/{project_id}")).json()["root"]
    again = await issues.client.post("/api/v1/projects/load", json={"path": root})
    assert again.status_code == 200, again.text
    assert (await issues.file())["number"] == first["number"] + 1


@pytest.mark.requirement("issues.rest")
async def test_an_issue_is_filed_and_shown(issues: Issues) -> None:
    filed = await issues.file()
    assert (filed["number"], filed["status"], filed["assignment"]) == (1, "open", None)
    assert filed["created_by"].startswith("operator:")
    shown = await issues.get(1)
    assert shown["body"] == "It is too bright." and shown["original_body"] is None
    assert shown["updates"] == shown["links"] == shown["attachments"] == []
    assert shown["todo_counts"]["total"] == 0
    assert shown["legal_transitions"] == ["triaged", "assigned", "in_progress", "rejected"]


@pytest.mark.requirement("issues.writers")
async def test_fifty_writers_at_once_leave_no_hole(issues: Issues) -> None:
    filed = await asyncio.gather(*(issues.file(f"Issue of writer {n}") for n in range(50)))
    assert sorted(issue["number"] for issue in filed) == list(range(1, 51))
    again = await issues.file("One more")
    assert again["number"] == 51
