"""The synthesized project: total truth, with every default filled in.

Owns: the shape that `GET /projects/{id}/dsl/synthesized` answers. Never: compiling.
"""

from __future__ import annotations

from typing import Any

from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import relative_dump
from app.tools.agents.definition import agent_tool_name


def synthesize(project: CompiledProject) -> dict[str, Any]:
    """Return the project in the shape of the project file, JSON-ready.

    Every agent has every key; `tools` lists every tool of the daemon with `enabled` and `origin`;
    `subagents` holds plain agents at every depth, and no `path:` is left. Prompt files are relative to the
    project's root.
    """
    plain = relative_dump(project)
    return {
        "version": 1,
        "project": plain.pop("slug"),
        "description": plain.pop("description"),
        "primary": _agent(plain.pop("root"), project),
        **plain,
        "digest": project.digest,
    }


def _agent(agent: dict[str, Any], project: CompiledProject) -> dict[str, Any]:
    children = agent.pop("children")
    own_steps, own_tokens = agent.pop("max_steps"), agent.pop("max_output_tokens")
    own = {"enabled": True, "origin": "subagent", "description": None, "limits": None, "actions": {}}
    agent["tools"] |= {
        agent_tool_name(key): {**own, "description": child["description"]} for key, child in children.items()
    }
    return {
        "agent_path": agent.pop("path"),
        **{key: value for key, value in agent.items() if key not in ("key", "system_prompt_file")},
        "system_prompt": agent["system_prompt_file"],
        "max_steps": own_steps if own_steps is not None else project.limits.max_steps,
        "max_output_tokens": own_tokens if own_tokens is not None else project.limits.max_output_tokens,
        "subagents": {key: _agent(child, project) for key, child in children.items()},
    }
