"""The tasks of a Taskfile, from its YAML events: nothing is built, so that aliases cannot explode.

Owns: that reading. Never: following includes or evaluating templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruamel.yaml.events import Event

MAX_DEPTH = 40


@dataclass(slots=True)
class _Level:
    """A map or list that is being read; `key` is None while the map's next key is awaited."""

    is_map: bool
    key: str | None = None


class _Reader:
    def __init__(self) -> None:
        self.tasks: dict[str, None] = {}
        self._levels: list[_Level] = []

    def event(self, event: Event) -> None:
        from ruamel.yaml import events

        if isinstance(event, events.MappingStartEvent | events.SequenceStartEvent):
            if len(self._levels) >= MAX_DEPTH:
                raise ValueError("nested too deeply")
            self._levels.append(_Level(isinstance(event, events.MappingStartEvent)))
        elif isinstance(event, events.MappingEndEvent | events.SequenceEndEvent):
            self._levels.pop()
            self._done("")
        elif isinstance(event, events.ScalarEvent | events.AliasEvent):
            self._done(event.value if isinstance(event, events.ScalarEvent) else "")

    def _done(self, value: str) -> None:
        """A node has ended: it is a key, or the value of the one before."""
        level = self._levels[-1] if self._levels else None
        if level is None or not level.is_map:
            return
        if level.key is None:
            level.key = value
            if self._path() == ["tasks", value] and "*" not in value:
                self.tasks[value] = None
            return
        path = self._path()
        if len(path) == 3 and path[0] == "tasks" and path[2] == "internal" and value.lower() == "true":
            self.tasks.pop(path[1] or "", None)
        level.key = None

    def _path(self) -> list[str | None]:
        return [level.key for level in self._levels[:4]] if len(self._levels) <= 3 else []


def tasks(text: str) -> list[str]:
    """Return the tasks that may be called, none when the text is no YAML."""
    from ruamel.yaml import YAML  # heavy, and few projects have a Taskfile
    from ruamel.yaml.error import YAMLError

    reader = _Reader()
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            reader.event(event)
    except (YAMLError, ValueError, RecursionError):
        return []
    return list(reader.tasks)
