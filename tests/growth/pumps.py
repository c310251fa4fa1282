"""Texts that make a regular expression try as much as it can: what it repeats, repeated, then a stranger."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]  # typeshed does not know them
from re import _parser as parser  # type: ignore[attr-defined]  # typeshed does not know it
from typing import Any

STRANGER = "\x01"
MAX_ALPHABET = 8
_CANDIDATES = "a0 _-./:\"'\n\r=({[<>|&;,$*?!@#%`~\\+^)}]\x1b\u00e9"


class Pumps:
    """The texts for one pattern, as `(prefix, pump)`; a text is the pump, repeated behind the prefix."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._tree = parser.parse(pattern, flags)
        self.alphabet = _alphabet(self._tree)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        whole = _sample(self._tree)
        prefixes = dict.fromkeys(["", *(prefix[:80] for prefix in _prefixes(self._tree, ""))])
        words = [*self.alphabet, *map("".join, product(self.alphabet, repeat=2))]
        cuts = [whole[:cut] for cut in range(1, min(len(whole), 24) + 1)]
        found = {(prefix, word) for prefix in prefixes for word in self.alphabet}
        found |= {("", word) for word in (*words, *cuts, *(one for one in prefixes if one))}
        return iter(sorted(found))


def text_of(prefix: str, pump: str, size: int) -> str:
    """Return a text of about `size` characters whose end fits nothing."""
    return (prefix + pump * (size // len(pump) + 1))[:size] + STRANGER


def _alphabet(tree: Any) -> list[str]:
    """One character of each kind that the pattern tells apart."""
    found: dict[str, None] = {}
    for code, argument in _leaves(tree):
        found.setdefault(_character(code, argument))
    return list(found)[:MAX_ALPHABET]


def _leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    for code, argument in tree:
        if code in {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}:
            yield code, argument
        for branch in _inner(code, argument):
            yield from _leaves(branch)


def _inner(code: Any, argument: Any) -> list[Any]:
    if code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.ATOMIC_GROUP:
        return [argument]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in {codes.ASSERT, codes.ASSERT_NOT}:
        return [argument[1]]
    return []


def _character(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.ANY:
        return "a"
    if code is codes.NOT_LITERAL:
        return next(one for one in _CANDIDATES if ord(one) != argument)
    first = next((one for one in _CANDIDATES if _holds(argument, one)), None)
    if first is not None:
        return first
    return next((chr(value if kind is codes.LITERAL else value[0]) for kind, value in argument), "a")


def _holds(items: Any, character: str) -> bool:
    """Whether a character is in a class of the pattern."""
    negated = any(kind is codes.NEGATE for kind, _ in items)
    return negated != any(_is(kind, value, character) for kind, value in items)


def _is(kind: Any, value: Any, character: str) -> bool:
    if kind is codes.LITERAL:
        return ord(character) == value
    if kind is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return kind is codes.CATEGORY and re.match(_CATEGORIES[value], character) is not None


_CATEGORIES = {
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _sample(tree: Any) -> str:
    """A short text that the pattern would take, as far as it can be told."""
    groups: dict[int, str] = {}
    return "".join(_sampled(code, argument, groups) for code, argument in tree)


def _sampled(code: Any, argument: Any, groups: dict[int, str]) -> str:
    if code in {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}:
        return _character(code, argument)
    if code is codes.GROUPREF:
        return groups.get(argument, "")
    if code is codes.ASSERT:
        return ""
    branches = _inner(code, argument)[:1]
    text = "".join(_sampled(*one, groups) for branch in branches for one in branch)
    if code is codes.ASSERT_NOT:
        return ""
    if code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
        return text * max(1, min(argument[0], 40))
    if code is codes.SUBPATTERN and argument[0]:
        groups[argument[0]] = text
    return text


def _prefixes(tree: Any, before: str) -> Iterator[str]:
    """What may stand before each of the pattern's unbounded quantifiers."""
    for code, argument in tree:
        if code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT} and argument[1] > 64:
            yield before
        for branch in _inner(code, argument):
            yield from _prefixes(branch, before)
        before += _sampled(code, argument, {})
