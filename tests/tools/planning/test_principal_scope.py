"""What is kept for the root agent: every case of the source's testing notes, by its name, with the tools
that there really are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.harness.dsl.compiler import CompileResult, compile_project
from tests.driver.issue_desk import IssueDesk, issue_desk
from tests.driver.sessions import write_project
from tests.driver.tool_registry import tool_registry

pytestmark = pytest.mark.requirement("scope")

HELPER = "primary.subagents.helper"
PROJECT_YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  subagents:
    helper:
      model: main
      description: Helps.
      system_prompt: project:/prompts/primary.md
      cage: disabled
"""
ROOT_ONLY = (
    *("kaged.issue", "kaged.todo", "kaged.ask", "kaged.form", "kaged.plan"),
    *("kaged.workflow.list", "kaged.workflow.trigger", "kaged.workflow.status"),
)


@pytest.fixture
async def desk(tmp_path: Path) -> Any:
    async with issue_desk(tmp_path, None, PROJECT_YAML) as made:
        yield made


def compiled(folder: Path, helpers_tools: str = "") -> CompileResult:
    root = write_project(folder / "shop", PROJECT_YAML + helpers_tools)
    return compile_project(root, catalog=tool_registry())


async def call_as(desk: IssueDesk, agent_path: str, name: str, params: dict[str, Any]) -> Any:
    body = {"params": params, "agent_path": agent_path}
    answer = await desk.client.post(f"/api/v1/sessions/{desk.session_id}/tools/{name}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_root_agent_calls_issue_list(desk: IssueDesk) -> None:
    await desk.file("Add dark mode")
    envelope = await call_as(desk, "primary", "kaged.issue", {"action": "list"})
    assert [one["title"] for one in envelope["data"]["issues"]] == ["Add dark mode"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("kaged.issue", {"action": "list"}),
        ("kaged.issue", {"action": "create", "title": "Mine", "body": "Mine."}),
        ("kaged.issue.list", {}),
        ("kaged.todo", {"action": "add", "items": ["Mine"]}),
        ("kaged.workflow.trigger", {"name": "deploy", "inputs": {}}),
    ],
)
async def test_non_root_agent_calls_issue_list(desk: IssueDesk, name: str, params: dict[str, Any]) -> None:
    envelope = await call_as(desk, HELPER, name, params)
    # An action is no tool of its own, whoever calls it.
    expected = "tool_not_found" if name == "kaged.issue.list" else "principal_scope_violation"
    assert (envelope["type"], envelope["code"]) == ("error", expected)
    assert (await desk.rest("GET")).json()["total"] == 0


@pytest.mark.parametrize("tool", [*ROOT_ONLY, "kaged.issue.create"])
def test_dsl_with_issue_create_or_workflow_trigger_on_subagent(tmp_path: Path, tool: str) -> None:
    result = compiled(tmp_path, f'      tools: {{ "{tool}": {{ enabled: true }} }}\n')
    assert result.project is None
    assert [one.code for one in result.diagnostics] == ["principal_scope"]


def test_per_agent_resolution_root_agent_without_override(tmp_path: Path) -> None:
    enabled = compiled(tmp_path).require().root.enabled_tools()
    assert set(ROOT_ONLY) <= set(enabled)


def test_per_agent_resolution_subagent_without_override(tmp_path: Path) -> None:
    helper = compiled(tmp_path).require().root.children["helper"]
    assert list(helper.enabled_tools()) == []
