"""Compiling the plugins of an agent: where their packages are, and what is wrong with them.

Owns: checks against the plugins' manifests, and which entries of `tools` may mean their tools. Never: reading
manifests or starting plugins. One that cannot be used is a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.paths import PathProblem, read_path
from app.harness.dsl.spec import PluginSpec, ToolOverride
from app.harness.dsl.tool_resolution import ToolResolver, is_glob
from app.ids import ROOT_AGENT
from app.nearest_names import did_you_mean

_SESSION_HOOKS = ("on_session_start", "on_session_idle")


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """What a manifest says, or why it cannot be used: `problem` is its code and what is wrong."""

    hooks: Collection[str] = ()
    roles: Collection[str] = ()
    tools: Collection[str] = ()
    """Full names, as `memory.recall`."""
    problem: tuple[str, str] | None = None


class PluginCatalog(Protocol):
    """The packages of a daemon and of projects, and the operator's MCP servers."""

    def inspect(self, name: str, package: str, config: Mapping[str, Any], project_root: Path) -> PluginFacts:
        """Read a manifest and check the config against it. Blocks on file I/O; does not raise."""

    def mcp_servers(self) -> Collection[str]:
        """Return the names of the MCP servers that the operator declares. Blocks on file I/O."""


def packages_below(specs: Mapping[str, PluginSpec], nodes: Node | None, root: Path) -> dict[str, PluginSpec]:
    """Return the plugins with packages relative to `root`, those of a nested project too."""
    return {name: _rebased(spec, nodes.get(name) if nodes else None, root) for name, spec in specs.items()}


def overrides_beyond(
    overrides: Mapping[str, ToolOverride], plugins: Collection[str], resolver: ToolResolver
) -> dict[str, ToolOverride]:
    """Return the entries of `tools` that may mean tools of these plugins, or of MCP servers."""
    return {
        pattern: override
        for pattern, override in overrides.items()
        if (plugins and (is_glob(pattern) or pattern.partition(".")[0] in plugins))
        or resolver.may_mean_server(pattern)
    }


def check_plugins(
    specs: Mapping[str, PluginSpec],
    nodes: Node | None,
    tools: Node | None,
    catalog: PluginCatalog | None,
    bag: DiagnosticBag,
    *,
    root: Path,
    agent_path: str,
    compactor: str | None,
) -> None:
    """Warn about plugins of one agent that cannot be used as they are declared. `compactor` is the one that
    is to compact for it."""
    for name, spec in specs.items():
        node = nodes.get(name) if nodes is not None else None
        if catalog is None or node is None:
            continue
        facts = catalog.inspect(name, spec.package, spec.config, root)
        if facts.problem is not None:
            bag.warning(facts.problem[0], facts.problem[1], node.key)
            continue
        for hook in _SESSION_HOOKS:
            if agent_path != ROOT_AGENT and hook in facts.hooks:
                message = f"the plugin's hook `{hook}` never fires here: a subagent has no session of its own"
                bag.warning("plugin.hook.illegal", message, node.key)
        if name == compactor and "compactor" not in facts.roles:
            message = f"the plugin `{name}` has not the role `compactor`: what it is to compact is dropped"
            bag.warning("plugin_no_compactor", message, node.key)
        _check_tools(name, facts, tools, bag)


def _check_tools(name: str, facts: PluginFacts, tools: Node | None, bag: DiagnosticBag) -> None:
    for pattern, node in tools.entries.items() if tools is not None and tools.is_map else ():
        if is_glob(pattern) or pattern.partition(".")[0] != name or pattern in facts.tools:
            continue
        hint = did_you_mean(pattern, facts.tools)
        bag.warning("tool_unmatched", f"the plugin `{name}` has no tool `{pattern}`{hint}", node.key)


def _rebased(spec: PluginSpec, node: Node | None, root: Path) -> PluginSpec:
    package = spec.package
    if node is None or not (package.startswith(".") or ("/" in package and package[0] not in "/~")):
        return spec
    try:
        folder = read_path(package, may_climb=True).under(node.position.source.project_root)
        relative = folder.relative_to(root)
    except (PathProblem, ValueError):
        return spec  # the catalog says what is wrong with it
    return spec.model_copy(update={"package": f"./{relative.as_posix()}"})
