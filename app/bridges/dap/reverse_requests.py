"""What adapters ask of us: to run a program in a terminal, to begin a child session.

Owns: checking and serving those requests, and the programs in terminals. Never: trusting them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from app.bridges.dap.links import Link
from app.bridges.dap.peer import RequestRefused
from app.bridges.dap.requests import DebugOwner
from app.bridges.processes import proc
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError

MAX_ARGUMENTS = 4_096
MAX_BYTES = 1024 * 1024
MAX_TERMINALS = 16


class TerminalProgram(Protocol):
    """A program on a terminal of its own."""

    @property
    def pid(self) -> int | None:
        """Its number for the daemon; within a cage it has another."""

    def pass_on_output(self) -> None:
        """Pass on at once what it has written so far."""

    async def aclose(self) -> None:
        """Kill it and all that it started."""


class Terminals(Protocol):
    """Runs programs on terminals; the bridge of terminals behind it is none of this one's business."""

    async def run(
        self,
        owner: DebugOwner,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        received: Callable[[str], None],
        children: ChildStarter,
    ) -> TerminalProgram:
        """Start a program by `children`. `env` is the whole environment, `received` gets its output as
        plain text. Raises OSError or ToolError when it cannot be started."""


@dataclass(frozen=True, slots=True)
class ChildSession:
    """What an adapter wants a further conversation to be begun with."""

    request: Literal["launch", "attach"]
    configuration: dict[str, Any]


class ReverseRequests:
    """The handler of one session. `received` gets the output of terminals; `begin` begins a child session
    and returns at once, or raises RequestRefused."""

    def __init__(
        self,
        owner: DebugOwner,
        terminals: Terminals | None,
        children: ChildStarter,
        *,
        cwd: Path,
        environment: Mapping[str, str],
        received: Callable[[str], None],
        begin: Callable[[Link, ChildSession], None],
    ) -> None:
        self._owner = owner
        self._terminals = terminals
        self._children = children
        self._cwd = cwd
        self._environment = environment
        self._received = received
        self._begin = begin
        self._programs: list[TerminalProgram] = []
        self._closed = False
        self._starting = asyncio.Lock()
        self._serve: Mapping[str, Callable[[Link, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "runInTerminal": self._run_in_terminal,
            "startDebugging": self._start_debugging,
        }

    async def answer(self, link: Link, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Serve a request of an adapter. Raises RequestRefused."""
        serve = self._serve.get(command)
        if serve is None:
            raise RequestRefused(f"there is no request {command[:100]}")
        return await serve(link, arguments)

    def pass_on_output(self) -> None:
        """Have the programs in terminals pass on what they have written so far."""
        for program in self._programs:
            program.pass_on_output()

    async def aclose(self) -> None:
        """Kill the programs in terminals; none is started any more."""
        self._closed = True
        async with self._starting:
            programs, self._programs = self._programs, []
        await asyncio.gather(*(program.aclose() for program in programs))

    async def _run_in_terminal(self, _link: Link, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._terminals is None:
            raise RequestRefused("there are no terminals here")
        argv, cwd, env = _argv(arguments), self._folder(arguments), self._variables(arguments)
        async with self._starting:
            if self._closed or len(self._programs) >= MAX_TERMINALS:
                raise RequestRefused("no further terminal can be had")
            try:
                program = await self._terminals.run(
                    self._owner, argv, cwd=cwd, env=env, received=self._received, children=self._children
                )
            except (OSError, ToolError) as problem:
                raise RequestRefused(f"{argv[0]} cannot be run in a terminal: {problem}") from None
            self._programs.append(program)
        number = program.pid
        if number is not None and self._children.apart:
            number = await asyncio.to_thread(proc.inner_number, number)
        return {} if number is None else {"processId": number}

    async def _start_debugging(self, link: Link, arguments: dict[str, Any]) -> dict[str, Any]:
        request, configuration = arguments.get("request"), arguments.get("configuration")
        if request not in ("launch", "attach") or not isinstance(configuration, dict):
            raise RequestRefused("startDebugging needs request (launch or attach) and configuration")
        self._begin(link, ChildSession(request, configuration))
        return {}

    def _folder(self, arguments: dict[str, Any]) -> Path:
        folder = arguments.get("cwd")
        if not isinstance(folder, str) or not folder or "\0" in folder:
            return self._cwd
        return self._cwd / folder

    def _variables(self, arguments: dict[str, Any]) -> dict[str, str]:
        """Return the whole environment; a variable that is null is removed."""
        env = dict(self._environment)
        environment = arguments.get("env")
        for name, value in (environment if isinstance(environment, dict) else {}).items():
            if value is None:
                env.pop(name, None)
            elif isinstance(value, str) and name and "=" not in name and "\0" not in name + value:
                env[name] = value
        if sum(len(os.fsencode(name + value)) for name, value in env.items()) > MAX_BYTES:
            raise RequestRefused("the environment is too large")
        return env


def _argv(arguments: dict[str, Any]) -> list[str]:
    argv = arguments.get("args")
    if not isinstance(argv, list) or not argv or len(argv) > MAX_ARGUMENTS:
        raise RequestRefused("runInTerminal needs args, a list of texts")
    for word in argv:
        if not isinstance(word, str) or "\0" in word:
            raise RequestRefused("args has something else than texts")
    if not argv[0] or sum(len(word) for word in argv) > MAX_BYTES:
        raise RequestRefused("args is empty or too long")
    return argv
