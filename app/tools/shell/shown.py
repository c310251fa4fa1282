"""How commands are shown to models and clients.

Owns: the short form of a command. Never: its output.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from app.bridges.pty.manager import Command, CommandState

SHOWN_CHARACTERS = 200


class BackgroundCommand(BaseModel):
    """A command that may outlive its call."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="For shell.background.")
    pid: int | None = Field(default=None, description="The process, while there is one.")
    command: str = Field(description="The command, its first 200 characters.")
    state: CommandState


def shown(command: Command) -> BackgroundCommand:
    """Return the short form of a command."""
    return BackgroundCommand(
        id=command.id, pid=command.pid, command=one_line(command.spec.command), state=command.state
    )


def one_line(command: str) -> str:
    """Return the first 200 characters of a command, in one line."""
    return " ".join(command.split())[:SHOWN_CHARACTERS]
