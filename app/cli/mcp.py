"""`kaged mcp`: the MCP servers that agents use, and kaged as one. Without a subcommand it serves.

Owns: the group. Never: a command of it.
"""

from __future__ import annotations

from app.cli.mcp_login import LOGIN_COMMANDS
from app.cli.mcp_serve import serve, without_subcommand
from app.cli.mcp_servers import SERVER_COMMANDS
from app.cli.output import CommandGroup

command = CommandGroup(
    name="mcp",
    invoke_without_command=True,
    params=serve.params,
    callback=without_subcommand,
    help="Serve a project's tools to MCP clients, and manage the MCP servers that agents use.\n\n"
    "Without a command this is `kaged mcp serve`.",
)
for one in (serve, *SERVER_COMMANDS, *LOGIN_COMMANDS):
    command.add_command(one)
