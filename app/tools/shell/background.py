"""`shell.background`: commands that outlived their call.

Owns: the tool's parameters, result and errors; the short form of a command. Never: starting a command.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from app.bridges.pty.command import Command, CommandState
from app.bridges.pty.manager import TerminalManager
from app.errors import ToolError
from app.messages import Frozen
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)

SHOWN_CHARACTERS = 200


class BackgroundCommand(Frozen):
    id: str = Field(description="For shell.background.")
    pid: int | None = Field(default=None, description="The process, while there is one.")
    command: str = Field(description="The command, its first 200 characters.")
    state: CommandState


def shown(command: Command) -> BackgroundCommand:
    return BackgroundCommand(
        id=command.id, pid=command.pid, command=one_line(command.spec.command), state=command.state
    )


def one_line(command: str) -> str:
    """Return the first 200 characters of a command, in one line."""
    return " ".join(command.split())[:SHOWN_CHARACTERS]


ACTIONS = ("list", "read", "stop")


class BackgroundParams(ToolParams):
    action: Literal["list", "read", "stop"] = Field(description="What to do.")
    id: str | None = Field(default=None, description="The command, for read and stop.")

    @model_validator(mode="after")
    def _check_id(self) -> BackgroundParams:
        if self.action != "list" and not self.id:
            raise ValueError(f"{self.action} needs the id of a command")
        return self


class BackgroundResult(ToolResult):
    commands: list[BackgroundCommand]
    output: str | None = Field(default=None, description="What was written since the last reading.")
    lost_bytes: int | None = Field(default=None, description="How much of that is no longer there.")


def build(terminals: TerminalManager) -> ToolDefinition:
    async def run(params: BackgroundParams, context: ToolCallContext) -> BackgroundResult:
        if params.action == "list":
            commands = terminals.list(context.session_id)
            return BackgroundResult(commands=[shown(one) for one in commands if _may_see(one, context)])
        command = _find(terminals, params.id or "", context)
        if params.action == "stop":
            await terminals.stop(command)
            context.audit("shell.stopped", id=command.id, command=shown(command).command)
        text, lost = command.read()
        return BackgroundResult(commands=[shown(command)], output=text, lost_bytes=lost or None)

    return ToolDefinition(
        name="shell.background",
        title="Background commands",
        description=load_description("app.tools.shell", "background.md"),
        parameters=BackgroundParams,
        result=BackgroundResult,
        run=run,
        acp_kind="execute",
        requires=(CapabilityRequirement("shell"),),
        actions=ACTIONS,
        effects_of=lambda params: Effects(exclusive=params.action == "stop"),
        body_field="output",
    )


def _may_see(command: Command, context: ToolCallContext) -> bool:
    """The root agent sees all commands of its session; others those of theirs and below."""
    mine = context.agent_path
    return context.is_root_agent or f"{command.spec.agent_path}.".startswith(f"{mine}.")


def _find(terminals: TerminalManager, command_id: str, context: ToolCallContext) -> Command:
    command = terminals.get(context.session_id, command_id)
    if command is None or not _may_see(command, context):
        raise ToolError(
            "command_not_found",
            f"There is no command {command_id[:60]!r} in this session; action list shows those there are.",
        )
    return command
