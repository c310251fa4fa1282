"""Which calls of one step wait for which others, by what they say they touch.

Owns: the order of calls that collide. Pure. Never: starting them (`tool_calls`). What it costs grows
with the number of calls and paths, not with its square: a model may ask for very many calls.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from app.tools.definition import Effects

T = TypeVar("T")


class CallOrder(Generic[T]):
    """Calls are placed in the order asked; two that collide do not run side by side.

    They collide when one writes what the other reads or writes, or when one is exclusive."""

    def __init__(self) -> None:
        self._alone: T | None = None
        self._since: list[T] = []
        self._writers: dict[str, T] = {}
        self._readers: dict[str, list[T]] = {}

    def place(self, effects: Effects, call: T) -> list[T]:
        """Return the earlier calls that this one waits for itself; those wait for the ones before."""
        if effects.exclusive:
            behind = self._since or self._after_alone()
            self._alone, self._since = call, []
            self._writers.clear()
            self._readers.clear()
            return behind
        behind = self._after_alone()
        writes = dict.fromkeys(effects.writes)
        reads = [path for path in dict.fromkeys(effects.reads) if path not in writes]
        behind += [self._writers[path] for path in (*writes, *reads) if path in self._writers]
        for path in writes:
            behind += self._readers.pop(path, ())
            self._writers[path] = call
        for path in reads:
            self._readers.setdefault(path, []).append(call)
        self._since.append(call)
        return list({id(other): other for other in behind}.values())

    def _after_alone(self) -> list[T]:
        return [] if self._alone is None else [self._alone]
