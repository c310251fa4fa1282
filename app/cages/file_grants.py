"""What the `fs` entries of a cage grant below the project's root.

Owns: the meaning of the entries and their variables; the most specific one wins, among equals a denial.
Never: opening files. Paths are compared as tuples of components.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.errors import ToolError
from app.workspace import folded, locate

Mode = Literal["ro", "rw", "deny"]
Parts = tuple[str, ...]
_STRICTEST: tuple[Mode, ...] = ("deny", "ro", "rw")

VARIABLES = ("workspace", "ad-hoc", "user-data")
"""What may stand in braces at the beginning of a cage's path. Only `{workspace}` has something to
stand for here: the daemon has no ad-hoc files, and its per-user data is closed to every tool."""


@dataclass(frozen=True, slots=True)
class FileGrants:
    """The entries of one cage: components below the root, and what may be done there."""

    entries: tuple[tuple[Parts, Mode], ...]
    _folded: tuple[tuple[Parts, Mode], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        loose = tuple((tuple(map(folded, parts)), mode) for parts, mode in self.entries)
        object.__setattr__(self, "_folded", loose)

    @classmethod
    def of(cls, fs: Iterable[Mapping[str, Any]], root: Path) -> FileGrants:
        """Read a compiled cage's `fs`. An entry that names nothing below the root covers nothing, and
        one that denies what is not known covers everything."""
        found: list[tuple[Parts, Mode]] = []
        for entry in fs:
            mode: Mode = entry["mode"]
            parts = _parts(str(entry["path"]), root, mode)
            if parts is not None:
                found.append((parts, mode))
        return cls(tuple(found))

    def mode(self, parts: Parts) -> Mode | None:
        """Return the mode of the most specific entry that covers `parts`, None without one.

        A more specific entry in another spelling, which some file systems take for the same name, may
        only grant less."""
        exact = _most_specific(self.entries, parts)
        if exact is None:
            return None
        similar = _most_specific(self._folded, tuple(map(folded, parts)))
        if similar is not None and similar[0] > exact[0]:
            return min(exact[2], similar[2], key=_STRICTEST.index)
        return exact[2]

    def reaches_below(self, parts: Parts) -> bool:
        """Tell whether something below `parts` is granted by an entry of its own."""
        count = len(parts)
        return any(
            len(prefix) > count and prefix[:count] == parts and mode != "deny"
            for prefix, mode in self.entries
        )

    def in_words(self) -> str:
        """Return what is granted, for a refusal."""
        granted = [f"{mode} {'/'.join(parts) or '.'}" for parts, mode in self.entries if mode != "deny"]
        return f"it grants {', '.join(granted)}" if granted else "it grants no files at all"


def _most_specific(entries: tuple[tuple[Parts, Mode], ...], parts: Parts) -> tuple[int, bool, Mode] | None:
    """Return the longest entry that covers `parts`: its length, whether it denies, its mode."""
    best: tuple[int, bool, Mode] | None = None
    for prefix, mode in entries:
        if parts[: len(prefix)] == prefix:
            found = (len(prefix), mode == "deny", mode)
            if best is None or found[:2] > best[:2]:
                best = found
    return best


def _parts(path: str, root: Path, mode: Mode) -> Parts | None:
    if path == "{workspace}" or path.startswith("{workspace}/"):
        path = path.removeprefix("{workspace}").lstrip("/") or "."
    closed = () if mode == "deny" else None
    if "{" in path:
        known = any(path == f"{{{name}}}" or path.startswith(f"{{{name}}}/") for name in VARIABLES)
        return None if known else closed
    try:
        return locate(root, path).parts
    except ToolError:
        return closed
