"""The parsed document: values that remember where they were written.

Owns: `SourceFile`, `Position`, `Node` and their conversion to plain values. Never: reading files, or what
a document may contain. Nodes are never changed in place, because aliases share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Scalar = str | int | float | bool | None
PathStep = str | int
DocumentPath = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """One file of a project: `display` is its path relative to the compiled project's root."""

    path: Path
    display: str
    project_root: Path
    text: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a file (1-based) with the path of the value inside its own document."""

    source: SourceFile
    line: int
    column: int
    path: DocumentPath

    def child(self, step: PathStep) -> Position:
        """The same position, for something that is missing below this value."""
        return replace(self, path=(*self.path, step))


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the document. `position` is where the value stands, `key` where it is named."""

    value: Scalar | tuple[Node, ...] | dict[str, Node]
    position: Position
    key: Position
    removed: Mapping[str, Position] = field(default_factory=dict)
    """Keys that an overlay took away, with the position that did it."""

    @property
    def entries(self) -> dict[str, Node]:
        """The entries of a map; empty for everything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def is_map(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def text(self) -> str | None:
        """The value of a string scalar, else None."""
        return self.value if isinstance(self.value, str) else None

    @property
    def kind(self) -> str:
        """What the value is, in the words of a diagnostic."""
        match self.value:
            case dict():
                return "a map"
            case tuple():
                return "a list"
            case None:
                return "null"
            case bool():
                return "a boolean"
            case str():
                return "a string"
            case _:
                return "a number"

    def get(self, name: str) -> Node | None:
        return self.entries.get(name)

    def map_at(self, name: str) -> dict[str, Node]:
        """The entries of the map under a key; empty when there is none."""
        found = self.get(name)
        return found.entries if found is not None else {}

    def list_at(self, *names: str) -> tuple[Node, ...]:
        """The items of the list under a key, or under keys one below the other; empty when there is none."""
        found: Node | None = self
        for name in names:
            found = found.get(name) if found is not None else None
        return found.value if found is not None and isinstance(found.value, tuple) else ()

    def step(self, name: PathStep) -> Node | None:
        """The child under a key or index, or None."""
        if isinstance(name, str):
            return self.entries.get(name)
        if isinstance(self.value, tuple) and 0 <= name < len(self.value):
            return self.value[name]
        return None

    def with_entries(self, entries: dict[str, Node]) -> Node:
        """A copy of this map with other entries."""
        return replace(self, value=entries)

    def without(self, *names: str) -> Node:
        """A copy of this map without the named keys."""
        return self.with_entries({key: node for key, node in self.entries.items() if key not in names})

    def position_of_missing(self, name: str) -> Position:
        """Where a missing `name` is reported: where an overlay removed it, else where the map is named."""
        removed = self.removed.get(name)
        return removed if removed is not None else self.key.child(name)


class LocatedMap(dict[str, Any]):
    """A plain map for validation that still knows the node it was made from."""

    __slots__ = ("node",)

    def __init__(self, values: Mapping[str, Any], node: Node) -> None:
        super().__init__(values)
        self.node = node


def to_plain(node: Node) -> Any:
    """Return the node's value as scalars, lists and `LocatedMap`s."""
    if isinstance(node.value, dict):
        return LocatedMap({key: to_plain(child) for key, child in node.value.items()}, node)
    if isinstance(node.value, tuple):
        return [to_plain(child) for child in node.value]
    return node.value


def render_path(path: DocumentPath) -> str:
    """Render a document path: `primary.tools["file.read"].enabled`, `lsp.servers[0].lang`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(character.isalnum() or character in "_-" for character in step):
            text += f".{step}" if text else step
        else:
            shown = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{shown}"]'
    return text
