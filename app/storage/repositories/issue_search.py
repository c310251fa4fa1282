"""The search through issues. `issue_search` has one row per issue with the words of its fields; its key
orders the hits. `issue_search_index` is the index over it: FTS5 on SQLite, a `tsvector` on PostgreSQL.

Owns: these tables and their queries. Never: words (`search_words`) or questions (`search_query`).
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    select,
    text,
    update,
)

from app.storage.models import Issue, IssueUpdate
from app.storage.repositories.rows import table_of
from app.storage.search_query import TIERS, Scope, SearchQuery, fts5, fts5_only, tsquery, tsquery_only
from app.storage.search_words import FIELDS, IndexedText, indexed, scope_of, vector_literal

PREFIX = "issue_search"
"""What the names of the tables of the search begin with."""

METADATA = MetaData()
WORDS = Table(
    PREFIX,
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("issue_id", String, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    *(Column(name, Text, nullable=False) for name in FIELDS),
)
SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE issue_search_index USING fts5("
    "scope, title, body, comments, internal, content='issue_search', content_rowid='id', "
    "columnsize=0, prefix='1 2 3', tokenize=\"ascii tokenchars '_'\")"
)
POSTGRESQL_INDEX = (
    # Vectors lie beside the rows: a common word is counted without reading them. Entries that wait
    # to be sorted in would be read through by every search.
    (
        "CREATE TABLE issue_search_index (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL) "
        "WITH (toast_tuple_target = 128)"
    ),
    (
        "CREATE INDEX ix_issue_search_index_words ON issue_search_index USING gin (words) "
        "WITH (fastupdate = off)"
    ),
)
_COLUMNS = ("scope", *FIELDS)
_NAMED = ", ".join(_COLUMNS)
_GIVEN = ", ".join(f":{name}" for name in _COLUMNS)

_SQLITE_ADD = text(f"INSERT INTO issue_search_index (rowid, {_NAMED}) VALUES (:id, {_GIVEN})")
_SQLITE_REMOVE = text(
    f"INSERT INTO issue_search_index (issue_search_index, rowid, {_NAMED}) VALUES ('delete', :id, {_GIVEN})"
)
_POSTGRESQL_PUT = text(
    "INSERT INTO issue_search_index (id, words) VALUES (:id, CAST(:words AS tsvector)) "
    "ON CONFLICT (id) DO UPDATE SET words = excluded.words"
)
_COUNT = {
    "sqlite": text("SELECT count(*) FROM issue_search_index WHERE issue_search_index MATCH :query"),
    "postgresql": text("SELECT count(*) FROM issue_search_index WHERE words @@ CAST(:query AS tsquery)"),
}
_PAGE = {
    "sqlite": text(
        "SELECT rowid FROM issue_search_index WHERE issue_search_index MATCH :query AND rowid < :below "
        "ORDER BY rowid DESC LIMIT :limit OFFSET :offset"
    ),
    "postgresql": text(
        "SELECT id FROM issue_search_index WHERE words @@ CAST(:query AS tsquery) AND id < :below "
        "ORDER BY id DESC LIMIT :limit OFFSET :offset"
    ),
}
_FEW = text(
    # Before PostgreSQL has counted words, it would go through all rows in their order to find these.
    "WITH hits AS MATERIALIZED (SELECT id FROM issue_search_index WHERE words @@ CAST(:query AS tsquery)) "
    "SELECT id FROM hits WHERE id < :below ORDER BY id DESC LIMIT :limit OFFSET :offset"
)
_FEW_HITS = 2_000
_FIRST = 2**62


class IssueSearchRepository:
    """The index of all issues, on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._database = connection.dialect.name

    # -- keeping it in step -----------------------------------------------------------------

    def put(self, issue_id: str) -> None:
        """Index an issue as it is stored now; its comments stay indexed."""
        before = self._row(issue_id)
        if before is None:
            self._put_new(issue_id, {"comments": "", "internal": ""})
        else:
            self._change(before, self._fields(issue_id))

    def add_comment(self, issue_id: str, body: str, *, internal: bool) -> None:
        """Index a comment of an issue that is indexed."""
        before = self._row(issue_id)
        if before is None:
            return
        field = "internal" if internal else "comments"
        self._change(before, {field: indexed(body, before[field])})

    def fill(self) -> None:
        """Index every issue that is not yet: after a migration or a restore."""
        issues, updates = table_of(Issue), table_of(IssueUpdate)
        missing = (
            select(issues.c.id)
            .where(issues.c.id.not_in(select(WORDS.c.issue_id)))
            .order_by(issues.c.created_at, issues.c.number)
        )
        for issue_id in self.connection.execute(missing).scalars().all():
            words = {"comments": IndexedText(), "internal": IndexedText()}
            comments = select(updates.c.body, updates.c.visibility).where(
                updates.c.issue_id == issue_id, updates.c.kind == "comment"
            )
            for body, visibility in self.connection.execute(
                comments.order_by(updates.c.created_at, updates.c.id)
            ).all():
                words["comments" if visibility == "all" else "internal"].add(body or "")
            # At once: comment by comment, an issue of two thousand took minutes.
            self._put_new(issue_id, {name: str(text) for name, text in words.items()})

    def _fields(self, issue_id: str) -> dict[str, str]:
        table = table_of(Issue)
        issue = self.connection.execute(select(table).where(table.c.id == issue_id)).mappings().one()
        return {
            "scope": scope_of(issue["project_id"], issue["status"], issue["assignment"]),
            "title": indexed(issue["title"]),
            "body": indexed(issue["body"]),
        }

    def _put_new(self, issue_id: str, comments: dict[str, str]) -> None:
        values = {**self._fields(issue_id), **comments, "issue_id": issue_id}
        made = self.connection.execute(insert(WORDS).values(values).returning(WORDS.c.id)).scalar_one()
        self._index({**values, "id": made})

    def _change(self, before: Mapping[str, Any], values: dict[str, str]) -> None:
        if all(before[name] == value for name, value in values.items()):
            return
        if self._database == "sqlite":
            self.connection.execute(_SQLITE_REMOVE, {name: before[name] for name in ("id", *_COLUMNS)})
        self.connection.execute(update(WORDS).where(WORDS.c.id == before["id"]).values(values))
        self._index({**before, **values})

    def _index(self, row: Mapping[str, Any]) -> None:
        if self._database == "sqlite":
            self.connection.execute(_SQLITE_ADD, {name: row[name] for name in ("id", *_COLUMNS)})
            return
        words = vector_literal(row["scope"], {name: row[name] for name in FIELDS})
        self.connection.execute(_POSTGRESQL_PUT, {"id": row["id"], "words": words})

    def _row(self, issue_id: str) -> Mapping[str, Any] | None:
        found = self.connection.execute(select(WORDS).where(WORDS.c.issue_id == issue_id))
        row = found.mappings().first()
        return None if row is None else dict(row)

    # -- asking it --------------------------------------------------------------------------

    def hits(
        self,
        query: SearchQuery,
        scope: Scope,
        *,
        limit: int,
        offset: int = 0,
        after: tuple[int, int] | None = None,
    ) -> tuple[builtins.list[tuple[int, int]], int]:
        """Return the places of hits, the best first: their tiers and keys; and how many hits there are in
        all. `after` is such a place: those behind it only."""
        total = self._count(query, scope, len(TIERS) - 1)
        found: builtins.list[tuple[int, int]] = []
        first = 0 if after is None else after[0]
        for tier in range(first, len(TIERS)):
            if offset:
                # What the better tiers have is skipped with them.
                here = self._count(query, scope, tier) - (self._count(query, scope, tier - 1) if tier else 0)
                if here <= offset:
                    offset -= here
                    continue
            below = after[1] if after is not None and tier == first else _FIRST
            only = fts5_only if self._database == "sqlite" else tsquery_only
            parameters = {
                "query": only(query, scope, tier),
                "below": below,
                "limit": limit - len(found),
                "offset": offset,
            }
            few = self._database == "postgresql" and total <= _FEW_HITS
            statement = _FEW if few else _PAGE[self._database]
            keys = self.connection.execute(statement, parameters).scalars()
            found += [(tier, key) for key in keys]
            offset = 0
            if len(found) >= limit:
                break
        return found, total

    def issue_ids(self, keys: builtins.list[int]) -> dict[int, str]:
        rows = self.connection.execute(select(WORDS.c.id, WORDS.c.issue_id).where(WORDS.c.id.in_(keys)))
        return {row.id: row.issue_id for row in rows}

    def _count(self, query: SearchQuery, scope: Scope, tier: int) -> int:
        asked = (fts5 if self._database == "sqlite" else tsquery)(query, scope, tier)
        return int(self.connection.execute(_COUNT[self._database], {"query": asked}).scalar_one())


def is_search_table(name: str | None) -> bool:
    """Tell whether a table can be filled from others; those of FTS5 are among them."""
    return name is not None and name.startswith(PREFIX)


def create_search_tables(connection: Connection) -> None:
    """Make the tables in the open transaction."""
    METADATA.create_all(connection, checkfirst=False)
    index = (SQLITE_INDEX,) if connection.dialect.name == "sqlite" else POSTGRESQL_INDEX
    for statement in index:
        connection.exec_driver_sql(statement)


def fill_search(connection: Connection) -> None:
    """Index what is not indexed, in the open transaction."""
    IssueSearchRepository(connection).fill()
