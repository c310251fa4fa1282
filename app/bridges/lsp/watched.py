"""The changes on disk that a language server watches.

Owns: the patterns of `workspace/didChangeWatchedFiles`. Never: how a pattern is matched (`globs`), or
noticing the changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.lsp.file_uris import ForeignUri, uri_to_path
from app.workspace.globs import Glob, globs_of

MAX_PATTERNS = 2_000
KINDS = {"created": 1, "changed": 2, "deleted": 3}
_BITS = {"created": 1, "changed": 2, "deleted": 4}


@dataclass(frozen=True, slots=True)
class _Watcher:
    glob: Glob
    kinds: int


@dataclass(frozen=True, slots=True)
class WatchedGlobs:
    """The patterns of all registrations of one server."""

    watchers: tuple[_Watcher, ...] = ()

    @classmethod
    def of(cls, registrations: Sequence[Any]) -> WatchedGlobs:
        found: list[_Watcher] = []
        for watcher in _watchers(registrations):
            if len(found) >= MAX_PATTERNS:
                break
            found.append(watcher)
        return cls(tuple(found))

    def wants(self, path: Path, kind: str) -> bool:
        """Tell whether a change of `kind` (`created`, `changed`, `deleted`) of an absolute path is
        watched."""
        parts = path.as_posix().split("/")[1:]
        return any(one.kinds & _BITS[kind] and one.glob.matches(parts) for one in self.watchers)


def _watchers(registrations: Sequence[Any]) -> Iterator[_Watcher]:
    for options in registrations:
        watchers = options.get("watchers") if isinstance(options, dict) else None
        for watcher in watchers if isinstance(watchers, list) else ():
            found = _based(watcher.get("globPattern")) if isinstance(watcher, dict) else None
            if found is not None:
                base, pattern = found
                kinds = watcher.get("kind")
                for glob in globs_of(pattern, base):
                    yield _Watcher(glob, kinds if isinstance(kinds, int) else 7)


def _based(pattern: Any) -> tuple[list[str] | None, str] | None:
    """Return the folder that a pattern is relative to, if to any, and the pattern."""
    if isinstance(pattern, str):
        return None, pattern
    if not isinstance(pattern, dict) or not isinstance(pattern.get("pattern"), str):
        return None
    base = pattern.get("baseUri")
    if isinstance(base, dict):
        base = base.get("uri")
    try:
        folder = uri_to_path(base).as_posix().strip("/")
    except ForeignUri:
        return None
    return folder.split("/") if folder else [], pattern["pattern"]
