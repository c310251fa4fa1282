"""What was found for the agents of one session, the same from its first run on.

Owns: finding it once, and its form in the storage. Never: when that happens (`hooks.session_start`), or what
one agent gets of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from app.harness.guidance.found import find_guidance
from app.harness.guidance.guidance import NOTHING, Guidance
from app.harness.guidance.places import Surroundings


@dataclass(frozen=True, slots=True)
class GuidanceSources:
    """`home` is the user's home, None when the user's own files are left out. `closed` are the daemon's own
    places."""

    home: Path | None = None
    closed: tuple[Path, ...] = ()

    def around(self, root: Path) -> Surroundings:
        """Return the places for a project's root. Blocks."""
        return Surroundings.of(root, self.home, self.closed)


class SessionGuidance:
    """`found` and `around` are set before the first model call; `day` is when the session began."""

    def __init__(self, sources: GuidanceSources, day: date) -> None:
        self.found: Guidance = NOTHING
        self.around: Surroundings | None = None
        self.day = day
        self._sources = sources

    async def find(self, root: Path, paths: Sequence[str]) -> None:
        """Look for everything; `paths` are further folders of skills."""

        def look() -> tuple[Surroundings, Guidance]:
            around = self._sources.around(root)
            return around, find_guidance(around, paths)

        self.around, self.found = await asyncio.to_thread(look)

    async def restore(self, root: Path, stored: Any) -> None:
        """Take what was found earlier, as `stored` says; None for a session that began without it."""
        self.around = await asyncio.to_thread(self._sources.around, root)
        self.found = NOTHING if stored is None else Guidance.model_validate(stored)

    def another(self) -> SessionGuidance:
        """Return one for the same session that has found nothing yet."""
        return SessionGuidance(self._sources, self.day)

    def stored(self) -> dict[str, Any]:
        return self.found.model_dump(mode="json")
