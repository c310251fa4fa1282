"""Trust in projects; those that are loaded already are trusted as they were last compiled.

Both rows bear the time of that load: an upgraded database and a restored backup of it are the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TRUST = """
INSERT INTO project_trust (root, digest, always, trusted_by, trusted_at)
SELECT root, compiled_digest, :always, 'upgrade', loaded_at FROM projects WHERE compiled_digest IS NOT NULL
"""
_AUDIT = """
INSERT INTO audit_events (created_at, event, actor, project_id, data)
SELECT loaded_at, 'trust.migrated', 'daemon', id, :data FROM projects WHERE compiled_digest IS NOT NULL
"""


def upgrade() -> None:
    op.create_table(
        "project_trust",
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("always", sa.Boolean(), nullable=False),
        sa.Column("trusted_by", sa.String(), nullable=False),
        sa.Column("trusted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("root"),
    )
    op.get_bind().execute(sa.text(_TRUST), {"always": False})
    op.get_bind().execute(sa.text(_AUDIT), {"data": "{}"})
