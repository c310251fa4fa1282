"""`kaged mcp serve`, which is also `kaged mcp`: serve an agent's tools over standard input and output.

Owns: the options. Never: the protocol (`mcp_bridge`, which is loaded when it serves).
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from app.cli.connected import Connected, in_project


@click.command(name="serve")
@click.option("--agent", help="The agent whose tools and cage the client gets (default: the root agent).")
@in_project
async def serve(daemon: Connected, agent: str | None) -> int:
    """Serve the tools of an agent to an MCP client over standard input and output.

    The running daemon does the work. Standard output carries the protocol alone."""
    bridge = importlib.import_module("app.cli.mcp_bridge")
    code: int = await bridge.run(daemon, agent)
    return code


def without_subcommand(**options: object) -> Any:
    """Serve, for the group `kaged mcp` that is called without a subcommand."""
    if click.get_current_context().invoked_subcommand is not None:
        return None
    assert serve.callback is not None
    return serve.callback(**options)
