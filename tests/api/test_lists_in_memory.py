"""Lists that are read whole have the shape of every other list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import write_project

pytestmark = pytest.mark.requirement("operations.lists")


WORKFLOW = """\
  {}:
    description: Keep the shop.
    system_prompt: ./prompts/primary.md
"""


@pytest.fixture
def model_settings(model_settings: dict[str, Any]) -> dict[str, Any]:
    models = {**model_settings["models"], "other": ["fake:model-b"], "another": ["fake:model-c"]}
    return {**model_settings, "models": models}


@pytest.fixture
async def project_id(client: httpx2.AsyncClient, tmp_path: Path) -> str:
    """The id of a loaded project with workflows, beside access tokens."""
    root = write_project(tmp_path / "shop")
    with (root / ".kaged" / "project.yaml").open("a") as file:
        file.write("workflows:\n" + "".join(map(WORKFLOW.format, ("sweep", "open", "close"))))
    for number in range(4):
        made = await client.post("/api/v1/tokens", json={"name": f"token{number}"})
        assert made.status_code == 201, made.text
    answer = await client.post("/api/v1/projects/load", json={"path": str(root)})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def pages(client: httpx2.AsyncClient, path: str, limit: int) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        after = {} if cursor is None else {"cursor": cursor}
        answer = await client.get(f"/api/v1{path}", params={"limit": limit, **after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert set(page) == {"items", "next_cursor", "total"}
        assert 1 <= len(page["items"]) <= limit
        found.append(page)
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def addresses(project_id: str) -> dict[str, str]:
    return {
        "/tools": "name",
        "/models": "alias",
        "/providers": "name",
        "/tokens": "id",
        f"/projects/{project_id}/agents/primary/tools": "name",
        f"/projects/{project_id}/workflows": "name",
    }


async def test_lists_are_read_page_by_page_with_each_item_once(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    for path, name in addresses(project_id).items():
        (whole,) = await pages(client, path, 100)
        names = [item[name] for item in whole["items"]]
        by_two = await pages(client, path, 2)
        assert names == sorted(set(names)) and whole["total"] == len(names) > (path != "/providers")
        assert [item for page in by_two for item in page["items"]] == whole["items"]
        assert {page["total"] for page in by_two} == {len(names)}


async def test_a_cursor_of_another_list_or_a_limit_out_of_bounds_is_refused(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    (first, *_rest) = await pages(client, "/models", 1)
    assert first["next_cursor"]
    for path in addresses(project_id):
        if path != "/models":
            strange = await client.get(f"/api/v1{path}", params={"cursor": first["next_cursor"]})
            assert strange.status_code == 400, path
            assert "cursor" in strange.json()["error"]["details"]["fields"]
        for limit in (0, 101):
            refused = await client.get(f"/api/v1{path}", params={"limit": limit})
            assert refused.status_code == 400, path


async def test_without_a_limit_a_page_has_twenty_five_items(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/api/v1/tools")).json()
    assert len(page["items"]) == min(25, page["total"])
    assert (page["next_cursor"] is None) == (page["total"] <= 25)
