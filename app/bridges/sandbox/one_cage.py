"""One cage of the daemon: its holder, made when it is needed and made anew when what it shows is another.

Owns: the holder's making and end. Never: what runs in it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from app.bridges.process import ChildProcesses, SpawnFailed
from app.bridges.sandbox import bubblewrap, system_view
from app.bridges.sandbox.holder import Holder, HolderGone
from app.bridges.sandbox.mounts import Places, look, open_places, real_mounts
from app.bridges.sandbox.seccomp_rules import filter_bytes
from app.bridges.sandbox.starter import CageStarter
from app.bridges.sandbox.system_view import Shown
from app.bridges.sandbox.way_out import WayOut
from app.cages.cage import Cage
from app.errors import ToolError

PROGRAM = "bwrap"
START_SECONDS = 30.0
MOVED_TIMES = 10
_MOVED = ("swapped:", "Race condition binding dirfd", "No such file or directory")
"""What is said when something was moved between looking at it and binding it."""


class OneCage:
    """The cage `key`. `root` is the project's folder."""

    def __init__(self, children: ChildProcesses, key: str, cage: Cage, root: Path, way_out: WayOut) -> None:
        self.key = key
        self.cage = cage
        self.root = root
        self._real, self._real_root = real_mounts(cage, root)
        self._children = children
        self._holder: Holder | None = None
        self._seen: dict[str, tuple[int, int] | None] = {}
        self._retired: set[Holder] = set()
        self._making = asyncio.Lock()
        self._ended = False
        self._way_out = way_out
        self.starter = CageStarter(self.lend, way_out.variables | dict(cage.env), {"RLIMIT_CORE": 0})

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Holder]:
        """Give a holder that fits the cage. Raises ToolError `cage_unavailable`."""
        async with self._making:
            if self._ended:
                raise ToolError("cage_unavailable", "The cage has ended with the run that it was made for.")
            holder = self._holder
            if holder is not None and (holder.gone.done() or not self._fits()):
                self._retire(holder)
                holder = None
            if holder is None:
                holder = await self._make()
            self._holder = holder
        yield holder

    async def aclose(self) -> None:
        """Kill everything in the cage."""
        self._ended = True
        async with self._making:
            holders = [*self._retired, *([self._holder] if self._holder is not None else [])]
            self._holder = None
        await asyncio.gather(*(holder.aclose() for holder in holders))
        await self._way_out.aclose()

    def _fits(self) -> bool:
        return all(look(path) == identity for path, identity in self._seen.items())

    def _retire(self, holder: Holder) -> None:
        """Let what runs in an old holder end in it."""
        if holder.gone.done() or holder.running == 0:
            holder.kill()
        self._retired.add(holder)
        holder.gone.add_done_callback(lambda _: self._retired.discard(holder))

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
        program = shutil.which(PROGRAM, path="/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin")
        if program is None:
            raise SpawnFailed("bubblewrap is not installed")
        folders = list(system_view.interpreter_folders())
        shown = [one.path for one in folders if one.link is None]
        places = await asyncio.to_thread(open_places, self._real, self._real_root, shown)
        daemons, holders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        daemons.setblocking(False)
        wrapping = bubblewrap.Wrapping(holders.fileno())
        try:
            self._wrap(wrapping, places, [one for one in folders if one.link is not None])
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
            places.close()
            holders.close()
        holder = Holder(bubble, daemons, self.key)
        try:
            await holder.ready(START_SECONDS)
            await self._way_out.open(holder)
        except BaseException:
            await holder.aclose()
            raise
        self._seen = places.seen
        return holder

    def _wrap(self, wrapping: bubblewrap.Wrapping, places: Places, links: list[Shown]) -> None:
        if any(bound.path == "/" for bound in places.outer):
            raise SpawnFailed("the whole file system cannot be granted; grant folders in it")
        if self.root != self._real_root:
            links.append(Shown(str(self.root), str(self._real_root)))
        state = None
        if self.cage.state_folder is not None:
            state = self._state(wrapping, self.cage.state_folder)
        bubblewrap.wrap(
            wrapping,
            places,
            links=links,
            filter_bytes=filter_bytes(self.cage.seccomp, unix_sockets=self.cage.unix_sockets),
            state=state,
        )

    def _state(self, wrapping: bubblewrap.Wrapping, folder: Path) -> tuple[int, int]:
        found = []
        for name in ("home", "tmp"):
            with suppress(FileExistsError):
                os.makedirs(folder / name, mode=0o700)
            descriptor = os.open(folder / name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            wrapping.held.callback(os.close, descriptor)
            found.append(descriptor)
        return found[0], found[1]

    def _cannot(self, problem: Exception) -> ToolError:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        return ToolError(
            "cage_unavailable",
            f"The cage could not be made: {reason}. Nothing was run; `kaged doctor` tells the operator more.",
            detail={"reason": reason},
        )
