"""Which tools an agent's model is shown, and which names it may call. Pure."""

from __future__ import annotations

from app.harness.dsl.compiled import CompiledAgent
from app.messages import ToolSpec
from app.tools.contract.definition import NO_OWN_TOOLS, OwnTools
from app.tools.dispatch.registry import ToolRegistry, spec_of


def allowed_tools(agent: CompiledAgent, own: OwnTools = NO_OWN_TOOLS) -> frozenset[str]:
    """Return the enabled names; of a tool with actions, one `tool.action` for each. All of the agent's own
    tools are enabled."""
    names: set[str] = set(own)
    for name, tool in agent.tools.items():
        if not tool.enabled:
            continue
        enabled = [f"{name}.{action}" for action, state in tool.actions.items() if state.enabled]
        names.update(enabled if tool.actions else (name,))
    return frozenset(names)


def tool_specs(
    registry: ToolRegistry, agent: CompiledAgent, own: OwnTools = NO_OWN_TOOLS
) -> tuple[ToolSpec, ...]:
    """Return the enabled tools in the order of the registry, then the agent's own in theirs, so that the
    list is stable."""
    allowed = allowed_tools(agent)
    specs = []
    for definition in registry.definitions():
        if not any(name in allowed for name in definition.qualified_names):
            continue
        override = agent.tools.get(definition.name)
        description = override.description if override is not None else None
        specs.append(registry.spec(definition.name, allowed=allowed, description=description))
    taken = {spec.wire_name for spec in specs}
    for definition in own.values():
        spec = spec_of(definition)
        if spec.wire_name not in taken:
            taken.add(spec.wire_name)
            specs.append(spec)
    return tuple(specs)
