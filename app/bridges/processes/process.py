"""Starts child processes; nothing else in the daemon does.

Owns: the daemon's children: each has its own session and group, inherits no descriptor, ends with its
descendants. Never: their purpose.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from app.bridges.processes.birthmark import given
from app.bridges.processes.child import KILL_SECONDS, Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.command_line import in_words, plain, program, variables
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.exit_watch import ExitWatch
from app.bridges.processes.guardian import MARKER
from app.bridges.processes.launch import Launch, Launcher
from app.bridges.processes.loopback import LOOPBACK, connected, free_port
from app.bridges.processes.orphans import Orphans
from app.bridges.processes.pipes import Ends, StartOptions

log = logging.getLogger("kaged.children")


class OwnChild:
    """The leader of a child of the daemon itself."""

    def __init__(self, pid: int, owner: str) -> None:
        self.pid = pid
        self._owner = owner
        self._watch: ExitWatch | None = None
        self._ends: Callable[[], None] = lambda: None
        self._ended: Callable[[int], None] = lambda _: None

    def watch(self, ends: Callable[[], None], ended: Callable[[int], None]) -> None:
        self._ends, self._ended = ends, ended
        self._watch = ExitWatch(self.pid, self._reap)

    def signal(self, number: int) -> None:
        """Signal its group. Until it is reaped, no other process or group can have its number."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            if self._watch is not None:
                self._watch.send(number)

    def _reap(self) -> None:
        self._ends()
        try:
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            log.error("the exit code of process %s (%s) was taken by somebody else", self.pid, self._owner)
            code = 255
        self._ended(code if code >= 0 else 128 - code)


class ChildProcesses(ChildStarter):
    """All children of this daemon. One instance, closed last."""

    apart = False
    """They have the process ids and the loopback of the daemon."""

    def __init__(self, deadline: Deadline | None = None) -> None:
        """After the `deadline` children are ended, and none is started."""
        self._launcher = Launcher()
        self._deadline = deadline
        self._orphans = Orphans(deadline=deadline)
        self._children: set[Child] = set()

    @property
    def alive(self) -> int:
        """How many children there are, those included of which only relatives are left."""
        return len(self._children)

    def adopt_now(self) -> None:
        """Take what children have left behind by this moment as theirs; else that is done some times
        a second."""
        self._orphans.sweep()

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        passed: Sequence[int] = (),
        **options: Unpack[StartOptions],
    ) -> Child:
        """Start a program in a session of its own. The descriptors `passed` are the child's 3, 4 and so on.
        Raises SpawnFailed."""
        if self._deadline is not None and self._deadline.passed:
            raise SpawnFailed("the daemon cannot reach the database that it shares with other daemons")
        ends = Ends()
        family = self._orphans.found(lingers=options.get("lingers", False))
        try:
            arguments = [plain(part) for part in argv]
            launch = Launch(
                program=program(arguments[0], env),
                argv=arguments,
                env=variables({**env, MARKER: family.marker}),
                folder=cwd if isinstance(cwd, int) else ends.folder(cwd),
                files=ends.files(options),
                passed=ends.beyond(passed),
            )
            with given(family.birthmark):
                leader = OwnChild(self._launcher.start(launch), owner)
            child = Child(leader, owner, family, self._orphans)
        except (OSError, ValueError) as problem:
            ends.close()
            raise SpawnFailed(in_words(problem)) from None
        self._children.add(child)
        family.gone.add_done_callback(lambda _: self._children.discard(child))
        ends.close_given()
        try:
            await child.connect(ends)
        except BaseException:
            await child.aclose()
            raise
        return child

    async def free_port(self) -> int:
        """Return a port that nobody listens on at this moment. Raises OSError."""
        return free_port()

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """Return a socket connected to a port of this machine's loopback. Raises OSError."""
        return await connected(host, port)

    async def aclose(self) -> None:
        await asyncio.gather(*(child.aclose() for child in list(self._children)))
        await self._orphans.aclose(KILL_SECONDS)
