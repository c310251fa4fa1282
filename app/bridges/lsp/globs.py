"""Glob patterns of the protocol, matched in a time that no pattern can blow up.

Owns: `**`, `*`, `?`, `[...]` and `{a,b}`. Never: what the patterns are for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_PATTERN = 1_000
MAX_ALTERNATIVES = 64
_Steps = tuple["re.Pattern[str] | None", ...]
"""What each part of a path has to match; None stands for any number of parts."""


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern without `{a,b}`, compared with the parts of an absolute path."""

    steps: _Steps

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether the path with these parts (without the root) is meant."""
        return _matches(self.steps, parts)


def globs_of(pattern: str, base: Sequence[str] | None = None, *, ignores_case: bool = False) -> list[Glob]:
    """Return what a pattern stands for: of a relative one what is below its base, whose parts are given,
    of a bare one what is anywhere, as editors have it. Of a pattern that is too long nothing."""
    if len(pattern) > MAX_PATTERN:
        return []
    flags = re.IGNORECASE if ignores_case else re.RegexFlag(0)
    found: list[Glob] = []
    for one in _alternatives(pattern):
        rooted = one if base is not None else one[1:] if one.startswith("/") else "**/" + one
        found.append(
            Glob((*map(_literally, base or ()), *(_step(part, flags) for part in rooted.split("/"))))
        )
    return found


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


def _step(glob: str, flags: re.RegexFlag) -> re.Pattern[str] | None:
    """Return what one part of a path is matched by. A `*` takes as little as it can and does not think
    again, so that the time grows with the length only."""
    if glob == "**":
        return None
    first, *rest = (_plain(piece) for piece in re.split(r"\*+", glob))
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
    last = f".*{rest[-1]}" if rest else ""
    try:
        return re.compile(f"{first}{middle}{last}\\Z", re.DOTALL | flags)
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
