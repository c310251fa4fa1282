"""Routes for the shell commands of a session: list, show and stop them.

Owns: parsing and answering. Never: starting a command; agents do, by a tool.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.dependencies import CommandId, ServicesDep, SessionId
from app.api.kaged_route import noun_router
from app.api.schemas.tools import CommandAnswer, CommandList, CommandOutputAnswer
from app.api.scope_rules import READS_SESSION
from app.bridges.pty.command import Command
from app.daemon.services import Services
from app.errors import NotFound

router: APIRouter = noun_router("Commands")


@router.get(
    "/sessions/{session_id}/commands",
    summary="List the shell commands of a session, oldest first",
    dependencies=READS_SESSION,
)
async def list_commands(services: ServicesDep, session_id: SessionId) -> CommandList:
    """Running commands, commands that outlived their call, and the newest ended ones of these."""
    await services.sessions.get(session_id)
    found = services.machine.terminals.list(session_id)
    return CommandList.whole([CommandAnswer(**_fields(services, command)) for command in found])


@router.get(
    "/sessions/{session_id}/commands/{command_id}",
    summary="Show a shell command with the end of its output",
    dependencies=READS_SESSION,
)
async def get_command(
    services: ServicesDep, session_id: SessionId, command_id: CommandId
) -> CommandOutputAnswer:
    return _answer(services, await _command(services, session_id, command_id))


@router.delete(
    "/sessions/{session_id}/commands/{command_id}",
    summary="Stop a shell command and its processes",
)
async def stop_command(
    services: ServicesDep, session_id: SessionId, command_id: CommandId
) -> CommandOutputAnswer:
    """Answers once all processes have ended, after at most a few seconds of grace."""
    command = await _command(services, session_id, command_id)
    await services.machine.terminals.stop(command)
    return _answer(services, command)


async def _command(services: Services, session_id: str, command_id: str) -> Command:
    await services.sessions.get(session_id)
    command = services.machine.terminals.get(session_id, command_id)
    if command is None:
        raise NotFound(f"There is no command {command_id} in this session.")
    return command


def _answer(services: Services, command: Command) -> CommandOutputAnswer:
    output = services.redactor.known(command.tail())
    return CommandOutputAnswer(**_fields(services, command), output=output)


def _fields(services: Services, command: Command) -> dict[str, Any]:
    """Return the fields of an answer, without the daemon's secrets."""
    return {
        "id": command.id,
        "agent_path": command.spec.agent_path,
        "command": services.redactor.known(command.spec.command),
        "cwd": command.spec.shown_cwd,
        "state": command.state,
        "pid": command.pid,
        "exit_code": command.exit_code,
        "timed_out": command.timed_out,
        "started_at": command.started_at,
        "ended_at": command.ended_at,
    }
