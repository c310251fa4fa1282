"""How well a path fits what a person types: letters in order, as in editors and fzf.

Owns: the score of one path and the places of its letters. Never: which paths are looked at (`name_index`).

Letters in a row, at word starts, and in the file's own name count more than scattered ones. Values are those
of fzf, with a bonus for the last name of the path.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_QUERY = 200
_MATCH, _GAP_START, _GAP = 16, -3, -1
_AT_START, _AT_WORD, _AT_HUMP, _IN_A_ROW = 10, 8, 7, 5
_OWN_NAME, _WHOLE, _STEM, _PREFIX = 30, 60, 45, 20
_SEPARATORS = frozenset("/_-. ,:;()[]{}'\"@+~")


@dataclass(frozen=True, slots=True)
class Fit:
    """A score, more is better, and the indexes of the letters in the path, in order."""

    score: int
    positions: tuple[int, ...]


def fold(text: str) -> str:
    """Return the text in lower case, with exactly as many characters."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in text)


def fit(path: str, folded: str, terms: tuple[str, ...]) -> Fit | None:
    """Return how well the folded `terms` fit `path`; None unless all do. A folder's path ends in a slash."""
    end = len(path) - path.endswith("/")
    name = folded.rfind("/", 0, end) + 1
    score, positions = 0, set[int]()
    for term in terms:
        found = _fit_name(path, folded, term, name, end) or _fit_between(path, folded, term, 0, end)
        if found is None:
            return None
        score += found.score
        positions.update(found.positions)
    return Fit(score, tuple(sorted(positions)))


def _fit_name(path: str, folded: str, term: str, name: int, end: int) -> Fit | None:
    """Fit a term to the last name of the path."""
    found = _fit_between(path, folded, term, name, end)
    if found is None:
        return None
    bonus = _OWN_NAME
    if folded.startswith(term, name, end):
        rest = folded[name + len(term) : end]
        bonus += _WHOLE if not rest else _STEM if rest[0] == "." else _PREFIX
    return Fit(found.score + bonus, found.positions)


def _fit_between(path: str, folded: str, term: str, start: int, end: int) -> Fit | None:
    """Fit a term to a part of the path: in a row where that is, best at a word's start; else scattered."""
    row = folded.find(term, start, end)
    if row >= 0:
        places = [row]
        while len(places) < 8 and (row := folded.find(term, row + 1, end)) >= 0:
            places.append(row)
        at = max(places, key=lambda place: (_bonus(path, place, start), place if start == 0 else -place))
        in_a_row = tuple(range(at, at + len(term)))
        best = Fit(_scored(path, in_a_row, start), in_a_row)
        if len(term) == 1 or _bonus(path, at, start) > 0:
            return best
        scattered = _scattered(path, folded, term, start, end)
        return scattered if scattered is not None and scattered.score > best.score else best
    return _scattered(path, folded, term, start, end)


def _scattered(path: str, folded: str, term: str, start: int, end: int) -> Fit | None:
    by_words = _by_words(path, folded, term, start, end)
    if by_words is not None:
        return Fit(_scored(path, by_words, start), by_words)
    at = start - 1
    for letter in term:
        at = folded.find(letter, at + 1, end)
        if at < 0:
            return None
    positions = [at]  # back from there, for the shortest part that ends here
    for letter in reversed(term[:-1]):
        at = folded.rfind(letter, start, at)
        positions.append(at)
    found = tuple(reversed(positions))
    return Fit(_scored(path, found, start), found)


def _by_words(path: str, folded: str, term: str, start: int, end: int) -> tuple[int, ...] | None:
    """Return the places where each letter begins a word or goes on in it; None when they are not so."""
    positions: list[int] = []
    at = start
    for letter in term:
        if positions and at < end and folded[at] == letter:
            positions.append(at)
            at += 1
            continue
        at = folded.find(letter, at, end)
        while at >= 0 and not _bonus(path, at, start):
            at = folded.find(letter, at + 1, end)
        if at < 0:
            return None
        positions.append(at)
        at += 1
    return tuple(positions)


def _bonus(path: str, at: int, start: int) -> int:
    if at == start:
        return _AT_START
    before, here = path[at - 1], path[at]
    if before in _SEPARATORS:
        return _AT_WORD
    if (here.isupper() and not before.isupper()) or (here.isdigit() and not before.isdigit()):
        return _AT_HUMP
    return 0


def _scored(path: str, positions: tuple[int, ...], start: int) -> int:
    score, last, row_bonus = 0, -1, 0
    for at in positions:
        bonus = _bonus(path, at, start)
        if last < 0:
            score += _MATCH + 2 * bonus
        elif at == last + 1:
            score += _MATCH + max(bonus, row_bonus, _IN_A_ROW)
        else:
            gap = at - last - 1
            score += _MATCH + bonus + _GAP_START + _GAP * min(gap - 1, 20)
        row_bonus = max(row_bonus, bonus) if at == last + 1 else bonus
        last = at
    return score
