"""Which changes on disk a language server wants to be told of.

Owns: the glob patterns of `workspace/didChangeWatchedFiles`, matched in a time that no pattern can blow up.
Never: noticing the changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.lsp.file_uris import ForeignUri, uri_to_path

MAX_PATTERNS = 2_000
MAX_PATTERN = 1_000
MAX_ALTERNATIVES = 64
KINDS = {"created": 1, "changed": 2, "deleted": 3}
_BITS = {"created": 1, "changed": 2, "deleted": 4}
_Steps = tuple["re.Pattern[str] | None", ...]
"""What each part of a path has to match; None stands for any number of parts."""


@dataclass(frozen=True, slots=True)
class _Watcher:
    steps: _Steps
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
        to be told."""
        parts = path.as_posix().split("/")[1:]
        return any(one.kinds & _BITS[kind] and _matches(one.steps, parts) for one in self.watchers)


def _watchers(registrations: Sequence[Any]) -> Iterator[_Watcher]:
    for options in registrations:
        watchers = options.get("watchers") if isinstance(options, dict) else None
        for watcher in watchers if isinstance(watchers, list) else ():
            found = _based(watcher.get("globPattern")) if isinstance(watcher, dict) else None
            if found is not None and len(found[1]) <= MAX_PATTERN:
                kinds = watcher.get("kind")
                base, pattern = found
                for one in _alternatives(pattern):
                    # A relative pattern matches below its base, a bare one anywhere, as editors have it.
                    rooted = one if base is not None else one[1:] if one.startswith("/") else "**/" + one
                    steps = (*map(_literally, base or ()), *map(_step, rooted.split("/")))
                    yield _Watcher(steps, kinds if isinstance(kinds, int) else 7)


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


def _alternatives(pattern: str) -> list[str]:
    """Write a pattern with `{a,b}` out as several, up to a bound."""
    left, found = [pattern], list[str]()
    while left and len(found) + len(left) <= MAX_ALTERNATIVES:
        one = left.pop()
        inner = re.search(r"\{([^{}]*)\}", one)
        if inner is None:
            found.append(one)
        else:
            left += [one[: inner.start()] + choice + one[inner.end() :] for choice in inner[1].split(",")]
    return found


def _matches(steps: _Steps, parts: Sequence[str]) -> bool:
    at = step = 0
    again: tuple[int, int] | None = None
    while at < len(parts):
        if step < len(steps) and (expression := steps[step]) is None:
            again = at, step
            step += 1
        elif step < len(steps) and expression is not None and expression.match(parts[at]):
            at, step = at + 1, step + 1
        elif again is not None:
            again = again[0] + 1, again[1]
            at, step = again[0], again[1] + 1
        else:
            return False
    return all(expression is None for expression in steps[step:])


def _literally(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name) + r"\Z", re.DOTALL)


def _step(glob: str) -> re.Pattern[str] | None:
    """Return what one part of a path is matched by. A `*` takes as little as it can and does not think
    again, so that the time grows with the length only."""
    if glob == "**":
        return None
    first, *rest = (_plain(piece) for piece in re.split(r"\*+", glob))
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
    last = f".*{rest[-1]}" if rest else ""
    try:
        return re.compile(f"{first}{middle}{last}\\Z", re.DOTALL)
    except re.error:
        return re.compile(r"(?!)")


def _plain(glob: str) -> str:
    """Return the expression for a piece without `*`."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        if end > 0:
            inner = glob[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            parts.append(f"[{'^' + inner[1:] if inner[0] == '!' else inner}]")
            at = end + 1
        else:
            parts.append("." if glob[at] == "?" else re.escape(glob[at]))
            at += 1
    return "".join(parts)
