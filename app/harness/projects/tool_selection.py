"""Which tools an agent's model is shown, and which names it may call. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.harness.dsl.compiled import CompiledAgent
from app.harness.projects.tool_loading import SEARCH_TOOLS, Offer, loaded, searches
from app.messages import ToolSpec
from app.tools.contract.definition import NO_OWN_TOOLS, OwnTools
from app.tools.dispatch.registry import ToolRegistry, spec_of


def allowed_tools(agent: CompiledAgent, own: OwnTools = NO_OWN_TOOLS) -> frozenset[str]:
    """Return the enabled names; of a tool with actions, one `tool.action` for each. All of the agent's own
    tools are enabled, and what it finds tools with."""
    names: set[str] = {*own, *(SEARCH_TOOLS if searches(agent) else ())}
    for name, tool in agent.tools.items():
        if not tool.enabled or name in SEARCH_TOOLS:
            continue
        enabled = [f"{name}.{action}" for action, state in tool.actions.items() if state.enabled]
        names.update(enabled if tool.actions else (name,))
    return frozenset(names)


def tool_specs(
    registry: ToolRegistry, agent: CompiledAgent, own: OwnTools = NO_OWN_TOOLS
) -> tuple[ToolSpec, ...]:
    """Return the enabled tools in the order of the registry, then the agent's own in theirs, so that the
    list is stable. What a search finds stands behind what requests have in full."""
    allowed = allowed_tools(agent)
    offers, search = [], {}
    for definition in registry.definitions():
        if not any(name in allowed for name in definition.qualified_names):
            continue
        override = agent.tools.get(definition.name)
        description = override.description if override is not None else None
        spec = registry.spec(definition.name, allowed=allowed, description=description)
        if definition.name in SEARCH_TOOLS:
            search[definition.name] = spec
        else:
            offers.append(Offer(definition, spec))
    taken = {one.spec.wire_name for one in offers}
    for definition in own.values():
        spec = spec_of(definition)
        if spec.wire_name not in taken:
            taken.add(spec.wire_name)
            offers.append(Offer(definition, spec))
    return loaded(agent, offers, search)


def to_find(specs: Iterable[ToolSpec], allowed: Collection[str]) -> tuple[ToolSpec, ...]:
    """Return the tools that a search finds: those that are not in full, and that the agent still has."""
    tools = {*allowed} | {name.rpartition(".")[0] for name in allowed}
    return tuple(spec for spec in specs if spec.loading != "full" and spec.name in tools)
