"""Reverts of single changes of a session, with what undoing one needs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015a"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reverts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("tree", sa.String(), nullable=False),
        sa.Column("under_way", sa.Boolean(), nullable=False),
        sa.Column("applied_at", sa.BigInteger(), nullable=True),
        sa.Column("undone_at", sa.BigInteger(), nullable=True),
        sa.Column("undone_by", sa.String(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_reverts_session", "reverts", ["session_id", "created_at"])
    op.create_index(
        "ix_reverts_under_way",
        "reverts",
        ["session_id"],
        sqlite_where=sa.text("under_way IS 1"),
        postgresql_where=sa.text("under_way IS true"),
    )
