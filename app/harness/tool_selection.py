"""Which tools an agent's model is shown, and which names it may call. Pure."""

from __future__ import annotations

from app.harness.dsl.compiled import CompiledAgent
from app.messages import ToolSpec
from app.tools.registry import ToolRegistry


def allowed_tools(agent: CompiledAgent) -> frozenset[str]:
    """Return the enabled names; of a tool with actions, one `tool.action` for each."""
    names: set[str] = set()
    for name, tool in agent.tools.items():
        if not tool.enabled:
            continue
        enabled = [f"{name}.{action}" for action, state in tool.actions.items() if state.enabled]
        names.update(enabled if tool.actions else (name,))
    return frozenset(names)


def tool_specs(registry: ToolRegistry, agent: CompiledAgent) -> tuple[ToolSpec, ...]:
    """Return the enabled tools in the order of the registry, so that the list is stable."""
    allowed = allowed_tools(agent)
    specs = []
    for definition in registry.definitions():
        if not any(name in allowed for name in definition.qualified_names):
            continue
        override = agent.tools.get(definition.name)
        description = override.description if override is not None else None
        specs.append(registry.spec(definition.name, allowed=allowed, description=description))
    return tuple(specs)
