"""Terminals for debugged programs, over the one broker of terminals.

Owns: running a debug adapter's program on a terminal, as one of its session's commands, and passing its
output on. Never: which adapter gets one.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from app.bridges.dap.manager import DebugOwner
from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.pty.command import Command, CommandSpec
from app.bridges.pty.manager import TERMINAL_VARIABLES, TerminalManager, TooManyCommands
from app.errors import ToolError

NO_END = 10 * 365 * 86_400.0
"""Seconds. What is debugged ends with its debug session."""
SHOWN_SECONDS = 0.05


class DebugTerminals:
    """Runs programs on terminals for debug sessions."""

    def __init__(self, terminals: TerminalManager) -> None:
        self._terminals = terminals

    async def run(
        self,
        owner: DebugOwner,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        received: Callable[[str], None],
        children: ChildStarter,
    ) -> DebuggedCommand:
        """Start a program. `received` gets its output as plain text, in whole lines. Raises OSError when
        the folder is not there, and ToolError when no terminal is left."""
        folder = await asyncio.to_thread(os.open, cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            spec = CommandSpec(
                command=f"exec {shlex.join(argv)}",
                session_id=owner.session_id,
                agent_path=owner.agent_path,
                cwd=folder,
                shown_cwd=str(cwd),
                env={**env, **TERMINAL_VARIABLES},
                open_file=_nowhere,
                children=children,
            )
            program = DebuggedCommand(self._terminals, spec, received)
            await program.started()
        finally:
            os.close(folder)
        return program


class DebuggedCommand:
    """A program on a terminal of its own, until it ends or is closed."""

    def __init__(
        self, terminals: TerminalManager, spec: CommandSpec, received: Callable[[str], None]
    ) -> None:
        self._terminals = terminals
        self._spec = spec
        self._received = received
        self._position = 0
        self._command: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), name="debugged program on a terminal")

    @property
    def pid(self) -> int | None:
        return self._command.result().pid if self._command.done() else None

    async def started(self) -> None:
        """Wait until the program runs. Raises ToolError when it cannot be started."""
        try:
            await asyncio.shield(self._command)
        except BaseException:
            await self.aclose()
            raise

    def pass_on_output(self) -> None:
        """Pass on at once what it has written so far, in whole lines."""
        if not self._task.done():
            command = self._command.result()
            command.read_now()
            self._pass_on(command)

    async def aclose(self) -> None:
        """Kill it and all that it started."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            async with self._terminals.command(self._spec) as command:
                self._command.set_result(command)
                shown = asyncio.create_task(self._show(command), name=f"output of {command.id}")
                try:
                    await self._terminals.finish(command, NO_END)
                finally:
                    shown.cancel()
                    await asyncio.gather(shown, return_exceptions=True)
                self._pass_on(command, whole=True)
                if command.lingers:
                    await asyncio.Future()  # what it left behind is ended together with it
        except (SpawnFailed, TooManyCommands) as problem:
            error = ToolError("debug_launch_failed", f"no terminal for the program: {problem}")
            if not self._command.done():
                self._command.set_exception(error)
        finally:
            with suppress(asyncio.InvalidStateError):
                self._command.cancel()

    async def _show(self, command: Command) -> None:
        while True:
            await command.output.news.wait()
            command.output.take_live()
            self._pass_on(command)
            await asyncio.sleep(SHOWN_SECONDS)

    def _pass_on(self, command: Command, *, whole: bool = False) -> None:
        """Pass whole lines on; at the end also what has no line end."""
        text, self._position, _ = command.output.since(self._position)
        if not whole:
            text = text[: text.rfind("\n") + 1]
        if text:
            self._received(text)


def _nowhere() -> BinaryIO:
    """What is beyond the output that is kept is not needed: the debug session has its own bounds."""
    return open(os.devnull, "wb")
