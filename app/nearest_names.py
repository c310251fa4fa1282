"""The known name that a misspelt one was probably meant to be.

Owns: the comparison, and the words of the hint. Never: which names are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_CUTOFF = 0.5
_MAX_CHARACTERS = 100


def closest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names most like `name`, best first. Case does not count, nor `.` in place of `_`."""
    by_fold = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name[:_MAX_CHARACTERS]), list(by_fold), n=count, cutoff=_CUTOFF)
    return [by_fold[fold] for fold in found]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the one that is most like `name`, or None when none is near."""
    return next(iter(closest(name, known, 1)), None)


def did_you_mean(name: str, known: Iterable[str], *, quote: str = "`") -> str:
    """Return `; did you mean ...?`, or nothing when no known name is near."""
    match = nearest(name, known)
    return f"; did you mean {quote}{match}{quote}?" if match else ""


def _folded(name: str) -> str:
    return name.replace(".", "_").casefold()
