"""Changes of a session can be reverted one by one, it may work in a folder of its own, the workspace, several
sessions may attempt the same, and notifications wait for their delivery."""

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
        # A daemon of the schema before deletes sessions and knows nothing of their reverts.
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
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
    op.add_column("sessions", sa.Column("workspace_id", sa.String(), nullable=True))
    op.add_column("sessions", sa.Column("seen_run_id", sa.String(), nullable=True))
    op.add_column("runs", sa.Column("budget_warnings", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("budget_warned_at", sa.BigInteger(), nullable=True))
    # What ended before this revision asks nobody to look at it.
    op.execute(
        "UPDATE sessions SET seen_run_id = (SELECT id FROM runs WHERE runs.session_id = sessions.id"
        " AND parent_run_id IS NULL ORDER BY created_at DESC, id DESC LIMIT 1)"
    )
    op.create_index(
        "ix_todo_proposals_open",
        "todo_proposals",
        ["created_at"],
        sqlite_where=sa.text("state = 'proposed'"),
        postgresql_where=sa.text("state = 'proposed'"),
    )
    op.create_index(
        "ix_compactions_open",
        "compactions",
        ["created_at"],
        sqlite_where=sa.text("state = 'proposed'"),
        postgresql_where=sa.text("state = 'proposed'"),
    )
    op.add_column("workflow_runs", sa.Column("workspace", sa.String(), nullable=True))
    op.create_table(
        "workspaces",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("agent_path", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("parent_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("branch", sa.String(), nullable=True),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("base_commit", sa.String(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("setup_log", sa.Text(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("first_port", sa.Integer(), nullable=True),
        sa.Column("ports", sa.Integer(), nullable=False),
        sa.Column("journal", sa.Text(), nullable=True),
        sa.Column("merged", sa.Text(), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_workspaces_project", "workspaces", ["project_id", "created_at"])
    op.create_index("ix_workspaces_held", "workspaces", ["removed_at", "created_at"])
    op.create_index("ix_workspaces_session", "workspaces", ["session_id"])
    op.create_index("ix_workspaces_state", "workspaces", ["state", "created_at"])
    op.create_table(
        "attempt_groups",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("workflow", sa.String(), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("base_commit", sa.String(), nullable=True),
        sa.Column("asked_check", sa.Text(), nullable=True),
        sa.Column("budget", sa.Text(), nullable=True),
        sa.Column("journal", sa.Text(), nullable=True),
        sa.Column("picked_session_id", sa.String(), nullable=True),
        sa.Column("picked_at", sa.BigInteger(), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_attempt_groups_project", "attempt_groups", ["project_id", "created_at"])
    op.create_index("ix_attempt_groups_state", "attempt_groups", ["state", "created_at"])
    op.create_table(
        "attempts",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("workflow_run_id", sa.String(), nullable=True),
        sa.Column("check_state", sa.String(), nullable=False),
        sa.Column("checked", sa.Text(), nullable=True),
        # As for reverts. A group whose last attempt goes this way stays, and goes with its project.
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["group_id"], ["attempt_groups.id"]),
        sa.PrimaryKeyConstraint("session_id"),
    )
    op.create_index("ix_attempts_group", "attempts", ["group_id", "number"])
    op.create_index("ix_attempts_run", "attempts", ["workflow_run_id"])
    op.create_table(
        "notifications",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("agent_path", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        # As for reverts.
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_notifications_due", "notifications", ["channel", "due_at"])
    op.create_index("ix_notifications_session", "notifications", ["session_id"])
    op.create_index("ix_notifications_created", "notifications", ["created_at"])
