"""What changed among the local variables since the program last stood in the same function.

Owns: remembering them, for the sessions of late, and the difference. Never: asking the adapter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAX_SESSIONS = 64
MAX_PLACES = 32
Place = tuple[int | None, str, str]
"""A thread, and the name and path of a function in which it stood."""


@dataclass(frozen=True, slots=True)
class Known:
    """A variable at a stop; `was` is None for one that is new there."""

    name: str
    value: str
    type: str | None = None
    was: str | None = None


class LocalsMemory:
    """Shared by all calls; sessions are forgotten in the order in which they were last used."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[Place, Mapping[str, str]]] = OrderedDict()

    def changed(self, session_id: str, place: Place, now: Iterable[Known]) -> list[Known]:
        """Remember the variables at this place, and return those that are new or differ from what they
        were when the program last stood here."""
        places = self._sessions.setdefault(session_id, OrderedDict())
        self._sessions.move_to_end(session_id)
        before = places.get(place, {})
        variables = list(now)
        places[place] = {one.name: one.value for one in variables}
        places.move_to_end(place)
        while len(places) > MAX_PLACES:
            places.popitem(last=False)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return [
            Known(one.name, one.value, one.type, before.get(one.name))
            for one in variables
            if before.get(one.name) != one.value
        ]
