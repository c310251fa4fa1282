"""The tools that only MCP clients have: sessions by handle, and asking an agent.

Owns: their declarations. Never: their work (`sessions`, `ask_agent`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mcp_types import Tool, ToolAnnotations

from app.api.mcp.names import SESSION
from app.api.mcp.target import Target
from app.harness.dsl.compiled import CompiledAgent
from app.observability import without_controls
from app.tools.contract.definition import load_description

MAX_SHOWN = 50
"""Agents that the description of a parameter names."""
_MAX_DESCRIPTION = 200


@dataclass(frozen=True, slots=True)
class OwnTool:
    """One of these tools. `takes_session`: it has the parameter `session`, None when it has not, and whether
    a call needs it where the address names none. `describe` gives what the parameters say of a target."""

    name: str
    title: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    result: dict[str, Any]
    annotations: ToolAnnotations
    takes_session: bool | None = None
    describe: Callable[[Target], dict[str, Any]] = lambda target: {}

    def shown(self, target: Target) -> Tool:
        properties, required = self.properties | self.describe(target), list(self.required)
        if self.takes_session is not None:
            properties[SESSION] = session_parameter(target)
            if self.takes_session and target.handle is None:
                required.append(SESSION)
        return Tool(
            name=self.name,
            title=self.title,
            description=load_description("app.api.mcp", f"{self.name}.md"),
            input_schema={
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
            output_schema=self.result,
            annotations=self.annotations,
        )


def session_parameter(target: Target) -> dict[str, Any]:
    """Return the schema of the handle that tools take."""
    default = "" if target.handle is None else " Without it the session of this connection is used."
    return {"type": "string", "description": f"The handle that open_session returned.{default}"}


def _agent_parameter(target: Target) -> dict[str, Any]:
    """Return the schema of the agent that a task is for, with what the project file says of each."""
    agents = target.askable()
    lines = [_line(one) for one in agents[:MAX_SHOWN]]
    lines += [f"{len(agents) - MAX_SHOWN} more"] if len(agents) > MAX_SHOWN else []
    said = f"The agent that gets the task, by its path; without it {target.agent.path}. There are:"
    return {"agent": {"type": "string", "description": "\n".join([said, *lines])}}


def _line(agent: CompiledAgent) -> str:
    text = " ".join(without_controls(agent.description or "").split())[:_MAX_DESCRIPTION]
    return f"{agent.path}: {text}" if text else agent.path


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}
_OPENED = _object(
    {
        SESSION: {"type": "string", "description": "The handle of the session."},
        "project": _TEXT,
        "agent": {"type": "string", "description": "The agent whose tools and cage the session has."},
        "link": {"type": "string", "description": "The page on which the operator sees the session."},
    }
)
_ANSWERED = _object(
    {
        SESSION: {"type": "string", "description": "The handle with which the agent is asked further."},
        "agent": {"type": "string", "description": "The agent that answered."},
        "answer": {"type": "string", "description": "The last message of the agent."},
        "state": {"type": "string", "description": "How the run ended."},
        "steps": {"type": "integer"},
        "link": _TEXT,
    }
)

OWN_TOOLS = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            OwnTool(
                name="open_session",
                title="Open a session",
                properties={
                    "title": {"type": "string", "maxLength": 200, "description": "What the session is for."}
                },
                required=(),
                result=_OPENED,
                annotations=ToolAnnotations(
                    read_only_hint=False,
                    destructive_hint=False,
                    idempotent_hint=False,
                    open_world_hint=False,
                ),
            ),
            OwnTool(
                name="close_session",
                title="Close a session",
                properties={},
                required=(),
                result=_object({SESSION: _TEXT, "state": _TEXT}),
                annotations=ToolAnnotations(
                    read_only_hint=False,
                    destructive_hint=True,
                    idempotent_hint=True,
                    open_world_hint=False,
                ),
                takes_session=True,
            ),
            OwnTool(
                name="ask_agent",
                title="Ask an agent",
                properties={
                    "prompt": {"type": "string", "minLength": 1, "description": "The task, in full."},
                    "agent": _TEXT,
                },
                required=("prompt",),
                result=_ANSWERED,
                annotations=ToolAnnotations(
                    read_only_hint=False,
                    destructive_hint=True,
                    idempotent_hint=False,
                    open_world_hint=True,
                ),
                takes_session=False,
                describe=_agent_parameter,
            ),
        )
    }
)
