"""Which calls of one step wait for which others, by what they say they touch.

Owns: the order of calls that collide. Pure. Never: starting them (`tool_calls`). What it costs grows
with the number of calls and paths, not with its square: a model may ask for very many calls.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from app.tools.contract.definition import Effects

T = TypeVar("T")


class CallOrder(Generic[T]):
    """Calls are placed in the order asked; two that collide do not run side by side.

    They collide when one writes what the other reads or writes, or something below or above it, or
    when one is exclusive. Paths are relative to one root, which is `""`."""

    def __init__(self) -> None:
        self._alone: T | None = None
        self._since: list[T] = []
        self._writers: dict[str, T] = {}
        self._writers_below: dict[str, dict[str, T]] = {}
        self._readers: dict[str, list[T]] = {}
        self._readers_below: dict[str, list[T]] = {}

    def place(self, effects: Effects, call: T) -> list[T]:
        """Return the earlier calls that this one waits for itself; those wait for the ones before."""
        if effects.exclusive:
            behind = self._since or self._after_alone()
            self._alone, self._since = call, []
            self._writers.clear()
            self._writers_below.clear()
            self._readers.clear()
            self._readers_below.clear()
            return behind
        behind = self._after_alone()
        writes = dict.fromkeys(effects.writes)
        reads = [path for path in dict.fromkeys(effects.reads) if path not in writes]
        for path in (*writes, *reads):
            above = folders_of(path)
            behind += [self._writers[place] for place in (*above, path) if place in self._writers]
            behind += self._writers_below.get(path, {}).values()
        for path in writes:
            behind += self._readers.pop(path, ())
            behind += self._readers_below.get(path, ())
            for folder in folders_of(path):
                behind += self._readers.get(folder, ())
                self._writers_below.setdefault(folder, {})[path] = call
            self._writers[path] = call
        for path in reads:
            self._readers.setdefault(path, []).append(call)
            for folder in folders_of(path):
                self._readers_below.setdefault(folder, []).append(call)
        self._since.append(call)
        return list({id(other): other for other in behind}.values())

    def _after_alone(self) -> list[T]:
        return [] if self._alone is None else [self._alone]


def folders_of(path: str) -> list[str]:
    """Return the folders that `path` lies in, the root first; none for the root itself."""
    if not path:
        return []
    return ["", *(path[:at] for at, character in enumerate(path) if character == "/")]
