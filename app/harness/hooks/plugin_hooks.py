"""All that the harness asks of plugins, MCP servers and hooks that are commands, for all sessions.

Owns: putting the hooks together. Never: what one of them does.
"""

from __future__ import annotations

from datetime import date

from app.bridges.plugins.manager import Plugins
from app.bridges.processes.audit import Record
from app.harness.dsl.compiled import CompiledProject
from app.harness.guidance.session_guidance import GuidanceSources, SessionGuidance
from app.harness.hooks.agent_plugins import AgentPlugins, Caller
from app.harness.hooks.agent_servers import AgentServers
from app.harness.hooks.commands.command_hooks import CommandHooks
from app.harness.hooks.compaction import CompactionHooks
from app.harness.hooks.plugin_tools import plugin_tools
from app.harness.hooks.session_idle import IdleWatch
from app.harness.hooks.session_start import SessionRecall
from app.harness.projects.projects import ProjectRegistry
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.tools.contract.definition import ToolDefinition
from app.tools.dispatch.registry import ToolRegistry


class PluginHooks:
    """The plugins, MCP servers and hooks of all sessions; closing it ends them."""

    def __init__(
        self,
        plugins: Plugins,
        record: Record,
        storage: Storage,
        registry: ToolRegistry,
        projects: ProjectRegistry,
        servers: AgentServers,
        commands: CommandHooks,
    ) -> None:
        self.plugins = plugins
        self.servers = servers
        self.commands = commands
        self.agents = AgentPlugins(plugins, record)
        self.idle = IdleWatch(self.agents, storage, self._root_caller)
        self.compaction = CompactionHooks(self.agents)
        self._storage = storage
        self._registry = registry
        self._projects = projects

    def reloaded(self, project_id: str, compiled: CompiledProject) -> None:
        """End the plugins and MCP servers that the project does not declare any more."""
        declared = {(agent.path, name) for agent in compiled.agents() for name in agent.plugins}
        self.plugins.keep_only(project_id, declared)
        self.servers.reloaded(project_id)

    def recall(self, row: SessionRow, sources: GuidanceSources) -> SessionRecall:
        """Return what the agents of a session know from its start, for as long as it is loaded."""
        guidance = SessionGuidance(sources, date.fromtimestamp(row.created_at / 1000))
        return SessionRecall(row, self.agents, self._storage, guidance)

    async def tools(self, caller: Caller) -> dict[str, ToolDefinition]:
        """Return the tools that an agent's plugins and MCP servers give it, by name."""
        found = await plugin_tools(self.agents, caller, self._registry)
        return found | await self.servers.tools(caller, found)

    async def tool_names(self, project_id: str, project: CompiledProject) -> set[str]:
        """Return the full names of all tools that plugins of a project's agents have, enabled or not."""
        root = self._projects.root_of(project_id)
        names: set[str] = set()
        for agent in project.agents():
            for plugin in await self.agents.of(Caller("daemon", project_id, root, agent, None)):
                names |= {f"{plugin.name}.{tool.name}" for tool in plugin.manifest.tools}
        return names

    async def end_project(self, project_id: str) -> None:
        """End the plugins and MCP servers of a project."""
        await self.plugins.end_project(project_id)
        await self.servers.servers.end_project(project_id)

    async def aclose(self) -> None:
        """Tell nobody of idle sessions any more, and end all plugins and MCP servers."""
        await self.idle.aclose()
        await self.servers.aclose()
        await self.plugins.aclose()
        await self.commands.aclose()

    async def _root_caller(self, row: SessionRow) -> Caller:
        project = await self._projects.of_session(row)
        root = self._projects.root_of(row.project_id)
        return Caller(row.created_by, row.project_id, root, project.root, row.id)
