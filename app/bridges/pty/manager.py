"""The terminals of the daemon.

Owns: which commands run or have outlived their call, per session, and how many may. Never: who may run them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.command import GRACE_SECONDS, Command, CommandSpec
from app.ids import new_id

REMEMBERED = 8
"""Ended background commands of a session whose last output can still be read."""

TERMINAL_VARIABLES = {
    "TERM": "xterm-256color",
    # Nobody can turn a page or answer a prompt; what would wait for that must fail at once.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "/bin/false",
    "SSH_ASKPASS_REQUIRE": "force",
}


class TooManyCommands(Exception):
    """The session has as many commands as it may have; `commands` are those."""

    def __init__(self, limit: int, commands: tuple[Command, ...]) -> None:
        super().__init__(f"there are {len(commands)} commands, {limit} are allowed")
        self.limit = limit
        self.commands = commands


class TerminalManager:
    """Runs commands on terminals; at most `per_session` at the same time in one session, those
    included that outlived their call."""

    def __init__(
        self, children: ChildProcesses, *, per_session: int, grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._children = children
        self.per_session = per_session
        self._grace = grace_seconds
        self._commands: dict[str, dict[str, Command]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def command(self, spec: CommandSpec) -> AsyncIterator[Command]:
        """Start a command for a caller, who waits for it by `finish`. What it leaves running becomes a
        background command; if the caller fails or is cancelled, everything is killed. Raises SpawnFailed and
        TooManyCommands."""
        command = self._admit(spec)
        try:
            await command.start()
            yield command
        except BaseException:
            await self._close(command)
            raise
        if command.lingers:
            command.linger()
        else:
            await self._close(command)

    async def finish(self, command: Command, seconds: float) -> None:
        """Wait until the shell has ended and its output is read; stop it all after `seconds`."""
        await command.finish(seconds, self._grace)

    def list(self, session_id: str) -> tuple[Command, ...]:
        """Return the commands of a session, oldest first; those that ended lately included. Their
        processes are those of this moment."""
        self._children.adopt_now()
        return tuple(self._commands.get(session_id, {}).values())

    @property
    def running(self) -> int:
        """How many commands of all sessions have not ended."""
        return sum(command.state != "ended" for one in self._commands.values() for command in one.values())

    def get(self, session_id: str, command_id: str) -> Command | None:
        return self._commands.get(session_id, {}).get(command_id)

    async def stop(self, command: Command) -> None:
        """Ask all processes of a command to end, and kill those that do not."""
        await command.stop(self._grace)

    async def end_session(self, session_id: str) -> None:
        commands = self._commands.pop(session_id, {})
        await asyncio.gather(*(command.aclose() for command in commands.values()))

    async def aclose(self) -> None:
        await asyncio.gather(*(self.end_session(session_id) for session_id in list(self._commands)))
        await asyncio.gather(*self._closing)

    def _admit(self, spec: CommandSpec) -> Command:
        commands = self._commands.setdefault(spec.session_id, {})
        present = tuple(command for command in commands.values() if command.state != "ended")
        if len(present) >= self.per_session:
            raise TooManyCommands(self.per_session, present)
        ended = [command for command in commands.values() if command.state == "ended"]
        for command in ended[:-REMEMBERED]:
            del commands[command.id]
        try:
            command = Command(new_id("cmd"), spec)
        except OSError as problem:
            raise SpawnFailed(f"no terminal: {problem.strerror}") from None
        commands[command.id] = command
        return command

    async def _close(self, command: Command) -> None:
        """End a command to the last; a second cancellation does not leave it half ended."""
        if command.try_end():
            self._forget(command)
            return
        task = asyncio.create_task(command.aclose(), name=f"close {command.id}")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        self._forget(command)
        await asyncio.shield(task)

    def _forget(self, command: Command) -> None:
        commands = self._commands.get(command.spec.session_id, {})
        commands.pop(command.id, None)
        if not commands:
            self._commands.pop(command.spec.session_id, None)
