"""The daemon's log, to be read by clients."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "log_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("severity", sa.Integer(), nullable=False),
        sa.Column("logger", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_log_entries_created", "log_entries", ["created_at", "severity", "event"])
    op.create_index("ix_log_entries_session", "log_entries", ["session_id", "created_at"])
