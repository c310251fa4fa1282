"""The files of a project that one caller sees: to read, or only to know of.

Owns: judging a path by the caller's cage and rules. Never: opening files.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

from app.errors import ToolError
from app.tools.authorisation.file_policy import CallerPolicy, fs_policy
from app.tools.contract.call import ToolCallContext
from app.workspace import Access

Verdict = Literal["inside", "outside", "hidden"]
"""`inside`: may be read. `outside`: may be known to exist. `hidden`: is not mentioned at all."""

NOT_SHOWN = "places outside your cage are not shown"
_INTERNALS = frozenset({".git", ".kaged"})


class View:
    def __init__(self, context: ToolCallContext, closed: tuple[tuple[str, ...], ...]) -> None:
        self._policy: CallerPolicy | None = fs_policy(context)
        self._caged = context.cage is not None
        self._marks = context.cage is not None and context.cage.get("outside") == "mark"
        self._closed = closed

    @property
    def filters(self) -> bool:
        return self._policy is not None or bool(self._closed)

    @property
    def restricts(self) -> bool:
        """Whether a cage or rules keep the caller from some of the project."""
        return self._policy is not None

    @property
    def marks(self) -> bool:
        """Whether the caller may know that places outside its cage exist."""
        return self._marks

    def verdict_elsewhere(self) -> Verdict:
        """Judge a place outside of the project, such as a language's own library: it is never readable, and
        outside of a cage."""
        return "outside" if self._marks or not self._caged else "hidden"

    def verdict(self, parts: tuple[str, ...]) -> Verdict:
        if any(parts[: len(closed)] == closed for closed in self._closed):
            return "hidden"
        if self._policy is None or _passes(self._policy, parts):
            return "inside"
        if not self._marks or self._policy.mode(parts) is not None or _is_internal(parts):
            return "hidden"
        return "outside"

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError unless a search may begin at `parts`: in what the caller sees, or
        above something that it sees."""
        if self._policy is None or self._policy.reaches_below(parts):
            return
        if self.verdict(parts) == "hidden":
            self._policy.check(parts, access)

    def check_step(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError unless a search may come by `parts` on its way."""
        self.check(parts, "ro")


def noted(context: ToolCallContext, note: str | None) -> str | None:
    """Return the note of an answer about places. It says when the caller's cage hides those outside, whether
    there are any or not."""
    hides = context.cage is not None and context.cage.get("outside") != "mark"
    return "; ".join(filter(None, (note, NOT_SHOWN))) if hides else note


def _passes(policy: CallerPolicy, parts: tuple[str, ...]) -> bool:
    try:
        policy.check(parts, "ro")
    except ToolError:
        return False
    return True


def _is_internal(parts: tuple[str, ...]) -> bool:
    return any(unicodedata.normalize("NFKC", part).casefold().rstrip(". ") in _INTERNALS for part in parts)
