"""The catalogue of tools. A tool in it is not yet enabled for an agent.

Owns: look-up by name and wire name, globs, groups, specifications. Never: running a tool.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from app.messages import ToolSpec
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import wire_name, wire_names
from app.tools.contract.schema import parameters_schema
from app.workspace.globs import text_matches

GROUP_MARK = "@"


class ToolRegistry:
    """An unchanging set of tools, and what the project compiler asks about them."""

    def __init__(
        self,
        definitions: Iterable[ToolDefinition],
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """`groups` maps `@name` to patterns of names. Raises ValueError on a clash of names."""
        self._tools: dict[str, ToolDefinition] = {}
        self._owners: dict[str, ToolDefinition] = {}
        for definition in definitions:
            self._add(definition)
        self._wires = wire_names(self._tools)
        self._groups = {name: self._expand(patterns) for name, patterns in (groups or {}).items()}

    def _add(self, definition: ToolDefinition) -> None:
        for name in definition.qualified_names:
            if name in self._owners:
                raise ValueError(f"tool name {name!r} is registered twice")
            self._owners[name] = definition
        self._tools[definition.name] = definition

    def _expand(self, patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for pattern in patterns for name in self.match(pattern)))

    def get(self, name: str) -> ToolDefinition | None:
        """Return the tool called `name` (never an action's name), or None."""
        return self._tools.get(name)

    def by_wire_name(self, wire: str) -> ToolDefinition | None:
        """Return the tool that a provider knows as `wire`, or None."""
        name = self._wires.get(wire)
        return None if name is None else self._tools[name]

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(self._tools.values())

    def names(self) -> tuple[str, ...]:
        """Return every tool's name and every `tool.action`, in order of registration."""
        return tuple(self._owners)

    def actions(self) -> dict[str, tuple[str, ...]]:
        """Return each tool's name with the full names of its actions (`kaged.issue.create`)."""
        return {name: tool.qualified_names[1:] for name, tool in self._tools.items()}

    def principal_scope(self, name: str) -> str | None:
        """Return the scope of a tool or `tool.action`; None also for an unknown name."""
        owner = self._owners.get(name)
        return None if owner is None else owner.principal_scope

    def root_default(self, name: str) -> bool:
        """Tell whether the root agent has this tool or `tool.action` without asking for it."""
        owner = self._owners.get(name)
        return owner is not None and owner.root_default

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return each group's name (with its `@`) and the names in it."""
        return dict(self._groups)

    def match(self, pattern: str) -> list[str]:
        """Return the names that a name, a glob or an `@group` means; empty when none. A glob ending in `.*`
        also matches the tool whose actions it covers."""
        if pattern.startswith(GROUP_MARK):
            return list(self._groups.get(pattern, ()))
        parent = self._tools.get(pattern.removesuffix(".*")) if pattern.endswith(".*") else None
        family = set() if parent is None or not parent.actions else set(parent.qualified_names)
        return [name for name in self._owners if name in family or text_matches(name, pattern)]

    def spec(
        self, name: str, *, allowed: Collection[str] | None = None, description: str | None = None
    ) -> ToolSpec:
        """Return the specification for a model. `allowed` restricts the `action` enumeration; `description`
        replaces the tool's own. Raises KeyError for an unknown tool."""
        return spec_of(self._tools[name], allowed=allowed, description=description)


def spec_of(
    definition: ToolDefinition, *, allowed: Collection[str] | None = None, description: str | None = None
) -> ToolSpec:
    """Return the specification of a tool; as `ToolRegistry.spec`."""
    name = definition.name
    given = definition.schema
    parameters = parameters_schema(definition.parameters) if given is None else copy.deepcopy(dict(given))
    if definition.actions and allowed is not None:
        _narrow_actions(parameters, [a for a in definition.actions if f"{name}.{a}" in allowed])
    return ToolSpec(
        name=name,
        wire_name=wire_name(name),
        description=definition.description if description is None else description,
        parameters=parameters,
    )


def _narrow_actions(parameters: dict[str, Any], actions: list[str]) -> None:
    action = parameters.get("properties", {}).get("action")
    if isinstance(action, dict):
        action.pop("const", None)
        action["enum"] = actions
