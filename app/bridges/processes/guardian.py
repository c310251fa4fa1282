"""The daemon's side of the guardian, the process that ends the daemon's children when the daemon is killed.

Owns: starting and restarting the guardian, reporting children to it, stopping it. Never: killing
(`guardian_process`). Linux only.
Keeps S9 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from app.bridges.processes import guardian_process, proc
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.exit_watch import ExitWatch
from app.bridges.processes.launch import Launch, Launcher, Opening
from app.bridges.processes.pipes import pipe

log = logging.getLogger("kaged.children")

MARKER = "KAGED_COMMAND"
"""The variable that every child carries."""
VARIABLE = "KAGED_GUARDIAN"
"""The variable that guardians carry, with the name of those whom they guard."""
_FLAGS = (b"-I", b"-S", b"-E", b"-B")
_NULL = Opening(b"/dev/null", os.O_WRONLY)
_QUICK_SECONDS, _QUICK_ENDS = 1.0, 3
REPORT_SECONDS = 0.005
"""Children that end sooner are not reported: until then they are known by their variable."""


class Guardian:
    """Guards the processes whose marker begins with `name`, or whose birthmark belongs to the series of
    `birthmark`. After the `deadline` it ends them also while the daemon lives."""

    def __init__(self, name: str, birthmark: int, deadline: Deadline | None = None) -> None:
        self.pid: int | None = None
        self._deadline = deadline
        self._name = name
        self._birthmark = birthmark
        self._since = proc.ticks_now() - 1
        self._launcher = Launcher()
        self._reported: dict[int, bytes] = {}
        self._unsent: dict[int, bytes] = {}
        self._sender: asyncio.TimerHandle | None = None
        self._pipe: int | None = None
        self._watch: ExitWatch | None = None
        self._ended: asyncio.Future[None] | None = None
        self._begun = 0.0
        self._quick_ends = 0
        self._closed = sys.platform != "linux" or not sys.executable

    def start(self) -> None:
        """Start the guardian unless it is there. Takes half a millisecond; that it gets ready is not
        waited for, as it learns of the daemon's end and children also when it is late."""
        if self._watch is None and not self._closed:
            self._start()

    def leader(self, pid: int, since: int) -> None:
        """Tell of a child, a process that began a session at the tick `since` or later."""
        self._send(pid, b"L %d %d\n" % (pid, since))

    def member(self, pid: int, since: int) -> None:
        """Tell of a process that the daemon has adopted: at once, as it may not carry the variable."""
        self._send(pid, b"M %d %d\n" % (pid, since))
        self._send_all()

    def gone(self, pid: int) -> None:
        """Tell that nothing of a child, or of an adopted process, is left."""
        if self._reported.pop(pid, None) is None:
            return
        if self._unsent.get(pid, b"E").startswith(b"E"):
            self._soon(pid, b"E %d\n" % pid)
        else:
            del self._unsent[pid]

    async def aclose(self) -> None:
        """Stop the guardian and reap it. The processes that it guards must be gone."""
        self._closed = True
        if self._sender is not None:
            self._sender.cancel()
        if self._watch is not None and self._ended is not None:
            self._watch.send(signal.SIGKILL)
            await self._ended

    def _send(self, pid: int, line: bytes) -> None:
        self._reported[pid] = line
        self._soon(pid, line)

    def _soon(self, pid: int, line: bytes) -> None:
        self._unsent[pid] = self._unsent.get(pid, b"") + line  # a number may be given again
        if self._sender is None and not self._closed:
            self._sender = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._send_all)

    def _send_all(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            self._sender = None
        lines, self._unsent = b"".join(self._unsent.values()), {}
        self._write(lines)

    def _write(self, lines: bytes) -> None:
        if self._pipe is None or self._watch is None or not lines:
            return
        try:
            if os.write(self._pipe, lines) == len(lines):
                return
        except BrokenPipeError:
            return  # it has ended, and is started again
        except BlockingIOError:
            pass
        self._watch.send(signal.SIGKILL)  # it does not read; the next one gets all reports

    def _start(self) -> None:
        readable, self._pipe = pipe()
        folder = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.set_blocking(self._pipe, False)
            self.pid = self._launcher.start(self._launch(readable, folder))
        except OSError as problem:
            log.warning("child processes would survive a kill of the daemon: %s", problem.strerror)
            self._closed = True
            self._disconnect()
            return
        finally:
            os.close(folder)
            os.close(readable)
        loop = asyncio.get_running_loop()
        self._begun = loop.time()
        self._ended = loop.create_future()
        self._watch = ExitWatch(self.pid, self._reap)
        self._unsent.clear()
        self._write(b"".join(self._reported.values()))

    def _launch(self, readable: int, folder: int) -> Launch:
        script = os.fsencode(Path(guardian_process.__file__))
        arguments = (self._name, MARKER, str(self._birthmark), str(self._since), str(os.getpid()))
        program = os.fsencode(sys.executable)
        output = _NULL if self._deadline is None else self._deadline.descriptor
        return Launch(
            program=program,
            argv=[program, *_FLAGS, script, *map(os.fsencode, arguments)],
            env=[os.fsencode(f"{VARIABLE}={self._name}")],
            folder=folder,
            files=(readable, output, _NULL),
        )

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            os.waitpid(self.pid or 0, 0)
        self.pid = self._watch = None
        self._disconnect()
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        self._quick_ends = self._quick_ends + 1 if loop.time() < self._begun + _QUICK_SECONDS else 0
        if self._quick_ends < _QUICK_ENDS:
            self._start()
        else:
            log.warning("child processes would survive a kill of the daemon: its guardian does not run")
            self._closed = True

    def _disconnect(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
