"""The tools that plugins give to an agent.

Owns: which of them the agent has: those of the plugins that it declares, where its `tools` enable them by
name or glob. Never: what a tool is made of (`tools/external/plugin`), or calling without a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.bridges.plugins.manifest import PluginTool
from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.spec import ToolOverride
from app.harness.dsl.tool_resolution import is_glob
from app.harness.hooks.agent_plugins import AgentPlugins, Caller, Declared
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import wire_name
from app.tools.dispatch.registry import ToolRegistry
from app.tools.external.plugin import plugin_tool
from app.workspace.globs import text_matches

CALL_SECONDS = 120.0


async def plugin_tools(
    plugins: AgentPlugins, caller: Caller, registry: ToolRegistry
) -> dict[str, ToolDefinition]:
    """Return the enabled tools of the agent's plugins by name, in the order of the project file and of the
    manifests. One whose name providers could not distinguish from a built-in one is left out."""
    found: dict[str, ToolDefinition] = {}
    if not any(override.enabled for override in caller.agent.plugin_tools.values()):
        return found
    for plugin in await plugins.of(caller):
        for tool in plugin.manifest.tools:
            override = override_of(caller.agent, f"{plugin.name}.{tool.name}")
            if override is None or not override.enabled or not _within(caller.agent, plugin.name, tool.name):
                continue
            made = _tool(plugins, plugin, tool, override, caller)
            if made is not None and registry.by_wire_name(wire_name(made.name)) is None:
                found[made.name] = made
    return found


def override_of(agent: CompiledAgent, name: str) -> ToolOverride | None:
    """Return what an agent's `tools` say of a plugin's tool, None when nothing; the most specific entry
    wins, between equals the later one."""
    best: str | None = None
    for pattern in agent.plugin_tools:
        matches = pattern == name or (is_glob(pattern) and text_matches(name, pattern))
        if matches and (best is None or _rank(pattern) >= _rank(best)):
            best = pattern
    return None if best is None else agent.plugin_tools[best]


def _within(agent: CompiledAgent, plugin: str, tool: str) -> bool:
    bound = agent.plugin_tools_within
    return bound is None or any(text_matches(f"{plugin}.{tool}", pattern) for pattern in bound)


def _rank(pattern: str) -> tuple[bool, int]:
    return not is_glob(pattern), sum(character not in "*?[" for character in pattern)


def _tool(
    plugins: AgentPlugins, plugin: Declared, tool: PluginTool, override: ToolOverride, caller: Caller
) -> ToolDefinition | None:
    async def call(params: Mapping[str, Any]) -> Any:
        return await plugins.plugins.call_tool(
            plugin.declaration, tool.name, params, caller.context(), seconds=CALL_SECONDS
        )

    made = plugin_tool(
        plugin.name,
        tool.name,
        tool.description,
        tool.parameters_schema,
        [(one.kind, one.text) for one in tool.requires],
        call,
    )
    if made is not None and override.description is not None:
        made = replace(made, description=override.description)
    return made
