"""What a session has of its project when it runs a workflow or has another root agent: fewer tools, a prompt.

Owns: the name under which a session keeps its workflow, and the project as such a session sees it. Never:
runs of workflows (`workflow_runs`), or reading prompts (`prompts/store`).
"""

from __future__ import annotations

from app.errors import Conflict
from app.harness.dsl.agent_view import agent_of, as_agent, seen_from
from app.harness.dsl.compiled import (
    WORKFLOW_PROMPTS,
    CompiledAgent,
    CompiledProject,
    CompiledWorkflow,
    ResolvedTool,
    workflow_prompt,
)
from app.storage.models import Session as SessionRow

KIND = "workflow"
OVERRIDE = "workflow"
"""The key of a session's overrides that names its workflow."""


def workflow_of(row: SessionRow) -> str | None:
    """Return the name of the workflow that a session runs, None for any other session."""
    name = row.overrides.get(OVERRIDE)
    return None if name is None else str(name)


def prompt_of(row: SessionRow) -> str | None:
    """Return by what the prompt of a session's workflow is known in the store of prompts."""
    name = workflow_of(row)
    return None if name is None else workflow_prompt(name)


def prompts_for(row: SessionRow, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of these prompts that a session uses, by its agents' paths: no workflow's but its own."""
    own = prompt_of(row)
    paths = paths if (agent := agent_of(row)) is None else seen_from(agent, paths)
    return tuple(path for path in paths if path == own or not path.startswith(WORKFLOW_PROMPTS))


def as_session_sees(project: CompiledProject, row: SessionRow) -> CompiledProject:
    """Return the project for a session: with the root agent's tools cut down to those of its workflow, or
    with the agent as root that the session talks to.

    Its children stay, with all their tools. Raises `Conflict` when the project has no such workflow or
    agent."""
    if (agent := agent_of(row)) is not None:
        return as_agent(project, agent)
    name = workflow_of(row)
    if name is None:
        return project
    workflow = project.workflows.get(name)
    if workflow is None:
        raise Conflict(
            f"The project has no workflow {name!r} any more, so this session cannot go on.",
            reason="workflow_not_found",
            details={"workflow": name, "workflows": sorted(project.workflows)},
        )
    return project.model_copy(update={"root": for_workflow(project.root, name, workflow)})


def for_workflow(agent: CompiledAgent, name: str, workflow: CompiledWorkflow) -> CompiledAgent:
    """Return the root agent with the tools that a workflow has."""
    tools = {tool: _cut(tool, state, name, workflow) for tool, state in agent.tools.items()}
    return agent.model_copy(update={"tools": tools, "plugin_tools_within": workflow.plugin_tools})


def _cut(tool: str, state: ResolvedTool, name: str, workflow: CompiledWorkflow) -> ResolvedTool:
    if not state.enabled or tool in workflow.tools:
        return state
    origin = f"workflow:{name}"
    actions = {
        action: one
        if f"{tool}.{action}" in workflow.tools
        else one.model_copy(update={"enabled": False, "origin": origin})
        for action, one in state.actions.items()
    }
    if any(one.enabled for one in actions.values()):
        return state.model_copy(update={"actions": actions})
    return state.model_copy(update={"enabled": False, "origin": origin, "actions": actions})
