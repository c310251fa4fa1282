"""What somebody types to search for, read strictly.

Owns: the grammar: words, `"phrases"`, `begin*`, `-not`, and `OR` between alternatives that each need a word.
Never: how a search is answered (`storage.search_query`).
"""

from __future__ import annotations

import re

from app.errors import ValidationFailed
from app.storage.search_query import Alternative, SearchQuery, Term
from app.storage.search_words import words_of

MAX_CHARACTERS = 500
MAX_TERMS = 32

_TOKEN = re.compile(r'\s*(?P<minus>-?)(?:"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>[^\s"]+))')


def read_search(text: str) -> SearchQuery:
    """Return what is asked for. Raises `ValidationFailed` for the field `search`."""
    if len(text) > MAX_CHARACTERS:
        raise _malformed(f"has {len(text)} characters, at most {MAX_CHARACTERS} are possible")
    if not text.strip():
        raise _malformed("is empty; leave it out to see all issues")
    if text.count('"') % 2:
        raise _malformed('has a quote (") without its partner; close the phrase, or leave the quote out')
    alternatives: list[Alternative] = []
    required: list[Term] = []
    excluded: list[Term] = []
    terms = place = 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise _malformed(f"cannot be read from “{text[place:].strip()[:40]}” on")
        place = found.end()
        if found["phrase"] is not None and place < len(text) and not text[place].isspace():
            raise _malformed(f"has “{text[place:][:20]}” right behind a phrase; put a blank between them")
        if found[0].strip() == "OR":
            alternatives.append(_alternative(required, excluded, "before"))
            required, excluded = [], []
            continue
        (excluded if found["minus"] else required).append(_term(found))
        terms += 1
        if terms > MAX_TERMS:
            raise _malformed(f"has more than {MAX_TERMS} words and phrases; leave some out")
    alternatives.append(_alternative(required, excluded, "behind" if alternatives else ""))
    return SearchQuery(tuple(alternatives))


def _term(found: re.Match[str]) -> Term:
    shown = found[0].strip()
    if found["phrase"] is not None:
        if found["star"]:
            raise _malformed(f"has * behind the phrase {shown[:40]}; it is possible behind a word only")
        words = words_of(found["phrase"])
        if not words:
            raise _malformed(f"has a phrase without letters and digits: {shown[:40]}")
        return Term(tuple(words))
    word = found["word"]
    prefix = word.endswith("*")
    if "*" in (word[:-1] if prefix else word):
        raise _malformed(f"has * inside “{word[:40]}”; it is possible at the end of a word only")
    words = words_of(word)
    if not words:
        raise _malformed(f"has “{shown[:40]}” without letters and digits; leave it out, or search for a word")
    if prefix and not words_of(word[-2:]):
        raise _malformed(f"has * behind no letter in “{word[:40]}”; write the beginning of a word before it")
    return Term(tuple(words), prefix=prefix)


def _alternative(required: list[Term], excluded: list[Term], side: str) -> Alternative:
    if required:
        return Alternative(tuple(required), tuple(excluded))
    if excluded:
        raise _malformed("says only what must not be there; add a word that must")
    raise _malformed(f"has nothing {side} an OR; write a word there, or search for “or” in small letters")


def _malformed(problem: str) -> ValidationFailed:
    return ValidationFailed(f"search: {problem}.", fields={"search": problem})
