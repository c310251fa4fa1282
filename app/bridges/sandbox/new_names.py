"""What runs in a cage and makes protected names anew: they are taken away when its command is over.

Owns: which new name was the cage's, and having it taken away. Never: what was there before; that is
mounted read-only.

Nothing says who has made a name. One that was made, or last changed, before anything was started in the
cage is somebody else's: it is left, and frozen with the next holder. Any other is taken for the cage's.
It is kept, and told, so that whoever else it was can have it back.
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
_TICK_NS = 20_000_000
"""Time stamps of files are those of the kernel's last tick."""

Tell = Callable[[str, dict[str, Any]], None]
"""Takes an audit event's name and data."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found after a command. `complete` is False when there was too much to look through."""

    taken_away: tuple[TakenAway, ...] = ()
    complete: bool = True


class NewNames:
    """Of one cage, over all of its holders. `into` is where what is taken away is kept."""

    def __init__(self, into: Path, tell: Tell) -> None:
        self.known: dict[str, ProtectedNames] = {}
        """By the path of the folder that can be written to."""
        self.outdated = False
        """Whether there is a name that the present holder does not freeze."""
        self._into = into
        self._tell = tell
        self._active_since: int | None = None
        self._looking = asyncio.Lock()

    def began(self) -> None:
        """Note that something is started in the cage."""
        if self._active_since is None:
            self._active_since = time.time_ns()

    async def settle(self, is_busy: Callable[[], bool]) -> Settled:
        """Take away what the cage has made since the last time. `is_busy` says whether anything runs."""
        async with self._looking:
            now, since = time.time_ns(), self._active_since
            if since is None:
                return Settled()
            self._active_since = now if is_busy() else None
            settled = await asyncio.to_thread(self._look, since - _TICK_NS)
        for one in settled.taken_away:
            self._tell("cage.name_taken_away", {"path": one.path, "kept_at": one.kept_at, "whole": one.whole})
        return settled

    def close(self) -> None:
        """Forget what is known."""
        for names in self.known.values():
            names.close()
        self.known.clear()

    def _look(self, since: int) -> Settled:
        taken: list[TakenAway] = []
        complete = True
        for folder, names in self.known.items():
            for _ in range(MAX_ROUNDS):
                fresh = names.look()
                taken += self._judge(folder, names, fresh, since)
                if names.complete or not fresh:
                    break
            complete = complete and names.complete
        return Settled(tuple(taken), complete)

    def _judge(self, folder: str, names: ProtectedNames, fresh: list[Found], since: int) -> list[TakenAway]:
        taken = []
        for found in fresh:
            if found.changed_ns < since:
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
