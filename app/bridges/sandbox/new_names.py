"""Protected names that a cage creates are taken away when its command ends.

Owns: deciding which names are the cage's, and having them taken away. Never: names from before, which are
read-only mounts.

The kernel does not record who made a name. A name that was made or changed while something ran in the cage
counts as the cage's; it is kept and reported, so that another owner can have it back. Busy times are never
forgotten: a name may be hidden first and moved into view later.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.bridges.processes.audit import Emit
from app.bridges.sandbox.identity import Identity
from app.bridges.sandbox.mounts import RulesOf
from app.bridges.sandbox.protected import Found, ProtectedNames
from app.bridges.sandbox.quarantine import TakenAway, open_up, take_away

log = logging.getLogger("kaged.cages")

MAX_ROUNDS = 120
"""The rounds of one look. Each round opens one of several nested closed folders."""
MAX_TAKEN = 1_000
"""The names of one look; the next look takes the rest."""
MAX_EVENTS = 100
"""Names with an audit event each, of those taken at one time."""
MAX_LAST_LOOKS = 100
QUICK_SECONDS = 0.03
"""Of the processor: on a busy machine a small look is quick, too, though one waits longer for it."""
LONGEST_SECONDS = 1.0
"""A look that waits so long for disks or for others is not quick."""
WATCH_SECONDS = 1.0
WATCH_SHARE = 20.0
"""How often it is looked while something runs: looking takes at most the twentieth part of the time."""
_TICK_NS = 20_000_000
"""Time stamps of files are those of the kernel's last tick, so that they may be a little too early."""
MAX_BUSY_TIMES = 1_000
"""Beyond that, the oldest are counted as one."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The findings after a command. `complete` is False when there was too much to look through. `made` are
    paths of new soft names, which stay; `beyond` counts the protected names that are not frozen."""

    taken_away: tuple[TakenAway, ...] = ()
    complete: bool = True
    made: tuple[str, ...] = ()
    beyond: int = 0

    def and_then(self, later: Settled) -> Settled:
        """Return what was found at two times."""
        return Settled(
            (*self.taken_away, *later.taken_away),
            self.complete and later.complete,
            tuple(dict.fromkeys((*self.made, *later.made))),
            max(self.beyond, later.beyond),
        )


@dataclass(frozen=True, slots=True)
class LookTime:
    """How long a look took, in seconds: in all, and of the processor."""

    passed: float = 0.0
    processor: float = 0.0


class BusyTimes:
    """The times at which something ran in a cage."""

    def __init__(self) -> None:
        self._over: tuple[tuple[int, int], ...] = ()
        self._since: int | None = None

    def began(self) -> None:
        if self._since is None:
            self._since = time.time_ns() - _TICK_NS

    def ended(self) -> None:
        if self._since is not None:
            over = (*self._over, (self._since, time.time_ns()))
            if len(over) > MAX_BUSY_TIMES:
                over = ((over[0][0], over[1][1]), *over[2:])
            self._over, self._since = over, None

    def hold(self, moment_ns: int) -> bool:
        """Tell whether something ran then. What runs now may have changed anything since it began; asked
        in another thread than the others."""
        since = self._since
        if since is not None and moment_ns >= since:
            return True
        return any(began <= moment_ns <= ended for began, ended in reversed(self._over))


class NewNames:
    """The new names of one cage, over all of its holders. `into` keeps what is taken away; without `takes`
    new names are only frozen with the next holder. `rules_of` returns the ignore rules of a folder."""

    def __init__(
        self, into: Path, emit: Emit, *, takes: bool = True, rules_of: RulesOf | None = None
    ) -> None:
        self.rules_of = rules_of
        self.known: dict[str, ProtectedNames] = {}
        """By the path of the folder that can be written to."""
        self.outdated = False
        """Whether there is a name that the present holder does not freeze."""
        self._former: list[ProtectedNames] = []
        self._into = into
        self._takes = takes
        self._emit = emit
        self._busy = BusyTimes()
        self._to_look = False
        self._looking = asyncio.Lock()
        self._took = LookTime()
        self._emitted_once: set[str] = set()
        self._unsaid = Settled()
        self._watching: asyncio.Task[None] | None = None
        self._reported_made: set[tuple[str, Identity]] = set()

    def began(self) -> None:
        self._busy.began()
        self._to_look = True

    def idle(self) -> None:
        self._busy.ended()

    def watch(self, is_busy: Callable[[], bool]) -> None:
        """Look from now on again and again while anything runs, until `stop_watching`."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(is_busy), name="new names are watched")

    async def stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})

    async def _watch(self, is_busy: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(max(WATCH_SECONDS, self._took.passed * WATCH_SHARE))
            if is_busy():
                try:
                    await self.settle(is_busy)
                except OSError:
                    log.warning("a cage could not be looked through for new names", exc_info=True)

    def take_unsaid(self) -> Settled:
        """Return what was found since this was asked last."""
        said, self._unsaid = self._unsaid, Settled()
        return said

    @property
    def is_quick(self) -> bool:
        """Whether looking takes so little that it can be done at every start."""
        return self._took.processor < QUICK_SECONDS and self._took.passed < LONGEST_SECONDS

    async def settle(self, is_busy: Callable[[], bool], *, always: bool = False) -> Settled:
        """Take away what the cage has made since the last call. `is_busy` says whether anything runs. When
        nothing has run, nothing is looked for, unless `always`."""
        async with self._looking:
            if not self._to_look and not always:
                return Settled()
            self._to_look = is_busy()
            begun = time.perf_counter()
            settled, processor = await asyncio.to_thread(self._timed_look)
            self._took = LookTime(time.perf_counter() - begun, processor)
            self._to_look = self._to_look or not settled.complete
        for one in settled.taken_away[:MAX_EVENTS]:
            self._emit("cage.name_taken_away", {"path": one.path, "kept_at": one.kept_at, "whole": one.whole})
        if len(settled.taken_away) > MAX_EVENTS:
            self._emit("cage.names_taken_away", {"more": len(settled.taken_away) - MAX_EVENTS})
        if not settled.complete:
            self._emit_once("cage.names_not_all_seen", {"folders": list(self.known)})
        for path in settled.made[:MAX_EVENTS]:
            self._emit("cage.name_made", {"path": path})
        beyond = {"folders": list(self.known), "more": settled.beyond}
        if not (settled.beyond and self._emit_once("cage.names_not_all_frozen", beyond)):
            settled = replace(settled, beyond=0)
        self._unsaid = self._unsaid.and_then(settled)
        return settled

    def _emit_once(self, event: str, data: dict[str, Any]) -> bool:
        """Emit an event that a cage has once; return whether this was the time."""
        if event in self._emitted_once:
            return False
        self._emitted_once.add(event)
        self._emit(event, data)
        return True

    async def settle_all(self) -> None:
        """Take away everything that the cage has made, as nothing runs in it any more."""
        for _ in range(MAX_LAST_LOOKS):
            settled = await self.settle(lambda: False)
            if settled.complete or not settled.taken_away:
                return

    def learn(self, places: Mapping[str, ProtectedNames]) -> None:
        """Add folders, and replace those that have changed at their path. A thread may still read the old
        ones, so they are closed at the end."""
        self._former += [self.known[path] for path in places if path in self.known]
        self.known |= places

    def close(self) -> None:
        for names in (*self.known.values(), *self._former):
            names.close()
        self.known.clear()
        self._former.clear()

    def _timed_look(self) -> tuple[Settled, float]:
        """Look, and tell how long the processor worked on it."""
        begun = time.thread_time()
        return self._look(), time.thread_time() - begun

    def _look(self) -> Settled:
        taken: list[TakenAway] = []
        complete = True
        for folder, names in list(self.known.items()):
            closed = set(names.closed)
            for _ in range(MAX_ROUNDS):
                fresh = names.look()
                taken += self._judge(folder, names, fresh)
                if len(taken) >= MAX_TAKEN or not (self._open_up(names) or (fresh and not names.complete)):
                    break
            complete = complete and names.complete and len(taken) < MAX_TAKEN
            if names.closed - closed:
                self.outdated = True
        beyond = sum(names.beyond for names in self.known.values())
        return Settled(tuple(taken), complete, tuple(self._made()), beyond)

    def _made(self) -> Iterator[str]:
        """Yield the new soft names that were the cage's, each once."""
        for folder, names in list(self.known.items()):
            for found in list(names.made.values()):
                path = "/".join((folder.rstrip("/"), *found.parts))
                if (path, found.identity) not in self._reported_made and self._busy.hold(found.changed_ns):
                    self._reported_made.add((path, found.identity))
                    yield path

    def _open_up(self, names: ProtectedNames) -> bool:
        """Open the cage's unreadable folders; return whether there were any."""
        closed = names.closed if self._takes else ()
        opened = [parts for parts in sorted(closed) if open_up(names.descriptor, parts, self._busy.hold)]
        return bool(opened)

    def _judge(self, folder: str, names: ProtectedNames, fresh: list[Found]) -> list[TakenAway]:
        taken = []
        for found in fresh:
            if not self._takes or not self._busy.hold(found.changed_ns):
                self.outdated = True
                continue
            one = take_away(names.descriptor, folder, found, self._into)
            if one is None or one.kept_at is not None:
                names.found.pop(found.parts, None)
            else:
                self.outdated = True
            if one is not None:
                taken.append(one)
        return taken
