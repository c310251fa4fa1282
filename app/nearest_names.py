"""The known name that a misspelt one was probably meant to be.

Owns: the comparison, and the words of the hint. Never: which names are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LIKE = 0.5
_MISSPELT = 0.6
"""A list of names to choose from may be wider than a guess at the one that was meant."""
_MAX_CHARACTERS = 100


def closest(name: str, known: Iterable[str], count: int = 3, *, cutoff: float = _LIKE) -> list[str]:
    """Return the known names most like `name`, best first. Case does not count, nor `.` in place of `_`."""
    by_fold = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name[:_MAX_CHARACTERS]), list(by_fold), n=count, cutoff=cutoff)
    return [by_fold[fold] for fold in found]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the one that `name` is probably a misspelling of, or None."""
    return next(iter(closest(name, known, 1, cutoff=_MISSPELT)), None)


def did_you_mean(name: str, known: Iterable[str], *, quote: str = "`") -> str:
    """Return `; did you mean ...?`, or nothing when no known name is near."""
    match = nearest(name, known)
    return f"; did you mean {quote}{match}{quote}?" if match else ""


def _folded(name: str) -> str:
    return name.replace(".", "_").casefold()
