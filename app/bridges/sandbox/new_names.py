"""What runs in a cage and makes protected names anew: they are taken away when its command is over.

Owns: which new name was the cage's, and having it taken away. Never: what was there before; that is
mounted read-only.

Nothing says who has made a name. One that was made, or last changed, while nothing ran in the cage is
somebody else's: it is left, and frozen with the next holder. Any other is taken for the cage's. It is
kept, and told, so that whoever else it was can have it back. The times in which something ran are not
forgotten: a name may be hidden at first, where nobody can look, and be brought out later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.sandbox.protected import Found, ProtectedNames
from app.bridges.sandbox.quarantine import TakenAway, open_up, take_away

MAX_ROUNDS = 120
"""At one time of looking. Of closed folders in closed folders each round opens one."""
MAX_TAKEN = 1_000
"""At one time of looking; what is more is taken the next time."""
MAX_TOLD = 100
"""Names that the audit is told one by one, of those taken at one time."""
MAX_LAST_LOOKS = 100
QUICK_SECONDS = 0.03
_TICK_NS = 20_000_000
"""Time stamps of files are those of the kernel's last tick, so that they may be a little too early."""
MAX_BUSY_TIMES = 1_000
"""Of more, the oldest are taken for one."""

Tell = Callable[[str, dict[str, Any]], None]
"""Takes an audit event's name and data."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found after a command. `complete` is False when there was too much to look through."""

    taken_away: tuple[TakenAway, ...] = ()
    complete: bool = True


class BusyTimes:
    """When something ran in a cage, from its making on."""

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
    """Of one cage, over all of its holders. `into` is where what is taken away is kept; without `takes`
    nothing is, and new names are only frozen with the next holder."""

    def __init__(self, into: Path, tell: Tell, *, takes: bool = True) -> None:
        self.known: dict[str, ProtectedNames] = {}
        """By the path of the folder that can be written to."""
        self.outdated = False
        """Whether there is a name that the present holder does not freeze."""
        self._former: list[ProtectedNames] = []
        self._into = into
        self._takes = takes
        self._tell = tell
        self._busy = BusyTimes()
        self._to_look = False
        self._looking = asyncio.Lock()
        self._took = 0.0
        self._told_incomplete = False

    def began(self) -> None:
        """Note that something is started in the cage."""
        self._busy.began()
        self._to_look = True

    def idle(self) -> None:
        """Note that nothing runs in the cage any more."""
        self._busy.ended()

    @property
    def is_quick(self) -> bool:
        """Whether looking takes so little that it can be done at every start."""
        return self._took < QUICK_SECONDS

    async def settle(self, is_busy: Callable[[], bool], *, always: bool = False) -> Settled:
        """Take away what the cage has made since the last time. `is_busy` says whether anything runs. When
        nothing has run there is nothing to look for, unless it is `always` to be known what is there."""
        async with self._looking:
            if not self._to_look and not always:
                return Settled()
            self._to_look = is_busy()
            begun = time.perf_counter()
            settled = await asyncio.to_thread(self._look)
            self._took = time.perf_counter() - begun
            self._to_look = self._to_look or not settled.complete
        for one in settled.taken_away[:MAX_TOLD]:
            self._tell("cage.name_taken_away", {"path": one.path, "kept_at": one.kept_at, "whole": one.whole})
        if len(settled.taken_away) > MAX_TOLD:
            self._tell("cage.names_taken_away", {"more": len(settled.taken_away) - MAX_TOLD})
        if not settled.complete and not self._told_incomplete:
            self._told_incomplete = True
            self._tell("cage.names_not_all_seen", {"folders": list(self.known)})
        return settled

    async def settle_all(self) -> None:
        """Take away everything that the cage has made, as nothing runs in it any more."""
        for _ in range(MAX_LAST_LOOKS):
            settled = await self.settle(lambda: False)
            if settled.complete or not settled.taken_away:
                return

    def learn(self, places: Mapping[str, ProtectedNames]) -> None:
        """Know of more folders, and of those that are others by now than what lay at their path. Somebody
        may be looking through these at this moment: they are closed at the end."""
        self._former += [self.known[path] for path in places if path in self.known]
        self.known |= places

    def close(self) -> None:
        """Forget what is known."""
        for names in (*self.known.values(), *self._former):
            names.close()
        self.known.clear()
        self._former.clear()

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
        return Settled(tuple(taken), complete)

    def _open_up(self, names: ProtectedNames) -> bool:
        """Open the folders of the cage's that cannot be looked into; tell whether there were any."""
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
