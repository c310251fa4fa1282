"""The search through issues. What is in these tables is made from others, after every migration."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "issue_search",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("issue_id", sa.String(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("comments", sa.Text(), nullable=False),
        sa.Column("internal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("issue_id"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE issue_search_index USING fts5("
            "scope, title, body, comments, internal, content='issue_search', content_rowid='id', "
            "columnsize=0, prefix='1 2 3', tokenize=\"ascii tokenchars '_'\")"
        )
        return
    op.execute(
        "CREATE TABLE issue_search_index (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL) "
        "WITH (toast_tuple_target = 128)"
    )
    op.execute(
        "CREATE INDEX ix_issue_search_index_words ON issue_search_index USING gin (words) "
        "WITH (fastupdate = off)"
    )
