"""What workspaces are made and merged with, and how a failure of it is put into words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from app.errors import KagedError, ToolError
from app.harness.workspaces.creation import Creation
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.merging import Merging
from app.harness.workspaces.outfit import Outfit
from app.storage.models import Workspace


@dataclass(frozen=True, slots=True)
class Tools:
    """What workspaces are made and merged with, below the daemon's data folder. `close_root` ends what is
    kept for the folder in which a session works."""

    creation: Creation
    merging: Merging
    outfit: Outfit
    data_dir: Path
    close_root: Callable[[Path], Awaitable[None]]

    def layout(self, project_id: str, workspace_id: str) -> Layout:
        return Layout.of(self.data_dir, project_id, workspace_id)

    def holds(self, row: Workspace) -> bool:
        """Tell whether a workspace lies below this daemon's data folder. Of several daemons on one database
        each has its own."""
        return Path(row.root).is_relative_to(self.layout(row.project_id, row.id).folder)


def words(problem: BaseException) -> str:
    """Return what went wrong, for an operator."""
    if isinstance(problem, KagedError | ToolError):
        return problem.message
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    return str(problem) or type(problem).__name__
