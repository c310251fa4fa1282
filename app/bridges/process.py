"""Child processes: the only place that starts any.

Owns: the children of the daemon, their pipes and their end. Each child has a session and process
group of its own, inherits no descriptor, and takes whatever it started with it when it is killed.
Never: what the children are for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from app.bridges.exit_watch import ExitWatch
from app.bridges.guardian import MARKER
from app.bridges.launch import Launch, Launcher
from app.bridges.loopback import LOOPBACK, connected, free_port
from app.bridges.orphans import Family, Orphans, relatives, send
from app.bridges.pipes import Ends, Errors, Input, Output

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

log = logging.getLogger("kaged.children")

GRACE_SECONDS = 5.0
KILL_ROUND_SECONDS = 0.05
KILL_SECONDS = 5.0
"""How long a killed process may take to vanish (in uninterruptible sleep it cannot)."""
_CHUNK = 64 * 1024


class SpawnFailed(Exception):
    """A child could not be started; `reason` says why, in the words of the system."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that has ended. `truncated`: it was killed because its output was longer than
    allowed. `timed_out`: it was killed because it took too long."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool


class Child:
    """A running or ended child process. Leaving it as an async context kills and awaits it."""

    def __init__(self, pid: int, owner: str, family: Family, orphans: Orphans) -> None:
        self.pid = pid
        self.owner = owner
        self.stdin: StreamWriter | None = None
        self.stdout: StreamReader | None = None
        self.stderr: StreamReader | None = None
        self._ends: Ends | None = None
        self._family = family
        self._orphans = orphans
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        orphans.began(family, pid)
        self._watch = ExitWatch(pid, self._reap)

    @property
    def exit_code(self) -> int | None:
        """The exit code, 128 + N after signal N; None while it runs."""
        return self._exit.result() if self._exit.done() else None

    @property
    def mark(self) -> dict[str, str]:
        """The variable by which what the child starts is known as its own; for who has it start something
        with another environment than the child's."""
        return {MARKER: self._family.marker}

    @property
    def left_behind(self) -> tuple[int, ...]:
        """The processes that the child has left behind and that are still there."""
        return tuple(self._family.members)

    async def wait(self) -> int:
        """Wait for the end of the child and return its exit code; 128 + N after signal N."""
        return await asyncio.shield(self._exit)

    async def has_ended(self, seconds: float) -> bool:
        """Wait for the end of the child, for so long at most, and tell whether it has ended."""
        await asyncio.wait({self._exit}, timeout=seconds)
        return self._exit.done()

    async def wait_for_all(self) -> None:
        """Wait for the end of the child and of everything that it started."""
        await asyncio.shield(self._family.gone)

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> int:
        """Ask the child and all that it started to end, and kill after `grace_seconds` what is
        still there. Return the exit code."""
        try:
            self._signal(signal.SIGTERM)
            # What was stopped (SIGSTOP) notices only when it goes on.
            await self._signal_relatives(signal.SIGTERM, signal.SIGCONT)
            await asyncio.wait({self._family.gone}, timeout=grace_seconds)
        finally:
            self.kill()
        await self._kill_all()
        return self._exit.result() if self._exit.done() else 128 + signal.SIGKILL

    def kill(self) -> None:
        """Kill the child, its group and what it left behind, at once."""
        self._signal(signal.SIGKILL)
        self._family.kill()

    def let_linger(self) -> None:
        """From now on, what the child leaves behind lives on as if it had been started so."""
        self._family.lingers = True

    @property
    def is_gone(self) -> bool:
        """Whether the child and everything that it started is gone."""
        return self._family.gone.done()

    async def aclose(self) -> None:
        """Kill what is there of the child and of all that it started, reap it, close the pipes."""
        self.kill()
        try:
            await self._kill_all()
        finally:
            if self._ends is not None:
                self._ends.close()
                await asyncio.sleep(0)  # the loop may be about to end: the streams close in its next turn

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def connect(self, ends: Ends) -> None:
        """Take the pipes over. Called once, by who starts children."""
        self._ends = ends
        self.stdin = await ends.writer()
        self.stdout = await ends.reader("stdout")
        self.stderr = await ends.reader("stderr")

    async def _kill_all(self) -> None:
        """What is killed here leaves its own children to the daemon, which kills those in turn;
        looking through the whole tree in rounds is faster, and stops what multiplies."""
        for _ in range(round(KILL_SECONDS / KILL_ROUND_SECONDS)):
            if not self.is_gone:
                await asyncio.wait({self._family.gone}, timeout=KILL_ROUND_SECONDS)
            if self.is_gone:
                return
            await self._signal_relatives(signal.SIGKILL)
        log.warning("process %s (%s) or what it started cannot be killed", self.pid, self.owner)

    async def _signal_relatives(self, *numbers: int) -> None:
        for found in await asyncio.to_thread(relatives, self._family):
            for number in numbers:
                send(found, number)

    def _signal(self, number: int) -> None:
        # Until the child is reaped, no other process or group can have its number.
        if not self._exit.done():
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                self._watch.send(number)

    def _reap(self) -> None:
        if not self._family.lingers:
            self._signal(signal.SIGKILL)
        try:
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            log.error("the exit code of process %s (%s) was taken by somebody else", self.pid, self.owner)
            code = 255
        self._exit.set_result(code if code >= 0 else 128 - code)
        self._orphans.leader_ended(self._family)


class ChildProcesses:
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

    async def start(
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
    ) -> Child:
        """Start a program in a session of its own.

        `cwd` is a path or the descriptor of a folder, `env` the whole environment, `owner` whom
        the log names. With `terminal`, the descriptor of a terminal's inner side, that is the
        controlling terminal and takes stdout and stderr, while `stdin` stays what it says. What
        the child leaves behind when it ends is killed, unless it `lingers`: then it lives until
        the child is stopped, killed or closed. Raises SpawnFailed.
        """
        ends = Ends()
        family = self._orphans.found(lingers=lingers)
        try:
            if terminal is None:
                files = ends.on_pipes(stdin, stdout, stderr)
            else:
                files = ends.on_terminal(terminal, stdin)
            arguments = [_plain(part) for part in argv]
            launch = Launch(
                program=_program(arguments[0], env),
                argv=arguments,
                env=_variables({**env, MARKER: family.marker}),
                folder=cwd if isinstance(cwd, int) else ends.folder(cwd),
                files=files,
            )
            child = Child(self._launcher.start(launch), owner, family, self._orphans)
        except (OSError, ValueError) as problem:
            ends.close()
            raise SpawnFailed(_in_words(problem)) from None
        self._children.add(child)
        family.gone.add_done_callback(lambda _: self._children.discard(child))
        ends.close_given()
        try:
            await child.connect(ends)
        except BaseException:
            await child.aclose()
            raise
        return child

    async def run(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        input: bytes = b"",  # noqa: A002  (the name that subprocess.run gives it)
        seconds: float,
        max_output: int,
    ) -> Finished:
        """Run a small program to its end and return all of its output.

        It is killed after `seconds`, or when its stdout or stderr exceeds `max_output` bytes, and
        the output up to there is returned. Raises SpawnFailed.
        """
        stdin: Input = "pipe" if input else "null"
        timed_out = False
        async with await self.start(argv, owner=owner, cwd=cwd, env=env, stdin=stdin) as child:
            outputs = (_Collected(child.stdout, max_output), _Collected(child.stderr, max_output))
            try:
                async with asyncio.timeout(seconds):
                    await asyncio.gather(_feed(child, input), *(one.collect(child) for one in outputs))
                    await child.wait()
            except TimeoutError:
                timed_out = True
                child.kill()
            code = await child.wait()
        truncated = any(one.truncated for one in outputs)
        return Finished(code, bytes(outputs[0].content), bytes(outputs[1].content), truncated, timed_out)

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


class _Collected:
    def __init__(self, stream: StreamReader | None, limit: int) -> None:
        self.content = bytearray()
        self.truncated = False
        self._stream = stream
        self._limit = limit

    async def collect(self, child: Child) -> None:
        while self._stream is not None and (chunk := await self._stream.read(_CHUNK)):
            self.content += chunk
            if len(self.content) > self._limit:
                del self.content[self._limit :]
                self.truncated = True
                child.kill()
                return


async def _feed(child: Child, content: bytes) -> None:
    if child.stdin is None:
        return
    try:
        child.stdin.write(content)
        await child.stdin.drain()
    except ConnectionError:
        pass  # it has read what it wanted
    child.stdin.close()


def _plain(text: str | bytes) -> bytes:
    """Return what the system takes; ValueError for what it would cut short or cannot say."""
    plain = os.fsencode(text)
    if b"\0" in plain:
        raise ValueError("an argument or variable contains a null character")
    return plain


def _variables(env: Mapping[str, str]) -> list[bytes]:
    for name in env:
        if not name or "=" in name:
            raise ValueError(f"{name!r} is not the name of a variable")
    entries = os.fsencode("\0".join(f"{name}={value}" for name, value in env.items())).split(b"\0")
    if len(entries) != len(env):
        raise ValueError("a variable contains a null character")
    return entries


def _program(name: bytes, env: Mapping[str, str]) -> bytes:
    if b"/" in name:
        return name
    found = shutil.which(os.fsdecode(name), path=env.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(2, f"there is no program {os.fsdecode(name)!r}")
    return os.fsencode(found)


def _in_words(problem: OSError | ValueError) -> str:
    if isinstance(problem, UnicodeError):
        return "an argument or variable is not valid text"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return str(problem)
