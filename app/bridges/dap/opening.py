"""The conversations of one debug session: opened, looked after, and closed.

Owns: starting the adapter or connecting to one, child sessions, noticing the end of each conversation,
parting from the program. Never: the state, and what is asked in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from app.bridges.dap.adapter_entry import ResolvedAdapter
from app.bridges.dap.adapter_process import AdapterCommand, AdapterEnded
from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.connection import AdapterConnection
from app.bridges.dap.launching import Handshake, Request, StartFailed, client_arguments
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.links import Link
from app.bridges.dap.peer import RequestRefused
from app.bridges.dap.program import Program
from app.bridges.dap.reverse_requests import ChildSession
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.loopback import NAMES

log = logging.getLogger("kaged.debugging")


class Conversations:
    """Made by its session. `host` is where an attached program is, and nobody else is connected to."""

    def __init__(
        self,
        program: Program,
        breakpoints: Breakpoints,
        children: ChildStarter,
        resolved: ResolvedAdapter,
        command: AdapterCommand,
        limits: DebugLimits,
        *,
        terminal: bool,
        host: str = "localhost",
    ) -> None:
        self._program = program
        self._breakpoints = breakpoints
        self._children = children
        self._resolved = resolved
        self._command = command
        self._limits = limits
        self._host = host
        self._client = client_arguments(resolved.behaviour, resolved.type, terminal=terminal)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def launch(self, command: tuple[str, ...], request: Request, arguments: Mapping[str, Any]) -> None:
        """Start the adapter and have the program brought under it. Raises StartFailed."""
        link = self._program.new_link()
        adapter = replace(self._command, argv=command)
        try:
            link.connection = await AdapterConnection.open(
                self._children,
                adapter,
                self._program.handlers(link),
                seconds=self._limits.initialize_seconds,
            )
        except AdapterEnded as ended:
            raise StartFailed(ended.reason) from None
        await self._shake_hands(link, request, _marked(arguments, link.connection.mark))

    async def dial(self, host: str, port: int, arguments: Mapping[str, Any]) -> None:
        """Connect to the adapter that a running program has, and attach. Raises StartFailed."""
        link = self._program.new_link()
        await self._dialled(link, host, port)
        await self._shake_hands(link, "attach", arguments)

    def begin_child(self, parent: Link, child: ChildSession) -> None:
        """Begin a child session, which the program has announced by an event. Raises RequestRefused."""
        if self._resolved.behaviour.children.address == "none":
            raise RequestRefused("child sessions were not offered")
        if self._closed or len(self._program.links) > self._limits.child_sessions:
            raise RequestRefused("no further child session can be had")
        self._own(self._child(parent, self._program.new_link(), child), "child session")

    @property
    def all_gone(self) -> bool:
        """Whether nothing is left of the adapter's process and what it has started."""
        connections = [link.connection for link in self._program.links]
        processes = [one.process for one in connections if one is not None and one.process is not None]
        return all(process.child.is_gone for process in processes)

    async def part(self, *, terminate: bool, launched: bool) -> None:
        """Ask the adapters to part from the program, for a short time at most."""
        self._closed = True
        root = self._program.links[0] if self._program.links else None
        process = root.connection.process if root is not None and root.connection is not None else None
        if not terminate and process is not None:
            process.child.let_linger()
        if not terminate and root is not None and self._resolved.behaviour.end.parts_running:
            await self._let_run(root)
        # A parent may wait for its children; what it has to say of its own end comes after theirs.
        links = [link for link in self._program.links if not link.closed]
        asked = [link.send("disconnect", _parting(link, terminate=terminate)) for link in reversed(links)]
        if asked:
            await asyncio.wait(asked, timeout=self._seconds_to_part(terminate=terminate and launched))
        if not terminate and root is not None and root.connection is not None:
            # It parts from the program only by ending: to be killed while it does is no parting. What it
            # has launched may go on under it.
            seconds = self._limits.exit_seconds if launched else self._limits.disconnect_seconds
            await root.connection.process_ended_within(seconds)

    async def _let_run(self, link: Link) -> None:
        """Let a stopped program go on until it no longer stops, for a short time at most."""
        limits, loop = self._limits, asyncio.get_running_loop()
        latest = loop.time() + limits.disconnect_seconds
        while link.standing is not None and not link.closed and loop.time() < latest:
            thread = link.standing.best.thread
            link.let_run()
            answer = link.send("continue", {"threadId": thread or 1})
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            await self._until_stopped(link, min(limits.running_seconds, latest - loop.time()))

    async def _until_stopped(self, link: Link, seconds: float) -> None:
        """Wait for a stop of the program, its end, or the end of the time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while link.standing is None and not link.closed:
                    await asyncio.wait({self._program.changed()})

    def _seconds_to_part(self, *, terminate: bool) -> float:
        limits = self._limits
        if self._program.is_over:
            return min(limits.over_seconds, limits.disconnect_seconds)
        return (
            min(limits.terminate_seconds, limits.disconnect_seconds)
            if terminate
            else limits.disconnect_seconds
        )

    async def aclose(self) -> None:
        """Close everything, and kill the adapters with all that they started."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        connections = [link.connection for link in self._program.links if link.connection is not None]
        await asyncio.gather(*(connection.aclose() for connection in reversed(connections)))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _dialled(self, link: Link, host: str, port: int) -> None:
        try:
            link.connection = await AdapterConnection.dial(
                host,
                port,
                self._program.handlers(link),
                name=self._resolved.behaviour.name or self._resolved.runtime,
                seconds=self._limits.initialize_seconds,
                dial=self._children.connect if self._children.apart else None,
            )
        except AdapterEnded as ended:
            raise StartFailed(ended.reason) from None

    async def _shake_hands(self, link: Link, request: Request, arguments: Mapping[str, Any]) -> None:
        assert link.connection is not None
        self._own(self._watch(link, link.connection), "watch")
        handshake = Handshake(link, self._client, self._breakpoints.configure, self._limits)
        await handshake.begin(request, arguments)

    async def _watch(self, link: Link, connection: AdapterConnection) -> None:
        account = await connection.wait_until_ended()
        self._program.closed(link, account.reason, account.exit_code)

    async def _child(self, parent: Link, link: Link, child: ChildSession) -> None:
        try:
            await self._connect_child(parent, link, child)
            arguments = {**child.configuration, "request": child.request}
            await self._shake_hands(link, child.request, arguments)
        except StartFailed as failed:
            self._program.output.add(f"[a child process is not debugged: {failed.reason}]\n")
            if link.connection is not None:
                await link.connection.aclose()
        self._program.settle()

    async def _connect_child(self, parent: Link, link: Link, child: ChildSession) -> None:
        if self._resolved.behaviour.children.address == "named_address":
            await self._dialled(link, *self._address(child.configuration))
            return
        assert parent.connection is not None
        try:
            link.connection = await parent.connection.another(
                self._program.handlers(link), seconds=self._limits.initialize_seconds
            )
        except AdapterEnded as ended:
            raise StartFailed(ended.reason) from None

    def _address(self, configuration: dict[str, Any]) -> tuple[str, int]:
        """Return the address that an adapter names: of this machine, or of the one attached to."""
        named = configuration.get("connect")
        fields = named if isinstance(named, dict) else {}
        host, port = fields.get("host", "localhost"), fields.get("port")
        if not isinstance(port, int) or not 0 < port < 65_536:
            raise StartFailed("its adapter names no port")
        if not isinstance(host, str) or (host not in NAMES and host != self._host):
            raise StartFailed("its adapter names another machine")
        return host, port

    def _own(self, work: Any, name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work, name=f"{name} of a debug session")
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("a debug session: %s failed", task.get_name(), exc_info=problem)


def _marked(arguments: Mapping[str, Any], mark: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the arguments with the mark of the adapter's children in the program's environment, which with
    some adapters is nothing but what is asked for."""
    env = arguments.get("env")
    return {**arguments, "env": {**env, **mark}} if isinstance(env, dict) else arguments


def _parting(link: Link, *, terminate: bool) -> dict[str, Any]:
    """Return the arguments of `disconnect`."""
    arguments: dict[str, Any] = {"restart": False}
    if "supportTerminateDebuggee" in link.capabilities:
        arguments["terminateDebuggee"] = terminate
    return arguments
