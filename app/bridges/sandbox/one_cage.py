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
from app.bridges.sandbox.bounds import ControlGroups, process_limits
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
MOVED_TIMES = 10
COUNT_SECONDS = 1.0
_MOVED = ("swapped:", "Race condition binding dirfd", "No such file or directory")
"""What is said when something was moved between looking at it and binding it."""


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
        self._real, self._real_root = real_mounts(cage, root)
        self._children = children
        self._read_only = tuple(read_only)
        self._egress = egress
        self._names = names
        self._holder: Holder | None = None
        self._seen: dict[str, Identity | None] = {}
        self._retired: set[Holder] = set()
        self._making = asyncio.Lock()
        self._limits = replace(cage.limits, pids=cage.limits.pids or MOST_PROCESSES)
        self._groups: ControlGroups | None = None
        self._processor_is_used_up = False
        self._keeper: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()
        self._ended = False
        self.wall_time = WallTime(cage.limits.walltime_seconds, self._kill)
        self.starter = CageStarter(self, egress.variables | dict(cage.env), self._process_limits)

    @asynccontextmanager
    async def lend(self, *, starting: bool) -> AsyncIterator[Holder]:
        """Give a holder that fits the cage. Raises ToolError `cage_unavailable`, and `walltime_exceeded`
        when it is to start something."""
        async with self._making:
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
            holder = self._holder
            if holder is not None and (holder.gone.done() or not self._fits()):
                self._retire(holder)
                self._holder = None
            if self._holder is None:
                await self._names.settle(self.is_busy, always=True)
                self._holder = await self._make()
            if starting:
                self.wall_time.begin()  # once more: a holder that is being made is not killed at its end
                self._names.began()
            holder = self._holder
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
        async with self._making:
            holders = [*self._retired, *([self._holder] if self._holder is not None else [])]
            self._holder = None
        await asyncio.gather(*(holder.aclose() for holder in holders))
        await self._egress.aclose()
        await asyncio.gather(*self._looking)
        await self._names.settle_all()
        self._names.close()
        if self._groups is not None:
            await self._groups.remove_all()

    def take_refused(self) -> dict[str, str]:
        """Return the hosts that were refused since this was asked last, each with the kind of refusal."""
        return self._egress.take_refused()

    def exceeded(self) -> frozenset[str]:
        """Return the limits, but for the wall time, by which something in it was killed or refused, as far
        as they are counted for the whole cage."""
        found = frozenset({"cpu_seconds"}) if self._processor_is_used_up else frozenset[str]()
        return found if self._groups is None else found | self._groups.exceeded()

    def is_busy(self) -> bool:
        present = () if self._holder is None else (self._holder,)
        return any(holder.is_busy for holder in (*self._retired, *present))

    def _fits(self) -> bool:
        return not self._names.outdated and all(identity(path) == was for path, was in self._seen.items())

    def _kill(self) -> None:
        for holder in (*self._retired, *([self._holder] if self._holder is not None else [])):
            holder.kill()

    def _retire(self, holder: Holder) -> None:
        """Keep an old holder until nothing runs in it."""
        self._retired.add(holder)
        holder.gone.add_done_callback(lambda _: self._retired.discard(holder))
        if not holder.is_busy:
            holder.kill()

    def _process_limits(self) -> dict[str, int]:
        grouped = frozenset[str]() if self._groups is None else self._groups.controllers
        return process_limits(self._limits, grouped=grouped)

    async def _look_after(self) -> None:
        """End old holders in which nothing runs any more, and count processor time where something counts it
        for all of the cage."""
        most = self.cage.limits.cpu_seconds
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            for holder in [one for one in self._retired if not one.is_busy]:
                holder.kill()
            used = self._groups.cpu_seconds() if self._groups is not None and most is not None else None
            if used is not None and most is not None and used > most:
                self._processor_is_used_up = True
                self._kill()

    async def _make(self) -> Holder:
        """Make a holder. When somebody moves folders about meanwhile, it is tried again."""
        for last in (*[False] * (MOVED_TIMES - 1), True):
            try:
                return await self._made()
            except (OSError, SpawnFailed, HolderGone) as problem:
                if last or not any(sign in str(problem) for sign in _MOVED):
                    raise self._cannot(problem) from None
        raise AssertionError

    async def _made(self) -> Holder:
        program = shutil.which(PROGRAM, path=SEARCH_PATH)
        if program is None:
            raise SpawnFailed("bubblewrap is not installed")
        if self._groups is None:
            self._groups = ControlGroups.make(self._limits)
        folders = [*system_view.interpreter_folders()]
        for path in self._read_only:
            folders += system_view.folder_and_alias(path)
        shown = [one.path for one in folders if one.link is None]
        places = await asyncio.to_thread(
            open_places,
            self._real,
            self._real_root,
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
            self._seen = places.seen
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
            if self._groups is not None:
                self._groups.take(holder.pid)
            await self._egress.open(holder)
        except BaseException:
            await holder.aclose()
            raise
        return holder

    def _wrap(self, wrapping: bubblewrap.Wrapping, places: Places, links: list[Shown]) -> None:
        if any(bound.path == "/" for bound in places.outer):
            raise SpawnFailed("the whole file system cannot be granted; grant folders in it")
        if self.root != self._real_root:
            links.append(Shown(str(self.root), str(self._real_root)))
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
