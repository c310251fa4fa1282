"""A child process as its caller sees it: pipes, signals and end.

Owns: `Child`, and running one to its end. Never: starting, watching and reaping (`Leader`).
"""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from app.bridges.processes.guardian import MARKER
from app.bridges.processes.orphans import Family, Orphans, relatives, send
from app.bridges.processes.pipes import Ends
from app.errors import Failure

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

log = logging.getLogger("kaged.children")

GRACE_SECONDS = 5.0
KILL_ROUND_SECONDS = 0.05
KILL_SECONDS = 5.0
"""How long a killed process may take to vanish (in uninterruptible sleep it cannot)."""
_CHUNK = 64 * 1024


class ChildEnded(Failure):
    """A child could not be started, or has ended; `exit_code` is None when it did not end by itself."""

    def __init__(self, reason: str, exit_code: int | None = None) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class SpawnFailed(Failure):
    """A child could not be started; `reason` says why, in the words of the system."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that has ended. `truncated`: it was killed because its output was longer than
    allowed. `timed_out`: it was killed because it took too long."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool


class Leader(Protocol):
    """The process of a child itself, as its starter reaches it."""

    pid: int
    """Its number for the daemon; within a cage it is known by another."""

    def watch(self, ends: Callable[[], None], ended: Callable[[int], None]) -> None:
        """Have `ended` called once, with the exit code (128 + N after signal N), when it has ended and was
        reaped. `ends` is called just before, while its number is still its own. Called once."""

    def signal(self, number: int) -> None:
        """Signal its process group; nothing happens when that is gone."""


class Child:
    """A running or ended child process. Leaving it as an async context kills and awaits it."""

    def __init__(self, leader: Leader, owner: str, family: Family, orphans: Orphans) -> None:
        self.pid = leader.pid
        self.owner = owner
        self.stdin: StreamWriter | None = None
        self.stdout: StreamReader | None = None
        self.stderr: StreamReader | None = None
        self._ends: Ends | None = None
        self._family = family
        self._orphans = orphans
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._leader = leader
        orphans.began(family, leader.pid)
        leader.watch(self._ends_now, self._ended)

    @property
    def exit_code(self) -> int | None:
        """The exit code, 128 + N after signal N; None while it runs."""
        return self._exit.result() if self._exit.done() else None

    @property
    def mark(self) -> dict[str, str]:
        """The variable that identifies what the child starts, for processes that it starts in another
        environment."""
        return {MARKER: self._family.marker}

    @property
    def left_behind(self) -> tuple[int, ...]:
        """The processes that the child has left behind and that are still there."""
        return tuple(self._family.members)

    def limit_memory(self, size: int) -> None:
        """Let it allocate `size` bytes at most, where the system can say so. Mapped files do not count."""
        if hasattr(resource, "prlimit"):
            with suppress(ProcessLookupError):  # it may have ended already
                resource.prlimit(self.pid, resource.RLIMIT_DATA, (size, size))

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

    def when_gone(self, call: Callable[[], None]) -> None:
        """Have something called once the child and everything that it started is gone."""
        self._family.gone.add_done_callback(lambda _: call())

    @property
    def is_gone(self) -> bool:
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
        for found in await asyncio.to_thread(relatives, self._family, self._orphans.keeper_pid):
            for number in numbers:
                send(found, number)

    def _signal(self, number: int) -> None:
        if not self._exit.done():
            self._leader.signal(number)

    def _ends_now(self) -> None:
        if not self._family.lingers:
            self._signal(signal.SIGKILL)

    def _ended(self, code: int) -> None:
        if not self._exit.done():
            self._exit.set_result(code)
            self._orphans.leader_ended(self._family)


async def run_to_end(
    starting: Awaitable[Child],
    input: bytes,  # noqa: A002  (the name that subprocess.run gives it)
    seconds: float,
    max_output: int,
    max_memory: int | None = None,
) -> Finished:
    """Await the start of a child whose stdin is a pipe when there is `input`, and its end; return all of
    its output, as `ChildProcesses.run` says. Raises SpawnFailed."""
    timed_out = False
    async with await starting as child:
        if max_memory is not None:
            child.limit_memory(max_memory)
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
