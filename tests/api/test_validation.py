"""A text is checked as a project file: alone, or as that of a loaded project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML

pytestmark = pytest.mark.requirement("durability.nested_projects")

NESTED_YAML = (
    PROJECT_YAML
    + """\
  subagents:
    tax: { path: ./tax, description: Counts. }
"""
)


async def validated(client: httpx2.AsyncClient, text: str, project_id: str | None = None) -> Any:
    query = f"?project_id={project_id}" if project_id is not None else ""
    headers = {"content-type": "application/yaml"}
    answer = await client.post(f"/api/v1/dsl/validate{query}", content=text.encode(), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(answer: Any) -> list[tuple[str, int]]:
    return [(one["code"], one["line"]) for one in answer["diagnostics"] if one["severity"] == "error"]


async def test_a_missing_nested_project_is_an_error_at_its_line(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    answer = await validated(client, NESTED_YAML, project_id)
    assert answer["valid"] is False
    assert codes(answer) == [
        (
            "nested_project_missing",
            NESTED_YAML.splitlines().index("    tax: { path: ./tax, description: Counts. }") + 1,
        )
    ]


async def test_a_nested_project_that_is_there_is_checked_with_its_prompts(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    nested = tmp_path / "shop" / "tax"
    (nested / ".kaged").mkdir(parents=True)
    (nested / ".kaged" / "project.yaml").write_text(PROJECT_YAML.replace("shop", "tax"))
    answer = await validated(client, NESTED_YAML, project_id)
    assert [one["code"] for one in answer["diagnostics"] if one["severity"] == "error"] == ["prompt_missing"]
    assert answer["diagnostics"][0]["file"].startswith("tax/") or answer["valid"] is False
    (nested / "prompts").mkdir()
    (nested / "prompts" / "primary.md").write_text("You count.\n")
    assert (await validated(client, NESTED_YAML, project_id))["valid"] is True


async def test_without_a_project_a_reference_is_not_called_valid(client: httpx2.AsyncClient) -> None:
    answer = await validated(client, NESTED_YAML)
    assert (answer["valid"], [code for code, _ in codes(answer)]) == (False, ["reference_unchecked"])
    assert "project_id" in answer["diagnostics"][0]["message"]
    assert (await validated(client, PROJECT_YAML))["valid"] is True


async def test_the_local_file_of_the_project_is_laid_over_the_text(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    (tmp_path / "shop" / ".kaged" / "project.local.yaml").write_text("primary: { modle: x }\n")
    answer = await validated(client, PROJECT_YAML, project_id)
    assert answer["valid"] is False
    assert answer["diagnostics"][0]["file"] == ".kaged/project.local.yaml"


async def test_a_project_that_is_not_loaded_is_said(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/v1/dsl/validate?project_id=prj_none", content=b"version: 1\n")
    assert answer.status_code == 404
