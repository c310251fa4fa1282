"""What commands in a session's own folder find in their environment.

Owns: the names and values. Never: giving them to a command.
"""

from __future__ import annotations

from app.storage.models import Workspace

WORKSPACE = "KAGED_WORKSPACE"
FIRST_PORT = "KAGED_WORKSPACE_PORT"


def workspace_variables(row: Workspace) -> dict[str, str]:
    """Return the id of the workspace, and the first of its free ports if it has any."""
    found = {WORKSPACE: row.id}
    if row.first_port is not None:
        found[FIRST_PORT] = str(row.first_port)
    return found
