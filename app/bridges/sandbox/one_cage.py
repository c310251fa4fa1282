"""One cage of the daemon: its holder, made when it is needed and replaced when its mounts change.

Owns: the holder's making and end, the cage's bounds, and what it keeps. Never: what runs in it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import bubblewrap, system_view
from app.bridges.sandbox.bounds import CageBounds
from app.bridges.sandbox.egress import Egress
from app.bridges.sandbox.holder import Holder, HolderGone
from app.bridges.sandbox.identity import Identity, identity
from app.bridges.sandbox.mounts import Places, open_places, real_mounts
from app.bridges.sandbox.new_names import NewNames, Settled
from app.bridges.sandbox.seccomp_rules import filter_bytes
from app.bridges.sandbox.starter import CageStarter
from app.bridges.sandbox.system_view import Shown
from app.bridges.sandbox.wall_time import WallTime
from app.cages.cage import Cage
from app.errors import ToolError

PROGRAM = "bwrap"
SEARCH_PATH = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
START_SECONDS = 30.0
MOST_PROCESSES = 4096
"""Processes and threads of a cage that says nothing of them: one that multiplies without end is held."""
MOVED_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5, 0.5)
"""Seconds between tries: who removes a large folder is at it for a while."""
COUNT_SECONDS = 1.0
_MOVED = ("swapped:", "Race condition binding dirfd", "No such file or directory")
"""What is said when something was moved between looking at it and binding it."""


class _Holders:
    """The holder of a cage, and older ones in which something still runs. `seen` are the places that the
    present one was made of; `making` is held by who makes one."""

    def __init__(self) -> None:
        self.present: Holder | None = None
        self.seen: dict[str, Identity | None] = {}
        self.making = asyncio.Lock()
        self._retired: set[Holder] = set()

    @property
    def all(self) -> list[Holder]:
        return [*self._retired, *([self.present] if self.present is not None else [])]

    def take_all(self) -> list[Holder]:
        """Return all, of which none is the present one any more."""
        holders, self.present = self.all, None
        return holders

    def retire(self) -> None:
        """Keep the present one until nothing runs in it."""
        holder, self.present = self.present, None
        assert holder is not None
        self._retired.add(holder)
        holder.gone.add_done_callback(lambda _: self._retired.discard(holder))
        if not holder.is_busy:
            holder.kill()

    def kill_idle(self) -> None:
        """Kill the old ones in which nothing runs any more."""
        for holder in [one for one in self._retired if not one.is_busy]:
            holder.kill()


class OneCage:
    """The cage `key`. `root` is the project's folder, `names` takes away forbidden new names, `read_only` are
    folders that every cage shows."""

    def __init__(
        self,
        children: ChildProcesses,
        key: str,
        cage: Cage,
        root: Path,
        egress: Egress,
        *,
        names: NewNames,
        read_only: Sequence[Path] = (),
    ) -> None:
        self.key = key
        self.cage = cage
        self.root = root
        self._real = real_mounts(cage, root)
        self._children = children
        self._read_only = tuple(read_only)
        self._egress = egress
        self._names = names
        self._holders = _Holders()
        self._bounds = CageBounds(replace(cage.limits, pids=cage.limits.pids or MOST_PROCESSES))
        self._keeper: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()
        self._ended = False
        self.wall_time = WallTime(cage.limits.walltime_seconds, self._kill)
        self.starter = CageStarter(self, egress.variables | dict(cage.env), self._bounds.of_process)

    @asynccontextmanager
    async def lend(self, *, starting: bool) -> AsyncIterator[Holder]:
        """Give a holder that fits the cage. Raises ToolError `cage_unavailable`, and `walltime_exceeded`
        when it is to start something."""
        holders = self._holders
        async with holders.making:
            if self._ended:
                raise ToolError("cage_unavailable", "The cage has ended with the run that it was made for.")
            if self._keeper is None:  # here, as the cage's end looks for it before it waits for a making
                self._keeper = asyncio.create_task(
                    self._look_after(), name=f"cage {self.key} is looked after"
                )
                self._names.watch(self.is_busy)
            if starting:
                self.wall_time.begin()
            if starting and self._names.is_quick:
                await self._names.settle(self.is_busy, always=True)
            if holders.present is not None and (holders.present.gone.done() or not self._fits()):
                holders.retire()
            if holders.present is None:
                await self._names.settle(self.is_busy, always=True)
                holders.present = await self._make()
            if starting:
                self.wall_time.begin()  # once more: a holder that is being made is not killed at its end
                self._names.began()
            holder = holders.present
        yield holder

    async def settle(self) -> Settled:
        """Take away new protected names, and return all that were taken away since the last call."""
        await self._names.settle(self.is_busy)
        return self._names.take_unsaid()

    def command_gone(self) -> None:
        """Look at once for what a command has made, when it was the last one."""
        if self._ended or self.is_busy():
            return
        self._names.idle()
        task = asyncio.create_task(self._look_now(), name=f"cage {self.key} is idle")
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _look_now(self) -> None:
        await self._names.settle(self.is_busy)

    async def aclose(self) -> None:
        self._ended = True
        self.wall_time.close()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        await self._names.stop_watching()
        async with self._holders.making:
            holders = self._holders.take_all()
        await asyncio.gather(*(holder.aclose() for holder in holders))
        await self._egress.aclose()
        await asyncio.gather(*self._looking)
        await self._names.settle_all()
        self._names.close()
        await self._bounds.remove()

    def take_refused(self) -> dict[str, str]:
        """Return the hosts that were refused since this was asked last, each with the kind of refusal."""
        return self._egress.take_refused()

    def exceeded(self) -> frozenset[str]:
        """Return the limits, but for the wall time, by which something in it was killed or refused, as far
        as they are counted for the whole cage."""
        return self._bounds.exceeded()

    def is_busy(self) -> bool:
        return any(holder.is_busy for holder in self._holders.all)

    def _fits(self) -> bool:
        seen = self._holders.seen
        return not self._names.outdated and all(identity(path) == was for path, was in seen.items())

    def _kill(self) -> None:
        for holder in self._holders.all:
            holder.kill()

    async def _look_after(self) -> None:
        """End old holders in which nothing runs any more, and count processor time where something counts it
        for all of the cage."""
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            self._holders.kill_idle()
            if self._bounds.uses_up_processor():
                self._kill()

    async def _make(self) -> Holder:
        """Make a holder. When somebody moves folders about meanwhile, it is tried again."""
        for pause in (*MOVED_PAUSES, None):
            try:
                return await self._made()
            except (OSError, SpawnFailed, HolderGone) as problem:
                if pause is None or not any(sign in str(problem) for sign in _MOVED):
                    raise self._cannot(problem) from None
            await asyncio.sleep(pause)
        raise AssertionError

    async def _made(self) -> Holder:
        program = shutil.which(PROGRAM, path=SEARCH_PATH)
        if program is None:
            raise SpawnFailed("bubblewrap is not installed")
        self._bounds.make()
        folders = [*system_view.interpreter_folders()]
        for path in self._read_only:
            folders += system_view.folder_and_alias(path)
        shown = [one.path for one in folders if one.link is None]
        places = await asyncio.to_thread(
            open_places,
            self._real.cage,
            self._real.root,
            shown,
            self._names.known,
            self._names.rules_of,
            can_hide=True,
        )
        try:
            holder = await self._started(program, places, [one for one in folders if one.link is not None])
            self._names.learn(places.protected)
            places.protected.clear()
            self._names.outdated = False
            self._holders.seen = places.seen
        finally:
            places.close()
        return holder

    async def _started(self, program: str, places: Places, links: list[Shown]) -> Holder:
        daemons, holders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        daemons.setblocking(False)
        wrapping = bubblewrap.Wrapping(holders.fileno())
        try:
            self._wrap(wrapping, places, links)
            bubble = await self._children.start(
                wrapping.command(program),
                owner=f"cage {self.key}",
                cwd=Path("/"),
                env={},
                stdout="null",
                passed=wrapping.passed,
            )
        except BaseException:
            daemons.close()
            raise
        finally:
            wrapping.close()
            holders.close()
        holder = Holder(bubble, daemons, self.key)
        try:
            await holder.ready(START_SECONDS)
            self._bounds.take(holder.pid)
            await self._egress.open(holder)
        except BaseException:
            await holder.aclose()
            raise
        return holder

    def _wrap(self, wrapping: bubblewrap.Wrapping, places: Places, links: list[Shown]) -> None:
        if any(bound.path == "/" for bound in places.outer):
            raise SpawnFailed("the whole file system cannot be granted; grant folders in it")
        if self.root != self._real.root:
            links.append(Shown(str(self.root), str(self._real.root)))
        state = None
        if self.cage.state_folder is not None:
            state = _kept_folders(wrapping, self.cage.state_folder)
        bubblewrap.wrap(
            wrapping,
            places,
            links=links,
            filter_bytes=filter_bytes(self.cage.seccomp, unix_sockets=self.cage.unix_sockets),
            state=state,
        )

    def _cannot(self, problem: Exception) -> ToolError:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        return ToolError(
            "cage_unavailable",
            f"The cage could not be made: {reason}. Nothing was run. The operator can run `kaged doctor`.",
            detail={"reason": reason},
        )


def _kept_folders(wrapping: bubblewrap.Wrapping, folder: Path) -> tuple[int, int]:
    """Open the folders that are kept as home and /tmp of the cage; they are made when they are not there."""
    found = []
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in ("home", "tmp"):
        os.makedirs(folder / name, mode=0o700, exist_ok=True)
        descriptor = os.open(folder / name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        wrapping.held.callback(os.close, descriptor)
        found.append(descriptor)
    return found[0], found[1]
