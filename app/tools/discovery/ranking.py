"""BM25: which of many short texts answer a query best.

Owns: splitting texts into words, and the ranking. Pure. Never: what the texts are of.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
MAX_QUERY_WORDS = 50
MAX_FIELD_CHARACTERS = 20_000
"""What is indexed of one field; more of it says nothing new."""
RELATED_WEIGHT = 0.5
SHORTEST_STEM = 4
STEM_SHARE = 0.75
_WORD = re.compile(r"[^\W_]++")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; `getUserName` and `get_user_name` have the same."""
    return _WORD.findall(_CAMEL.sub(" ", text[:MAX_FIELD_CHARACTERS]).casefold())


@dataclass(frozen=True, slots=True)
class Document:
    """What can be found: how much weight it has for each word."""

    weights: Mapping[str, float]
    length: float

    @classmethod
    def of(cls, fields: Iterable[tuple[str, float]]) -> Document:
        """Return a document of texts, each with its weight."""
        counts: Counter[str] = Counter()
        for text, weight in fields:
            for word in words(text):
                counts[word] += weight  # type: ignore[assignment]
        return cls(counts, sum(counts.values()))


def ranked(documents: Sequence[Document], query: str) -> list[int]:
    """Return the indexes of the documents that have a word of the query, best first. A word that no document
    has stands for those that begin like it does."""
    if not documents:
        return []
    average = sum(one.length for one in documents) / len(documents) or 1.0
    scores = [0.0] * len(documents)
    for word, share in _terms(documents, words(query)[:MAX_QUERY_WORDS]).items():
        having = [index for index, one in enumerate(documents) if word in one.weights]
        rarity = math.log(1 + (len(documents) - len(having) + 0.5) / (len(having) + 0.5))
        for index in having:
            one = documents[index]
            weight = one.weights[word]
            norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * one.length / average)
            scores[index] += share * rarity * weight * (SATURATION + 1) / (weight + norm)
    found = [index for index, score in enumerate(scores) if score > 0]
    return sorted(found, key=lambda index: -scores[index])


def _terms(documents: Sequence[Document], asked: Sequence[str]) -> dict[str, float]:
    """Return the words to look for, each with its share."""
    known = {word for one in documents for word in one.weights}
    begins: defaultdict[str, list[str]] = defaultdict(list)
    for word in known:
        begins[word[:SHORTEST_STEM]].append(word)
    terms: dict[str, float] = {}
    for word in dict.fromkeys(asked):
        if word in known:
            terms[word] = 1.0
        elif len(word) >= SHORTEST_STEM:
            related = (other for other in begins[word[:SHORTEST_STEM]] if _share_stem(word, other))
            terms |= {other: RELATED_WEIGHT for other in related if other not in terms}
    return terms


def _share_stem(one: str, other: str) -> bool:
    """Tell whether two words are alike but for their ends, as `rename` and `renaming` are."""
    shorter = min(len(one), len(other))
    alike = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return alike >= SHORTEST_STEM and alike >= STEM_SHARE * shorter
