"""A session has a mode: how much it asks. Earlier sessions have the default."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("mode", sa.String(), nullable=False, server_default="ask"))
