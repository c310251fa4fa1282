"""`kaged mcp`: the MCP servers that agents use.

Owns: the group. Never: a command of it.
"""

from __future__ import annotations

import click

from app.cli.mcp_servers import SERVER_COMMANDS
from app.cli.output import CommandGroup


@click.group(name="mcp", cls=CommandGroup)
def command() -> None:
    """Add, list, test, import and remove the MCP servers that agents use."""


for one in SERVER_COMMANDS:
    command.add_command(one)
