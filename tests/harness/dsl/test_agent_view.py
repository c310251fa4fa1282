"""A project as a session sees it whose root is another agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import Conflict
from app.harness.dsl.agent_view import as_agent, is_view, seen_from
from app.harness.dsl.compiled import CompiledProject
from app.harness.hooks.agent_plugins import declarations
from app.harness.projects.permissions import declared_rules
from app.harness.projects.run_cage import cage_of
from tests.driver.project_files import MINIMAL, compiled

CODER, TESTER = "primary.subagents.coder", "primary.subagents.coder.subagents.tester"
FAMILY = f"""\
{MINIMAL}  permissions: [{{permission: write, pattern: secret.txt, action: deny}}]
  plugins: {{notes: {{package: ./plugins/notes}}}}
  subagents:
    coder:
      model: m
      system_prompt: prompts/primary.md
      description: Writes.
      cage: {{fs: [{{mode: rw, path: .}}]}}
      plugins: {{lint: {{package: ./plugins/lint}}}}
      permissions: [{{permission: write, pattern: "*", action: allow}}]
      subagents:
        tester: {{model: m, system_prompt: prompts/primary.md, description: Tests., cage: disabled}}
"""


@pytest.fixture
def project(tmp_path: Path) -> CompiledProject:
    for name in ("notes", "lint"):
        (tmp_path / "p" / "plugins" / name).mkdir(parents=True)
    return compiled(tmp_path / "p", FAMILY).require()


@pytest.mark.requirement("chat.agents")
def test_the_agent_is_the_root_and_those_below_it_follow(project: CompiledProject) -> None:
    seen = as_agent(project, CODER)
    paths = [(agent.path, agent.declared_path) for agent in seen.agents()]
    assert paths == [("primary", CODER), ("primary.subagents.tester", TESTER)]
    assert seen.root.tools == project.root.children["coder"].tools
    assert is_view(seen.digest)
    assert not is_view(project.digest)
    assert [agent.path for agent in seen.declared_agents()] == [agent.path for agent in project.agents()]
    assert as_agent(project, "primary") is project


@pytest.mark.requirement("chat.agents")
def test_the_rules_of_the_agents_above_it_still_hold(project: CompiledProject) -> None:
    before = project.agent(TESTER)
    assert before is not None
    for path, inner in ((CODER, "primary.subagents.tester"), (TESTER, "primary")):
        seen = as_agent(project, path)
        agent = seen.agent(inner)
        assert agent is not None
        assert {(rule.pattern, rule.action) for rule in declared_rules(seen, agent)} == {
            (rule.pattern, rule.action) for rule in declared_rules(project, before)
        }
    denied = [rule.above for rule in declared_rules(as_agent(project, CODER), seen.root) if rule.above]
    assert "primary" in denied


@pytest.mark.requirement("chat.agents")
def test_its_cage_guards_what_agents_guard_that_the_session_does_not_see(project: CompiledProject) -> None:
    coder, seen = project.agent(CODER), as_agent(project, CODER)
    assert coder is not None
    root = Path(project.root_dir)
    assert cage_of(seen, seen.root, root) == cage_of(project, coder, root)
    assert "plugins/notes" in (cage_of(seen, seen.root, root) or {})["guarded"]


@pytest.mark.requirement("chat.agents")
def test_its_plugins_are_those_of_the_agent_in_the_project_file(project: CompiledProject) -> None:
    root = Path(project.root_dir)
    [plugin] = declarations("prj_1", root, as_agent(project, CODER).root)
    assert (plugin.agent_path, plugin.name) == (CODER, "lint")


@pytest.mark.requirement("chat.agents")
def test_prompts_are_known_by_the_paths_of_the_session(project: CompiledProject) -> None:
    changed = ("primary", CODER, TESTER, f"{CODER}2")
    assert seen_from(CODER, changed) == ("primary", "primary.subagents.tester")
    assert seen_from(TESTER, changed) == ("primary",)


@pytest.mark.requirement("chat.agents")
def test_an_agent_that_is_gone_is_a_conflict(project: CompiledProject) -> None:
    with pytest.raises(Conflict) as refused:
        as_agent(project, f"{CODER}.subagents.nobody")
    assert refused.value.details["reason"] == "agent_not_found"
