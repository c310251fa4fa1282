"""What the tokens of agents and plugins are bound to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("project_id", "session_id", "agent_path", "plugin"):
        op.add_column("access_tokens", sa.Column(name, sa.String(), nullable=True))
