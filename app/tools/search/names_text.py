"""Many names as one text, which regular expressions go through at once.

Owns: finding the names in which an expression is found. Never: which of them fits best (`fuzzy`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from app.tools.search.fuzzy import fold

_RARE = 4


class NamesText:
    """Names in one text: each stands between two NULs."""

    def __init__(self, names: list[str]) -> None:
        self._text = "\0" + fold("\0".join(names)) + "\0"
        self._starts: list[int] = []
        at = 0
        for name in names:
            self._starts.append(at)
            at += len(name) + 1

    def find(self, expression: str) -> Iterator[int]:
        """Yield the numbers of names in which an expression is found."""
        starts = self._starts
        # The rest of the name belongs to what is found, so that each is found once.
        for found in re.finditer(expression + r"[^\x00]*+", self._text):
            yield bisect_right(starts, found.start()) - 1

    def scattered(self, term: str) -> str:
        """Return an expression for the letters of a term in order, within one name. It is tried once for each
        name, from the NUL before it, or where the first letter is rare from each of those."""
        rest = "".join(rf"[^\x00{letter}]*+{letter}" for letter in map(re.escape, term[1:]))
        first = re.escape(term[0])
        if _RARE * self._text.count(term[0]) < len(self._starts):
            return first + rest
        return rf"\x00[^\x00{first}]*+{first}{rest}"

    def of(self, place: int) -> str:
        start = self._starts[place] + 1
        return self._text[start : self._text.index("\0", start)]
