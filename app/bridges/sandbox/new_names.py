"""What runs in a cage and makes protected names anew: they are taken away when its command is over.

Owns: which new name was the cage's, and having it taken away. Never: what was there before; that is
mounted read-only.

Nothing says who has made a name. One that was made, or last changed, while nothing ran in the cage is
somebody else's: it is left, and frozen with the next holder. Any other is taken for the cage's. It is
kept, and told, so that whoever else it was can have it back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.sandbox.protected import Found, ProtectedNames
from app.bridges.sandbox.quarantine import TakenAway, take_away

MAX_ROUNDS = 20
QUICK_SECONDS = 0.005
_TICK_NS = 20_000_000
"""Time stamps of files are those of the kernel's last tick, so that they may be a little too early."""

Tell = Callable[[str, dict[str, Any]], None]
"""Takes an audit event's name and data."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found after a command. `complete` is False when there was too much to look through."""

    taken_away: tuple[TakenAway, ...] = ()
    complete: bool = True


class NewNames:
    """Of one cage, over all of its holders. `into` is where what is taken away is kept; without `takes`
    nothing is, and new names are only frozen with the next holder."""

    def __init__(self, into: Path, tell: Tell, *, takes: bool = True) -> None:
        self.known: dict[str, ProtectedNames] = {}
        """By the path of the folder that can be written to."""
        self.outdated = False
        """Whether there is a name that the present holder does not freeze."""
        self._into = into
        self._takes = takes
        self._tell = tell
        self._active_since: int | None = None
        self._idle_since: int | None = None
        self._looking = asyncio.Lock()
        self._took = 0.0

    def began(self) -> None:
        """Note that something is started in the cage."""
        self._idle_since = None
        if self._active_since is None:
            self._active_since = time.time_ns()

    def idle(self) -> None:
        """Note that nothing runs in the cage any more."""
        self._idle_since = time.time_ns()

    @property
    def is_quick(self) -> bool:
        """Whether looking takes so little that it can be done at every start."""
        return self._took < QUICK_SECONDS

    async def settle(self, is_busy: Callable[[], bool], *, always: bool = False) -> Settled:
        """Take away what the cage has made since the last time. `is_busy` says whether anything runs. When
        nothing has run there is nothing to look for, unless it is `always` to be known what is there."""
        async with self._looking:
            began, ended = self._active_since, self._idle_since
            if began is None and not always:
                return Settled()
            now = time.time_ns()
            self._active_since = now if is_busy() else None
            times = range(0) if began is None else range(began - _TICK_NS, ended or now)
            begun = time.perf_counter()
            settled = await asyncio.to_thread(self._look, times)
            self._took = time.perf_counter() - begun
        for one in settled.taken_away:
            self._tell("cage.name_taken_away", {"path": one.path, "kept_at": one.kept_at, "whole": one.whole})
        return settled

    def close(self) -> None:
        """Forget what is known."""
        for names in self.known.values():
            names.close()
        self.known.clear()

    def _look(self, times: range) -> Settled:
        taken: list[TakenAway] = []
        complete = True
        for folder, names in list(self.known.items()):
            for _ in range(MAX_ROUNDS):
                fresh = names.look()
                taken += self._judge(folder, names, fresh, times)
                if names.complete or not fresh:
                    break
            complete = complete and names.complete
        return Settled(tuple(taken), complete)

    def _judge(self, folder: str, names: ProtectedNames, fresh: list[Found], times: range) -> list[TakenAway]:
        taken = []
        for found in fresh:
            if not self._takes or found.changed_ns not in times:
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
