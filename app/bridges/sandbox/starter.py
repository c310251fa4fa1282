"""Starts children in a cage, in place of the daemon's own `ChildProcesses`.

Owns: turning a start into a request to the holder; the environment inside. Never: making holders.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Unpack

from app.bridges.processes import birthmark
from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.command_line import in_words, plain, variables
from app.bridges.processes.guardian import MARKER
from app.bridges.processes.launch import Opening
from app.bridges.processes.loopback import LOOPBACK
from app.bridges.processes.pipes import Ends, Files, StartOptions
from app.bridges.sandbox import holder_protocol, system_view
from app.bridges.sandbox.holder import Command, Holder, HolderGone, Refused

CONNECT_SECONDS = 5.0
_HOST_ONLY = frozenset(
    {"HOME", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "USERNAME", "PWD", "OLDPWD", "MAIL", "DISPLAY"}
    | {"WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_AGENT_PID"}
    | {"GPG_AGENT_INFO", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "SUDO_USER"}
)
_HOST_ONLY_BEGINNINGS = ("XDG_", "KAGED_")


class Allocator(Protocol):
    """Provides a holder that fits the present state of the cage."""

    def lend(self, *, starting: bool) -> AbstractAsyncContextManager[Holder]:
        """Give it for the time of a request. `starting`: it is to start a command. Raises ToolError."""

    def command_gone(self) -> None:
        """Note that nothing is left of a command."""


def environment(given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process in a cage: the caller's, without names of host places and services,
    and with the cage's own."""
    inside = {
        name: value
        for name, value in given.items()
        if name.upper() not in _HOST_ONLY and not name.upper().startswith(_HOST_ONLY_BEGINNINGS)
    }
    return inside | {
        "HOME": system_view.HOME,
        "TMPDIR": system_view.TMP,
        "USER": "agent",
        "LOGNAME": "agent",
        **own,
    }


class CageStarter(ChildStarter):
    """Starts children inside one cage. Given out by `Cages.children`."""

    apart = True
    """They have process ids and a loopback of their own."""

    def __init__(
        self, cage: Allocator, own: Mapping[str, str], limits: Callable[[], Mapping[str, int]]
    ) -> None:
        self._cage = cage
        self._own = own
        self._limits = limits
        self._tasks: set[asyncio.Task[Child]] = set()

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        return environment(given, self._own)

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        **options: Unpack[StartOptions],
    ) -> Child:
        """Start a program inside the cage, where `cwd` and the program are resolved. Raises SpawnFailed, and
        ToolError when there is no cage."""
        ends = Ends()
        try:
            arguments = [plain(part) for part in argv]
            files, given = _files(ends, options)
            path, at = _place(cwd)
            entries = variables(environment(env, self._own))
        except (OSError, ValueError) as problem:
            ends.close()
            raise SpawnFailed(in_words(problem)) from None
        fields = {"argv": arguments, "env": entries, "files": files, "cwd": path, "at": at}
        fields |= {"terminal": options.get("terminal") is not None, "lingers": options.get("lingers", False)}
        task = asyncio.create_task(self._started(fields, given, owner, ends), name=f"start {owner}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            child = await asyncio.shield(task)
        except asyncio.CancelledError:
            # A start that was asked for cannot be taken back: its child is ended instead.
            task.add_done_callback(partial(_end_unwanted, ends))
            raise
        try:
            await child.connect(ends)
        except BaseException:
            await child.aclose()
            raise
        return child

    async def free_port(self) -> int:
        """Return a port that nobody listens on at this moment in the cage. Raises OSError."""
        listening = await self._open("listen")
        with listening:
            return int(listening.getsockname()[1])

    async def listen(self) -> socket.socket:
        """Return a socket that listens on a port of the cage's loopback. Raises OSError."""
        return await self._open("listen")

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """Return a socket that does not block, connected to a port of the cage's loopback. Raises OSError."""
        address = LOOPBACK if host == "localhost" else host
        opened = await self._open("connect", port=port, host=address)
        try:
            await _connected(opened)
        except BaseException:
            opened.close()
            raise
        return opened

    async def _open(self, kind: str, **fields: object) -> socket.socket:
        try:
            async with self._cage.lend(starting=False) as holder:
                return await holder.open(kind, **fields)
        except Refused as refused:
            raise OSError(refused.errno, os.strerror(refused.errno)) from None
        except HolderGone as gone:
            raise OSError(errno.ECONNREFUSED, gone.reason) from None

    async def _started(self, fields: dict[str, Any], given: list[int], owner: str, ends: Ends) -> Child:
        try:
            async with self._cage.lend(starting=True) as holder:
                orphans = holder.orphans
                family = orphans.found(lingers=fields["lingers"])
                marked = [*fields.pop("env"), os.fsencode(f"{MARKER}={family.marker}")]
                limits = {**self._limits(), birthmark.LIMIT: family.birthmark}
                start = holder_protocol.start_fields(env=marked, limits=limits, **fields)
                command = Command(start, given)
                with orphans.starting():
                    leader = await holder.start(command)
                    child = Child(leader, owner, family, orphans)
                    child.when_gone(self._cage.command_gone)
        except BaseException as problem:
            ends.close()
            self._cage.command_gone()
            if isinstance(problem, Refused):
                raise SpawnFailed(_refusal(problem, fields)) from None
            if isinstance(problem, HolderGone):
                raise SpawnFailed(f"the cage has ended: {problem.reason}") from None
            raise
        ends.close_given()
        return child


def _files(ends: Ends, options: StartOptions) -> tuple[list[int | str], list[int]]:
    """Return the new process' files as the holder gets them, and the descriptors to send."""
    terminal = options.get("terminal")
    if terminal is not None:
        os.ttyname(terminal)
        options = {**options, "stdout": terminal, "stderr": "stdout"}
    words: list[int | str] = []
    given: list[int] = []
    plan: Files = ends.on_pipes(options)
    for number, file in enumerate(plan):
        if isinstance(file, Opening):
            words.append("null")
        elif number == 2 and file == 1:
            words.append("stdout")
        else:
            words.append(len(given))
            given.append(file)
    return words, given


def _place(cwd: int | Path) -> tuple[bytes, tuple[int, int] | None]:
    """Return the path of the working folder, and which folder must be there."""
    if not isinstance(cwd, int):
        return os.fsencode(cwd), None
    found = os.fstat(cwd)
    return os.fsencode(os.readlink(f"/proc/self/fd/{cwd}")), (found.st_dev, found.st_ino)


def _refusal(refused: Refused, fields: Mapping[str, Any]) -> str:
    if refused.step == "cwd":
        return f"the folder {os.fsdecode(fields['cwd'])!r} is not in the cage"
    name = os.fsdecode(fields["argv"][0])
    if refused.step == "load" and refused.errno == errno.ENOENT and "/" not in name:
        return f"there is no program {name!r} in the cage"
    return os.strerror(refused.errno)


def _end_unwanted(ends: Ends, task: asyncio.Task[Child]) -> None:
    ends.close()  # its child has not taken them over
    if not task.cancelled() and task.exception() is None:
        task.result().kill()


async def _connected(one: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    loop.add_writer(one.fileno(), done.set)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await done.wait()
    except TimeoutError:
        raise OSError(errno.ETIMEDOUT, "nobody answers") from None
    finally:
        loop.remove_writer(one.fileno())
    problem = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if problem:
        raise OSError(problem, os.strerror(problem))
