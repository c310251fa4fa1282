"""The tools that an MCP client is offered: those of one agent, by their names for models.

Owns: which tools, and how they are described in the protocol. Never: running one.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel

from app.api.mcp.names import SESSION
from app.api.mcp.own_tools import OWN_TOOLS, session_parameter
from app.api.mcp.target import Target
from app.harness.projects.tool_selection import tool_specs
from app.messages import ToolSpec
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import rule_name

_FAMILIES = frozenset({"file", "edit", "search", "code", "debug", "shell"})
_SINGLE = frozenset({"kaged.issue", "project.recipe"})
_OPEN_WORLD = frozenset({"shell.bash", "debug", "project.recipe"})
"""Tools that run programs, which may reach whatever the cage lets them."""
_REPEATABLE = frozenset({"file.write"})
"""Tools whose second call with the same arguments changes nothing more."""


def offered(target: Target) -> dict[str, ToolSpec]:
    """Return the catalogue's tools that the caller may call as the agent, by the names of the protocol."""
    if not target.has_tools:
        return {}
    specs = tool_specs(target.services.registry, target.agent)
    return {spec.wire_name: spec for spec in specs if _is_offered(spec.name)}


def listed(target: Target) -> list[Tool]:
    """Return all tools that a client is shown, kaged's own for MCP first."""
    own = [tool.shown(target) for tool in OWN_TOOLS.values()]
    registry = target.services.registry
    found = ((spec, registry.get(spec.name)) for spec in offered(target).values())
    return own + [_shown(spec, definition, target) for spec, definition in found if definition is not None]


def _is_offered(name: str) -> bool:
    dotted = rule_name(name)
    return dotted in _SINGLE or dotted.partition(".")[0] in _FAMILIES


def _shown(spec: ToolSpec, definition: ToolDefinition, target: Target) -> Tool:
    parameters = copy.deepcopy(spec.parameters)
    parameters["properties"] = {**parameters.get("properties", {}), SESSION: session_parameter(target)}
    if target.handle is None:
        parameters["required"] = [*parameters.get("required", ()), SESSION]
    dotted = rule_name(definition.name)
    return Tool(
        name=spec.wire_name,
        title=definition.title,
        description=spec.description,
        input_schema=parameters,
        output_schema=output_schema(definition.result),
        annotations=ToolAnnotations(
            title=definition.title,
            read_only_hint=definition.read_only,
            destructive_hint=definition.destructive and not definition.read_only,
            idempotent_hint=definition.read_only or dotted in _REPEATABLE,
            open_world_hint=dotted in _OPEN_WORLD,
        ),
    )


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a structured result. A result has no field that is null, and a long one is cut,
    so only what is always there is required."""
    return copy.deepcopy(_output_schema(model))


@lru_cache(maxsize=256)
def _output_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(mode="serialization")
    schema.pop("required", None)
    relaxed = _relaxed(schema)
    assert isinstance(relaxed, dict)
    return relaxed


def _relaxed(node: Any) -> Any:
    """Take out of `required` what may be null, and titles, which say nothing more than names."""
    if isinstance(node, list):
        return [_relaxed(one) for one in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return {key: _relaxed(value) for key, value in node.items() if key != "title"}
    kept: dict[str, Any] = {
        key: _relaxed(value) for key, value in node.items() if key not in ("properties", "required", "title")
    }
    kept["properties"] = {name: _relaxed(schema) for name, schema in properties.items()}
    always = [name for name in node.get("required", ()) if not _may_be_null(properties[name])]
    if always:
        kept["required"] = always
    return kept


def _may_be_null(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        schema.get("type") == "null" or any(map(_may_be_null, schema.get("anyOf", ())))
    )
