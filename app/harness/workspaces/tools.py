"""What workspaces are made and merged with, and how a failure of it is put into words."""

from __future__ import annotations

import os
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
    kept for the folder in which a session works. `replicas`: several daemons share the database, each with a
    data folder of its own."""

    creation: Creation
    merging: Merging
    outfit: Outfit
    data_dir: Path
    close_root: Callable[[Path], Awaitable[None]]
    replicas: bool = False

    def layout(self, project_id: str, workspace_id: str) -> Layout:
        """Return where a workspace lies that this daemon makes."""
        return Layout.of(self.data_dir, project_id, workspace_id)

    def layout_of(self, row: Workspace) -> Layout:
        """Return where a stored workspace lies, which may be in the data folder of another daemon."""
        return Layout.around(Path(row.root), row.project_id, row.id) or self.layout(row.project_id, row.id)

    def holds(self, row: Workspace) -> bool:
        """Tell whether a workspace lies below this daemon's data folder. Only there sessions work: what
        protects the clone from its agents knows this folder alone."""
        return Path(row.root).is_relative_to(self.layout(row.project_id, row.id).folder)

    def tends(self, row: Workspace) -> bool:
        """Tell whether this daemon finishes what was begun with a workspace of a project that it owns."""
        return self.replicas or self.holds(row)

    def reaches(self, row: Workspace) -> bool:
        """Tell whether a workspace can be merged, kept and removed here: it lies below this daemon's data
        folder, or that of another daemon that shares the database and the machine."""
        if self.holds(row):
            return True
        above = self.layout_of(row).folder.parent
        return self.replicas and os.access(above, os.R_OK | os.W_OK | os.X_OK)


def words(problem: BaseException) -> str:
    """Return what went wrong, for an operator."""
    if isinstance(problem, KagedError | ToolError):
        return problem.message
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    return str(problem) or type(problem).__name__
