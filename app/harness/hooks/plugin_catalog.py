"""What the compiler of projects asks about plugins and MCP servers, answered from files of the operator.

Owns: from a manifest, or what is wrong with it, to the compiler's facts. Never: starting a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from app.bridges.mcp.added_servers import AddedServers
from app.bridges.plugins.calls import PluginDeclaration
from app.bridges.plugins.manager import Manifests
from app.bridges.plugins.problems import PluginProblem
from app.config import Settings
from app.harness.dsl.plugins import PluginFacts
from app.ids import ROOT_AGENT


class ManifestCatalog:
    """The manifests that a daemon can read."""

    def __init__(self, manifests: Manifests, servers: Callable[[], Collection[str]] = tuple) -> None:
        self._manifests = manifests
        self._servers = servers

    @classmethod
    def of(cls, settings: Settings) -> ManifestCatalog:
        """Return the catalog of a daemon with these settings."""
        manifests = Manifests(settings.daemon.data_dir, settings.plugins.paths, settings.plugins.config)
        added = AddedServers(settings.daemon.data_dir)
        return cls(manifests, lambda: {*settings.mcp, *added.names()})

    def mcp_servers(self) -> Collection[str]:
        """Return the names of the MCP servers that the operator declares. Blocks on file I/O."""
        return self._servers()

    def inspect(self, name: str, package: str, config: Mapping[str, Any], project_root: Path) -> PluginFacts:
        """Read a manifest and check the config against it. Blocks on file I/O; does not raise."""
        declaration = PluginDeclaration(
            project_id="",
            project_root=project_root,
            agent_path=ROOT_AGENT,
            name=name,
            package=package,
            isolation="agent",
            config=config,
        )
        try:
            manifest = self._manifests.inspect(declaration)
        except PluginProblem as problem:
            return PluginFacts(problem=(problem.code, problem.message))
        return PluginFacts(
            hooks=manifest.hooks,
            roles=manifest.roles,
            tools=[f"{name}.{tool.name}" for tool in manifest.tools],
        )
