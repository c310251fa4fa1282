"""A search question, and its translation for each database. Its words have letters and digits only
(`search_words`), so nothing needs quoting.

Owns: the form of a question, and its translations. Never: parsing (`harness.issues.search_text`) or queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.storage.search_words import FIELDS, assignment_word, project_word, status_word

TIERS: tuple[tuple[str, ...], ...] = (
    ("title",),
    ("title", "body"),
    ("title", "body", "comments", "internal"),
)
"""The best hits have all that is asked for in the title, the next best in title and text."""


@dataclass(frozen=True, slots=True)
class Term:
    """Words that follow each other; `prefix`: of the last one only the beginning is given."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """Terms that all must be there, and terms that must not."""

    required: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """At least one of the alternatives must hold."""

    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which issues are looked through; no statuses: those of all. `internal`: comments for operators, too."""

    project_id: str
    statuses: Sequence[str] = ()
    assignment: str | None = None
    internal: bool = True

    def fields(self, tier: int) -> tuple[str, ...]:
        """Return the fields of a tier that may be looked through."""
        return tuple(name for name in TIERS[tier] if self.internal or name != "internal")

    @property
    def choices(self) -> list[list[str]]:
        """Return lists of words of the scope; of each list one must be there."""
        lists = [[project_word(self.project_id)]]
        if self.statuses:
            lists.append([status_word(status) for status in self.statuses])
        if self.assignment is not None:
            lists.append([assignment_word(self.assignment)])
        return lists


def fts5(query: SearchQuery, scope: Scope, tier: int) -> str:
    """Return the question in the language of SQLite's FTS5: hits of a tier or of a better one."""
    every = _columns(scope.fields(len(TIERS) - 1))
    columns = _columns(scope.fields(tier))
    parts = [" OR ".join(f'{{scope}} : "{word}"' for word in choice) for choice in scope.choices]
    alternatives = []
    for one in query.alternatives:
        wanted = " AND ".join(f"{columns} : {_fts5_term(term)}" for term in one.required)
        if one.excluded:
            unwanted = " OR ".join(f"{every} : {_fts5_term(term)}" for term in one.excluded)
            wanted = f"({wanted}) NOT ({unwanted})"
        alternatives.append(f"({wanted})")
    parts.append(" OR ".join(alternatives))
    return " AND ".join(f"({part})" for part in parts)


def fts5_only(query: SearchQuery, scope: Scope, tier: int) -> str:
    """Return the question for the hits of one tier only."""
    whole = fts5(query, scope, tier)
    return whole if tier == 0 else f"({whole}) NOT ({fts5(query, scope, tier - 1)})"


def tsquery(query: SearchQuery, scope: Scope, tier: int) -> str:
    """Return the question as the text of a PostgreSQL `tsquery`: hits of a tier or of a better one."""
    every, fields = scope.fields(len(TIERS) - 1), scope.fields(tier)
    parts = [" | ".join(f"'{word}'" for word in choice) for choice in scope.choices]
    alternatives = []
    for one in query.alternatives:
        terms = [_tsquery_term(term, fields) for term in one.required]
        terms += [f"!({_tsquery_term(term, every)})" for term in one.excluded]
        alternatives.append("(" + " & ".join(f"({term})" for term in terms) + ")")
    parts.append(" | ".join(alternatives))
    return " & ".join(f"({part})" for part in parts)


def tsquery_only(query: SearchQuery, scope: Scope, tier: int) -> str:
    """Return the question for the hits of one tier only."""
    whole = tsquery(query, scope, tier)
    return whole if tier == 0 else f"({whole}) & !({tsquery(query, scope, tier - 1)})"


def _columns(fields: Sequence[str]) -> str:
    return "{" + " ".join(fields) + "}"


def _fts5_term(term: Term) -> str:
    phrase = " ".join(term.words)
    return f'"{phrase}" *' if term.prefix else f'"{phrase}"'


def _tsquery_term(term: Term, fields: Sequence[str]) -> str:
    """Return the term, in any one of the fields."""
    last = len(term.words) - 1
    return " | ".join(
        "("
        + " <-> ".join(
            f"'{FIELDS[field]}{word}'{':*' if term.prefix and place == last else ''}"
            for place, word in enumerate(term.words)
        )
        + ")"
        for field in fields
    )
