"""The MCP servers of a daemon, put together once.

Owns: what their connections and cages are made of. Never: connecting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app import __version__
from app.bridges.mcp.added_servers import AddedServers
from app.bridges.mcp.manager import McpServers
from app.bridges.mcp.server_cage import McpCages
from app.bridges.mcp.sign_ins import SignIns
from app.bridges.processes.audit import Record
from app.bridges.sandbox.manager import Cages
from app.config import Settings, child_environment, default_config_file
from app.daemon.session_setup import Foundation
from app.harness.hooks.agent_servers import AgentServers
from app.harness.hooks.declared_servers import DeclaredServers
from app.harness.projects.projects import ProjectRegistry
from app.observability import Redactor
from app.tools.dispatch.registry import ToolRegistry
from app.tools.processes.call_processes import CallProcesses


def mcp_cages(cages: Cages, settings: Settings) -> McpCages | None:
    """Return what the cages of MCP servers are made of; None when there is no sandbox at all."""
    if cages.tier.name == "off":
        return None
    own = (settings.daemon.data_dir, settings.config_file or default_config_file())
    return McpCages(cages, own, settings.daemon.data_dir / "cages" / "mcp")


def sign_in_credentials(settings: Settings, redactor: Redactor) -> Callable[[str, str], Any]:
    """Return what signs the requests to the server of a name and an address."""
    sign_ins = SignIns(settings.daemon.data_dir)

    def remember(owner: str, secrets: list[str]) -> None:
        redactor.renew(owner, *secrets)

    def credentials(name: str, url: str) -> Any:
        from app.bridges.mcp.oauth import StoredSignIn  # imports the library

        return StoredSignIn(name, url, sign_ins, remember)

    return credentials


def agent_servers(
    base: Foundation,
    processes: CallProcesses,
    registry: ToolRegistry,
    projects: ProjectRegistry,
    record: Record,
) -> AgentServers:
    """Return the MCP servers of all agents."""
    settings = base.settings
    servers = McpServers(
        processes.own,
        environment=child_environment(),
        record=record,
        version=__version__,
        cages=mcp_cages(processes.cages, settings),
        credentials=sign_in_credentials(settings, base.redactor),
    )
    declared = DeclaredServers(settings.mcp, AddedServers(settings.daemon.data_dir), base.redactor)
    return AgentServers(servers, declared, registry, projects)
