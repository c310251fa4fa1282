"""The words of a text for the search, the same for both databases.

Owns: which words a text has, and their indexed form. Never: a query or SQL.

A word is a run of letters and digits, without case and marks, cut to 40 characters. Words are kept as one
text, separated by blanks. A gap keeps two words from being neighbours in a phrase: between two comments, and
around a word whose position PostgreSQL's `tsvector` cannot hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

GAP = "_"
"""No word has this character."""

MAX_WORD_CHARACTERS = 40
MAX_FIELD_BYTES = 120_000
"""What is indexed of one field; three full ones fit into a `tsvector`, which holds 1 MB."""

_MAX_POSITION = 16_000
_MAX_POSITIONS = 250

_RUN = re.compile(r"[^\W_]+")
FIELDS: dict[str, str] = {"title": "t", "body": "b", "comments": "c", "internal": "i"}
"""Each field and the letter that its words begin with in a `tsvector`."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    if text.isascii():
        found = _RUN.findall(text.lower())
    else:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        found = _RUN.findall("".join(one for one in folded if unicodedata.category(one)[0] != "M"))
    return [word[:MAX_WORD_CHARACTERS] for word in found]


class IndexedText:
    """The words of a field for the index, to which text after text is added; `str` of it is what is kept."""

    def __init__(self, before: str = "") -> None:
        self._tokens = before.split()
        self._counts = Counter(self._tokens)
        self._bytes = len(before.encode())

    def add(self, text: str) -> None:
        """Put the words of a text behind those that are there, which stay as they are."""
        tokens, counts = self._tokens, self._counts
        before = len(tokens)
        room = MAX_FIELD_BYTES - self._bytes
        if tokens:
            tokens.append(GAP)
        for word in words_of(text):
            room -= len(word.encode()) + 1
            if room < 0:
                break
            if counts[word] >= _MAX_POSITIONS:
                tokens.append(GAP)
            elif len(tokens) < _MAX_POSITION:
                tokens.append(word)
            else:
                tokens += (GAP, word, GAP)
            counts[word] += 1
        added = " ".join(tokens[before:])
        self._bytes += len(added.encode()) + (1 if before else 0)

    def __str__(self) -> str:
        return " ".join(self._tokens)


def indexed(text: str, before: str = "") -> str:
    """Return the words of a text for the index, behind those of `before`, which stay as they are."""
    words = IndexedText(before)
    words.add(text)
    return str(words)


def vector_literal(scope: str, fields: dict[str, str]) -> str:
    """Return the text of a `tsvector`: the words of each field with their positions, those of the scope
    without."""
    parts = [f"'{word}'" for word in dict.fromkeys(scope.split())]
    for name, letter in FIELDS.items():
        places: dict[str, list[str]] = {}
        for place, word in enumerate(fields[name].split(), start=1):
            if word != GAP:
                positions = places.setdefault(word, [])
                if place <= _MAX_POSITION and len(positions) < _MAX_POSITIONS:
                    positions.append(str(place))
        for word, positions in places.items():
            parts.append(f"'{letter}{word}':{','.join(positions)}" if positions else f"'{letter}{word}'")
    return " ".join(parts)


def project_word(project_id: str) -> str:
    """Return the word of the scope that stands for a project."""
    return f"p_{project_id.lower()}"


def status_word(status: str) -> str:
    """Return the word of the scope that stands for a status."""
    return f"s_{status}"


def assignment_word(assignment: str) -> str:
    """Return the word of the scope that stands for an assignment."""
    return f"a_{assignment.encode('utf-8', 'replace').hex()}"


def scope_of(project_id: str, status: str, assignment: str | None) -> str:
    """Return the words by which an issue is filtered."""
    words: Sequence[str] = [project_word(project_id), status_word(status)]
    return " ".join([*words, *([] if assignment is None else [assignment_word(assignment)])])
