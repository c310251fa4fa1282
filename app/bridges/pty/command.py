"""One command on a terminal of its own, until everything it started has ended.

Owns: the child, its terminal and output, and the order in which they end. Never: how many commands there may
be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from app.bridges.processes.child import Child
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.pty.output import MAX_RECENT, OpenFile, Output
from app.bridges.pty.terminal import Terminal
from app.ids import now_ms

KILLED = 137
GRACE_SECONDS = 5.0
LAST_OUTPUT_SECONDS = 0.1
LAST_OUTPUT_OF_LINGERING_SECONDS = 0.05
WINDOW_SECONDS = 0.02
WINDOW_BYTES = 256 * 1024

CommandState = Literal["running", "background", "ended"]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What to run for whom. `cwd` is the descriptor of a folder, `env` the whole environment. `children`
    starts it, with the daemon's rights or in a cage."""

    command: str
    session_id: str
    agent_path: str
    cwd: int
    shown_cwd: str
    env: Mapping[str, str]
    open_file: OpenFile
    children: ChildStarter


class Command:
    """A shell command. `running` until the shell has ended, then `background` for as long as
    something that it started is there."""

    def __init__(self, command_id: str, spec: CommandSpec) -> None:
        self.id = command_id
        self.spec = spec
        self.started_at = now_ms()
        self.ended_at: int | None = None
        self.timed_out = False
        self.output = Output(spec.open_file)
        self._terminal = Terminal(self._received)
        self._child: Child | None = None
        self._writer: asyncio.Task[None] | None = None
        self._waiter: asyncio.Task[None] | None = None
        self._ending = False
        self._read_to = 0
        self._window_end = 0.0
        self._window_bytes = 0

    @property
    def state(self) -> CommandState:
        if self.ended_at is not None:
            return "ended"
        if self._child is None or self._child.exit_code is None:
            return "running"
        return "background" if self.lingers else "ended"

    @property
    def pid(self) -> int | None:
        """The process that stands for the command: the shell, or the first it left behind."""
        if self._child is None or self.state == "ended":
            return None
        if self.state == "running":
            return self._child.pid
        return next(iter(self._child.left_behind), None)

    @property
    def pids(self) -> tuple[int, ...]:
        """The shell, while it runs, and its orphans, without their children."""
        if self._child is None or self.ended_at is not None:
            return ()
        shell = (self._child.pid,) if self._child.exit_code is None else ()
        return (*shell, *self._child.left_behind)

    @property
    def exit_code(self) -> int | None:
        """The shell's exit code; 137 when the command was killed for taking too long."""
        if self._child is None or self._child.exit_code is None:
            return None
        return KILLED if self.timed_out else self._child.exit_code

    @property
    def lingers(self) -> bool:
        """Whether background processes run that are not being stopped."""
        return self._child is not None and bool(self._child.left_behind) and not self._ending

    async def start(self) -> None:
        """Start the shell. Raises SpawnFailed. With job control (`-m`) background jobs get process groups of
        their own: else the kernel would hang them up when the shell ends."""
        try:
            self._child = await self.spec.children.start(
                ["/bin/sh", "-m", "-c", self.spec.command],
                owner=f"{self.spec.session_id}/{self.id}",
                cwd=self.spec.cwd,
                env=self.spec.env,
                terminal=self._terminal.inner,
                lingers=True,
            )
        except BaseException:
            self._terminal.close()
            raise
        self._terminal.resume()

    async def finish(self, seconds: float, grace_seconds: float = GRACE_SECONDS) -> None:
        """Wait until the shell has ended and its output is read; stop it all after `seconds`."""
        assert self._child is not None
        if not await self._child.has_ended(seconds):
            self.timed_out = True
            await self._child.stop(grace_seconds)
        await self._written()
        self._terminal.release()
        self._terminal.read_now()
        await self._last_output(LAST_OUTPUT_OF_LINGERING_SECONDS if self.lingers else LAST_OUTPUT_SECONDS)
        if self._terminal.ended.is_set():
            self.output.finish()
        await self._written()
        await self.output.close()

    def read_now(self) -> None:
        """Take in what is on the terminal, without waiting for the event loop."""
        self._terminal.read_now()

    def linger(self) -> None:
        """Let what is left live on; only the end of the output is kept from now on."""
        self._read_to = self.output.position
        self.output.release()
        self._waiter = asyncio.create_task(self._until_all_ended(), name=f"end of {self.id}")

    def read(self) -> tuple[str, int]:
        """Return the output since the last reading, and how many bytes of it are gone."""
        text, self._read_to, lost = self.output.since(self._read_to)
        return text, lost

    def tail(self) -> str:
        return self.output.since(self.output.position - MAX_RECENT)[0]

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Ask everything to end, kill what does not; return when it is gone."""
        self._ending = True
        if self._child is not None and self.ended_at is None:
            await self._child.stop(grace_seconds)
        await self.aclose()

    async def aclose(self) -> None:
        """Kill everything at once and free the terminal; return when it is gone."""
        self._ending = True
        if self._child is not None:
            await self._child.aclose()
        if self._waiter is not None:
            await asyncio.wait({self._waiter})
        self._end()
        await self._written()
        await self.output.close()

    def _end(self) -> None:
        if self.ended_at is None:
            self.ended_at = now_ms()
            self._terminal.close()
            self.output.finish()

    async def _until_all_ended(self) -> None:
        assert self._child is not None
        await self._child.wait_for_all()
        await self._last_output(LAST_OUTPUT_SECONDS)
        self._end()

    async def _last_output(self, seconds: float) -> None:
        """Wait for the end of the output, not for long: somebody may still have the terminal."""
        if self._terminal.ended.is_set():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._terminal.ended.wait()

    def _received(self, content: bytes) -> None:
        self.output.add(content)
        if self.output.over or self._waiter is not None:
            self._throttle(len(content))
        elif self.output.due and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._write(), name=f"output of {self.id}")
        elif self.output.behind:
            self._terminal.pause()

    def _throttle(self, size: int) -> None:
        """Nobody may ever read it: let the writer live, but not at the cost of everybody else."""
        now = asyncio.get_running_loop().time()
        if now >= self._window_end:
            self._window_end, self._window_bytes = now + WINDOW_SECONDS, 0
        self._window_bytes += size
        if self._window_bytes > WINDOW_BYTES:
            self._terminal.pause(self._window_end - now)

    async def _write(self) -> None:
        await self.output.write()
        self._terminal.resume()

    def try_end(self) -> bool:
        """End at once if there is nothing left to wait for, and tell whether that was so."""
        idle = (self._writer is None or self._writer.done()) and not self.output.has_file
        if idle and self._waiter is None and self._child is not None and self._child.is_gone:
            self._end()
        return self.ended_at is not None

    async def _written(self) -> None:
        if self._writer is not None:
            await asyncio.wait({self._writer})
