"""Processes that outlived their parent, and the child of the daemon they belong to.

Owns: adopting, ending and reaping them. Never: processes of the daemon's own session.

The daemon is a subreaper: processes that its children leave behind become its children. In a cage they become
children of the cage's first process. Both are called keepers. An orphan is recognised by a variable, its
birthmark, its session, having been seen below its child, or having started while only one child ran.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import secrets
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

from app.bridges.processes import proc
from app.bridges.processes.birthmark import Birthmarks, birthmark
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.exit_watch import ExitWatch
from app.bridges.processes.guardian import MARKER, VARIABLE, Guardian

SWEEP_SECONDS = 0.25
CLOSING_SECONDS = 0.01
SWEEPS_A_LOOK = 4
"""Every so many sweeps the descendants of commands are noted."""
MAX_NOTED = 300
MAX_WATCHED = 200
"""So many orphans of one cage are watched at the same time."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(eq=False, slots=True)
class Family:
    """One child and what it left behind. `lingers`: those may live on when the child has ended."""

    marker: str
    lingers: bool
    birthmark: int = 0
    leader: int = 0
    started: int = field(default_factory=proc.ticks_now)
    members: dict[int, ExitWatch] = field(default_factory=dict)
    noted: dict[int, int] = field(default_factory=dict)
    """When each descendant was started that was seen at the last look, by its number."""
    ended: bool = False
    doomed: bool = False
    gone: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when the child and everything that it started is gone."""

    def look(self) -> None:
        """Note the descendants: one that changes all that it is known by, and whose parents end, is known
        again by having been seen."""
        self.noted = {}
        waiting = [self.leader, *self.members]
        while waiting and len(self.noted) < MAX_NOTED:
            for child in proc.children(waiting.pop()):
                found = proc.process(child) if child not in self.noted else None
                if found is not None and found.started >= self.started:
                    self.noted[child] = found.started
                    waiting.append(child)

    def kill(self) -> None:
        """Kill the processes left behind, and all that are found later."""
        self.doomed = True
        for watch in list(self.members.values()):
            watch.send(signal.SIGKILL)


class Orphans:
    """All families of one keeper, and the orphans without a known family. `cage` is the process id of
    a cage's first process when that is the keeper, and not the daemon."""

    def __init__(self, cage: int | None = None, deadline: Deadline | None = None) -> None:
        self.keeper_pid = os.getpid() if cage is None else cage
        self._own = cage is None
        self._process = f"{os.getpid()}-"
        self._name = self._process + secrets.token_hex(8)
        self._birthmarks = Birthmarks()
        self._guardian = Guardian(self._name, self._birthmarks.first, deadline) if cage is None else None
        self._starting = 0
        self._count = 0
        self._families: dict[str, Family] = {}
        self._unclaimed: dict[int, tuple[ExitWatch, set[str]]] = {}
        self._strangers: set[int] = set()
        self._zombies: set[int] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._sweeps = 0
        self._adopting = sys.platform != "linux" or not self._own

    def found(self, *, lingers: bool) -> Family:
        """Return the family of a child that is about to be started with the family's marker."""
        if not self._adopting:
            # Before the first child: what is started earlier may lose its orphans to init.
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._adopting = True
        if self._guardian is not None:
            self._guardian.start()
        self._count += 1
        return Family(f"{self._name}.{self._count}", lingers, self._birthmarks.number(self._count))

    @property
    def has_families(self) -> bool:
        """Whether a child, or anything that it left behind, is running."""
        return bool(self._families) or bool(self._starting)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While a child is being started that is not noted yet, it is nobody's orphan."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    def began(self, family: Family, leader: int) -> None:
        family.leader = leader
        self._families[family.marker] = family
        if self._guardian is not None:
            self._guardian.leader(leader, family.started)
        self._sweep_soon()

    def leader_ended(self, family: Family) -> None:
        """Note that the child has ended and was reaped."""
        family.ended = True
        self.sweep()
        if not family.lingers:
            family.kill()
        self._settle(family)
        self._forget()

    def sweep(self) -> None:
        leaders = {family.leader for family in self._families.values() if not family.ended}
        seen = set(proc.children_of_first_thread(self.keeper_pid)) - leaders
        if self._guardian is not None:
            seen.discard(self._guardian.pid or 0)
        self._strangers &= seen
        suspects = self._zombies & seen
        self._zombies = set()
        for pid in list(self._unclaimed):
            self._claim(pid)
        members = {pid for family in self._families.values() for pid in family.members}
        new = seen - self._strangers - self._unclaimed.keys() - members
        for pid in new if self._own else self._as_many_as_fit(new):
            self._receive(pid, suspects)
        if self._zombies:
            self._sweep_soon()

    def _as_many_as_fit(self, new: Collection[int]) -> Iterator[int]:
        """Yield those of a cage that are to be watched: a cage could leave behind as many as it likes. The
        others come later, or end with it."""
        watched = len(self._unclaimed) + sum(len(family.members) for family in self._families.values())
        return islice(new, max(0, MAX_WATCHED - watched))

    async def aclose(self, seconds: float) -> None:
        """Wait, not longer than `seconds`, for the end of orphans without a known family, and
        stop looking. The families are gone by then."""
        self.sweep()
        self._forget()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._unclaimed or self._zombies:
                    await asyncio.sleep(CLOSING_SECONDS)
                    self.sweep()
                    self._forget()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        if self._guardian is not None:
            await self._guardian.aclose()

    def _sweep_again(self) -> None:
        self._sweeper = None
        self._sweeps += 1
        if self._sweeps % SWEEPS_A_LOOK == 0:
            for family in self._families.values():
                if family.lingers:
                    family.look()
        self.sweep()
        self._forget()
        if self._families or self._unclaimed or self._zombies:
            self._sweep_soon()

    def _sweep_soon(self) -> None:
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep_again)

    def _receive(self, pid: int, suspects: Collection[int]) -> None:
        found = proc.process(pid)
        if found is None or (found.ended and not self._own):
            return
        marker, born = None if found.ended else proc.variable(pid, MARKER), birthmark(pid)
        if self._own and (found.session == os.getsid(0) or self._is_of_another_keeper(pid, marker, born)):
            self._strangers.add(pid)
            return
        family = self._family_of(found, marker, born)
        if family is not None:
            self._adopt(pid, family)
            return
        if self._starting:
            return
        families = () if self._birthmarks.has(born) else self._families.values()  # its own is gone
        candidates = {one.marker for one in families if one.started <= found.started}
        only = self._families[next(iter(candidates))] if len(candidates) == 1 else None
        if pid in suspects:
            self._reap(pid)
        elif found.ended:
            # It may also be a child that something else in this process is about to reap.
            self._zombies.add(pid)
        elif not candidates and not self._birthmarks.has(born):
            self._strangers.add(pid)
        elif only is not None and not only.gone.done():
            self._adopt(pid, only)
        else:
            watch = self._watched(pid, lambda: self._unclaimed_ended(pid))
            if watch is not None:
                self._unclaimed[pid] = (watch, candidates)
                if self._guardian is not None:
                    self._guardian.member(pid, found.started)

    def _is_of_another_keeper(self, pid: int, marker: str | None, born: int) -> bool:
        if self._birthmarks.is_neighbour(born):
            return True
        marker = marker or proc.variable(pid, VARIABLE)
        return marker is not None and marker.startswith(self._process) and not marker.startswith(self._name)

    def _family_of(self, found: proc.Process, marker: str | None, born: int) -> Family | None:
        if marker is not None and marker in self._families:
            return self._families[marker]
        for family in reversed(self._families.values()):
            if found.session == family.leader or (born and born == family.birthmark):
                return family
        # It may have got rid of all that, but not of having been seen.
        noted = (one for one in self._families.values() if one.noted.get(found.pid) == found.started)
        return next(noted, None)

    def _claim(self, pid: int) -> None:
        """Give an orphan to its family if it is known by now: a program that was just being
        loaded when it was first seen shows no environment."""
        marker = proc.variable(pid, MARKER)
        if marker is not None and marker in self._families:
            self._unclaimed.pop(pid)[0].close()
            self._adopt(pid, self._families[marker])

    def _adopt(self, pid: int, family: Family) -> None:
        watch = self._watched(pid, lambda: self._member_ended(pid, family))
        if watch is None:
            return
        family.members[pid] = watch
        if self._guardian is not None:
            self._guardian.member(pid, family.started)
        if family.doomed or family.gone.done():
            watch.send(signal.SIGKILL)

    def _watched(self, pid: int, ended: Callable[[], None]) -> ExitWatch | None:
        """Watch a child of the keeper. In a cage it may have been reaped since it was seen, and its number
        may be another's: then None."""
        if self._own:
            return ExitWatch(pid, ended)
        try:
            watch = ExitWatch(pid, ended)
        except OSError:
            return None
        found = proc.process(pid)
        if found is not None and found.parent == self.keeper_pid:
            return watch
        watch.close()
        return None

    def _member_ended(self, pid: int, family: Family) -> None:
        self._reap(pid)
        self.sweep()
        family.members.pop(pid, None)
        if self._guardian is not None:
            self._guardian.gone(pid)
        self._settle(family)
        self._forget()

    def _unclaimed_ended(self, pid: int) -> None:
        self._reap(pid)
        self.sweep()
        self._unclaimed.pop(pid, None)
        if self._guardian is not None:
            self._guardian.gone(pid)
        self._forget()

    def _reap(self, pid: int) -> None:
        if self._own:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _settle(self, family: Family) -> None:
        if family.ended and not family.members and not family.gone.done():
            family.gone.set_result(None)
            if self._guardian is not None:
                self._guardian.gone(family.leader)

    def _forget(self) -> None:
        """Forget families that are gone, but not while there is an orphan that may belong to them:
        what that one leaves behind may, too. Such orphans end with the last of those families."""
        wanted: set[str] = set()
        for watch, candidates in list(self._unclaimed.values()):
            wanted |= candidates
            if all(self._families[marker].gone.done() for marker in candidates):
                watch.send(signal.SIGKILL)
        for marker, family in list(self._families.items()):
            if family.gone.done() and not family.members and marker not in wanted:
                del self._families[marker]


def relatives(family: Family, keeper: int) -> list[proc.Process]:
    """Return the living processes of a family, wherever they are in the tree below its keeper. Blocks
    for some milliseconds."""
    living = {found.pid: found for found in proc.processes() if not found.ended}
    children: dict[int, list[proc.Process]] = {}
    for found in living.values():
        children.setdefault(found.parent, []).append(found)
    mine: dict[int, proc.Process] = {}
    waiting = list(children.get(keeper, ()))
    while waiting:
        found = waiting.pop()
        waiting += children.get(found.pid, ())
        if (
            found.pid in (family.leader, *family.members)
            or found.parent in mine
            or found.session == family.leader
            or family.noted.get(found.pid) == found.started
            or proc.variable(found.pid, MARKER) == family.marker
            or birthmark(found.pid) == family.birthmark
        ):
            mine[found.pid] = found
    return list(mine.values())


def send(found: proc.Process, number: int) -> None:
    """Signal exactly this process: not another one that got its number meanwhile."""
    try:
        descriptor = os.pidfd_open(found.pid)
    except OSError:
        return
    try:
        now = proc.process(found.pid)
        if now is not None and now.started == found.started:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        os.close(descriptor)
