"""Runs of child agents, compactions, rollbacks, edited prompts, working trees, storage of plugins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("superseded_by", sa.String(), nullable=True))
    op.add_column("runs", sa.Column("parent_run_id", sa.String(), nullable=True))
    op.add_column("runs", sa.Column("parent_call_id", sa.String(), nullable=True))
    op.add_column(
        "runs", sa.Column("background", sa.Boolean(), nullable=False, server_default=sa.text("false"))
    )
    op.create_index("ix_runs_parent", "runs", ["parent_run_id"])
    op.add_column("sessions", sa.Column("recalled_digest", sa.String(), nullable=True))
    op.add_column("sessions", sa.Column("idle_fired_at", sa.BigInteger(), nullable=True))
    _compactions()
    _checkpoints()
    op.create_table(
        "plugin_storage",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("plugin", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.PrimaryKeyConstraint("project_id", "plugin", "key"),
    )


def _compactions() -> None:
    op.create_table(
        "compactions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("agent_path", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("trigger", sa.String(), nullable=False),
        sa.Column("strategy", sa.String(), nullable=False),
        sa.Column("threshold_estimate", sa.BigInteger(), nullable=False),
        sa.Column("after_estimate", sa.BigInteger(), nullable=False),
        sa.Column("window_upper", sa.Float(), nullable=False),
        sa.Column("window_lower", sa.Float(), nullable=False),
        sa.Column("superseded_message_ids", sa.Text(), nullable=False),
        sa.Column("summary_message_id", sa.String(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("plugins_fired", sa.Text(), nullable=False),
        sa.Column("plugin_cost", sa.Text(), nullable=True),
        sa.Column("fallback_occurred", sa.Boolean(), nullable=False),
        sa.Column("fallback_reason", sa.String(), nullable=True),
        sa.Column("operator_flag", sa.String(), nullable=True),
        sa.Column("operator_notes", sa.String(), nullable=True),
        sa.Column("checkpoint_id", sa.String(), nullable=True),
        sa.Column("undone_by", sa.String(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_compactions_session", "compactions", ["session_id", "created_at"])


def _checkpoints() -> None:
    op.create_table(
        "prompt_edits",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("checkpoint_id", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("old_hash", sa.String(), nullable=False),
        sa.Column("new_hash", sa.String(), nullable=False),
        sa.Column("new_content", sa.Text(), nullable=False),
        sa.Column("edited_by", sa.String(), nullable=False),
        sa.Column("edited_at", sa.BigInteger(), nullable=False),
        sa.Column("applied_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_prompt_edits_checkpoint", "prompt_edits", ["checkpoint_id", "edited_at"])
    op.create_index("ix_prompt_edits_session", "prompt_edits", ["session_id", "edited_at"])
    op.create_table(
        "rollbacks",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("checkpoint_id", sa.String(), nullable=True),
        sa.Column("message_cursor", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("undone_at", sa.BigInteger(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rollbacks_session", "rollbacks", ["session_id", "created_at"])
    op.create_table(
        "worktrees",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=True),
        sa.Column("checkpoint_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("tree", sa.String(), nullable=True),
        sa.Column("detail", sa.String(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_worktrees_session", "worktrees", ["session_id", "created_at"])
