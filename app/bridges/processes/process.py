"""Child processes: the only place that starts any.

Owns: the children of the daemon, their pipes and their end. Each child has a session and process
group of its own, inherits no descriptor, and takes whatever it started with it when it is killed.
Never: what the children are for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.bridges.processes.birthmark import given
from app.bridges.processes.child import GRACE_SECONDS, KILL_SECONDS, Child, Finished, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.command_line import in_words, plain, program, variables
from app.bridges.processes.exit_watch import ExitWatch
from app.bridges.processes.guardian import MARKER
from app.bridges.processes.launch import Launch, Launcher
from app.bridges.processes.loopback import LOOPBACK, connected, free_port
from app.bridges.processes.orphans import Orphans
from app.bridges.processes.pipes import Ends, Errors, Input, Output

__all__ = ["GRACE_SECONDS", "Child", "ChildProcesses", "Finished", "SpawnFailed"]

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
        """Reap it when it ends."""
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

    def __init__(self) -> None:
        self._launcher = Launcher()
        self._orphans = Orphans()
        self._children: set[Child] = set()

    @property
    def alive(self) -> int:
        """How many children there are, those included of which only relatives are left."""
        return len(self._children)

    def adopt_now(self) -> None:
        """Take what children have left behind by this moment as theirs; else that is done some times
        a second."""
        self._orphans.sweep()

    async def start(  # noqa: PLR0913
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        stdin: Input = "null",
        stdout: Output = "pipe",
        stderr: Errors = "pipe",
        terminal: int | None = None,
        lingers: bool = False,
        passed: Sequence[int] = (),
    ) -> Child:
        """Start a program in a session of its own.

        `cwd` is a path or the descriptor of a folder, `env` the whole environment, `owner` whom
        the log names. With `terminal`, the descriptor of a terminal's inner side, that is the
        controlling terminal and takes stdout and stderr, while `stdin` stays what it says. What
        the child leaves behind when it ends is killed, unless it `lingers`: then it lives until
        the child is stopped, killed or closed. The descriptors `passed` are the child's 3, 4 and so on.
        Raises SpawnFailed.
        """
        ends = Ends()
        family = self._orphans.found(lingers=lingers)
        try:
            if terminal is None:
                files = ends.on_pipes(stdin, stdout, stderr)
            else:
                files = ends.on_terminal(terminal, stdin)
            arguments = [plain(part) for part in argv]
            launch = Launch(
                program=program(arguments[0], env),
                argv=arguments,
                env=variables({**env, MARKER: family.marker}),
                folder=cwd if isinstance(cwd, int) else ends.folder(cwd),
                files=files,
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

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a process: what is given."""
        return dict(given)

    async def free_port(self) -> int:
        """Return a port that nobody listens on at this moment. Raises OSError."""
        return free_port()

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """Return a socket connected to a port of this machine's loopback. Raises OSError."""
        return await connected(host, port)

    async def aclose(self) -> None:
        """Kill and reap everything."""
        await asyncio.gather(*(child.aclose() for child in list(self._children)))
        await self._orphans.aclose(KILL_SECONDS)
