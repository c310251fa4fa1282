"""Connecting to one MCP server as the daemon does, and saying what it offers.

Owns: the connection of `kaged mcp test`, with the daemon's own cages and bounds; which declaration of a name
counts. Never: calling a tool.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.output import CommandFailed

if TYPE_CHECKING:
    from app.bridges.mcp.entries import ServerEntry
    from app.config import Settings
    from app.harness.dsl.compiled import CompiledProject


def project_in(root: Path) -> CompiledProject | None:
    """Return the project in a folder, None without one; it need not be trusted to be read. Blocks."""
    from app.cli.check import tool_names
    from app.harness.dsl.compiler import compile_project

    return compile_project(root, catalog=tool_names()).project


async def probe(settings: Settings, name: str, root: Path) -> dict[str, Any]:
    """Return what the server offers in a project, or what keeps it from that."""
    from app import __version__
    from app.bridges.mcp.manager import McpServers
    from app.bridges.processes.process import ChildProcesses
    from app.bridges.processes.supervised_child import Unavailable
    from app.config import child_environment
    from app.daemon.cage_setup import make_cages
    from app.daemon.mcp_services import mcp_cages, sign_in_credentials
    from app.observability import Redactor

    entry = await entry_in(settings, name, root)
    async with AsyncExitStack() as stack:
        children = ChildProcesses()
        stack.push_async_callback(children.aclose)
        cages = await make_cages(children, settings, record=_no_audit)
        stack.push_async_callback(cages.aclose)
        servers = McpServers(
            children,
            environment=child_environment(),
            record=_no_audit,
            version=__version__,
            cages=mcp_cages(cages, settings),
            credentials=sign_in_credentials(settings, Redactor()),
        )
        stack.push_async_callback(servers.aclose)
        try:
            listing = await servers.listing("test", root, entry)
        except Unavailable as problem:
            log = list(servers.status("test", entry).log)
            return {"name": name, "ok": False, "problem": problem.reason, "log": log}
        return {
            "name": name,
            "ok": True,
            "server": listing.server,
            "protocol": listing.protocol,
            "tools": [{"name": one.name, "description": one.description} for one in listing.tools],
            "left_out": list(listing.left_out),
            "resources": listing.resources,
            "prompts": listing.prompts,
            "log": [],
        }


async def entry_in(settings: Settings, name: str, root: Path) -> ServerEntry:
    """Return the declaration that counts in a project. Raises CommandFailed without one that can be used."""
    from app.bridges.mcp.added_servers import AddedServers
    from app.cli.trust import decide
    from app.harness.hooks.declared_servers import DeclaredServers
    from app.observability import Redactor

    declared = DeclaredServers(settings.mcp, AddedServers(settings.daemon.data_dir), Redactor())
    project = project_in(root)
    found = next((one for one in declared.at(project, root) if one.name == name), None)
    if found is None:
        raise CommandFailed("not_found", f"there is no MCP server {name}; `kaged mcp list` lists them")
    if found.entry is None:
        raise CommandFailed("failed", f"{name} cannot be used: {found.problem}")
    if found.origin == "project":
        _, trust = await decide(settings, root, "look")
        if trust["state"] != "trusted":
            raise CommandFailed(
                "untrusted", f"the project is not trusted; trust it with `kaged trust {root}`"
            )
    return found.entry


def _no_audit(_event: str, _project_id: str, _data: dict[str, Any]) -> None:
    """Nothing is kept of a test."""
