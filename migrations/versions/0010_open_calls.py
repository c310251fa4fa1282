"""Calls are found by their session, and the open ones by an index of their own: none is over the state."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A version before this one may have left calls without the time of their end.
    op.execute(
        "UPDATE tool_calls SET ended_at = coalesce(started_at, 0) "
        "WHERE ended_at IS NULL AND state NOT IN ('pending', 'running', 'waiting')"
    )
    op.drop_index("ix_tool_calls_session_state", "tool_calls")
    op.create_index("ix_tool_calls_session", "tool_calls", ["session_id"])
    op.create_index(
        "ix_tool_calls_open",
        "tool_calls",
        ["session_id"],
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
