"""Steps without a price are found by an index; two indexes that no query uses are gone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

UNPRICED = """stats LIKE '%"usage":{"%' AND stats NOT LIKE '%"cost":%'"""


def upgrade() -> None:
    op.create_index(
        "ix_steps_unpriced",
        "steps",
        ["run_id"],
        sqlite_where=sa.text(UNPRICED),
        postgresql_where=sa.text(UNPRICED),
    )
    op.drop_index("ix_uploads_project", "uploads")
    op.drop_index("ix_projects_slug", "projects")
