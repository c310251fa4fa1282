"""Where a workspace lies on disk.

Owns: the names below a workspace's folder, the name of its branch and of its pin. Never: making them.

`tree` is what the session sees, with the clone's own `.git`. `git` is the daemon's repository beside it: it
has settings of the daemon only, so that nothing that an agent writes to the clone's settings steers the
daemon.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.workspace.own_places import WORKSPACES_FOLDER

_LONGEST_SLUG = 40


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one workspace, below `folder`."""

    folder: Path

    @classmethod
    def of(cls, data_dir: Path, project_id: str, workspace_id: str) -> Layout:
        return cls(data_dir / WORKSPACES_FOLDER / project_id / workspace_id)

    @classmethod
    def around(cls, root: Path, project_id: str, workspace_id: str) -> Layout | None:
        """Return the layout of which `root` stands for the project's root, in whichever data folder; None
        when it is no place of this workspace."""
        place = (WORKSPACES_FOLDER, project_id, workspace_id)
        return next((cls(one) for one in root.parents if one.parts[-3:] == place), None)

    @property
    def git(self) -> Path:
        return self.folder / "git"

    @property
    def index(self) -> Path:
        """The daemon's index of the tree."""
        return self.git / "index"

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def own_git(self) -> Path:
        """The repository that agents use."""
        return self.tree / ".git"

    def root(self, prefix: str) -> Path:
        """Return the folder that stands for the project's root, which lies at `prefix` in its repository."""
        return self.tree / PurePosixPath(prefix)


def pin_of(workspace_id: str) -> str:
    """Return the ref that keeps the commit that a workspace began with in the user's repository."""
    return f"refs/kaged/base/{workspace_id}"


def branch_of(workspace_id: str, title: str) -> str:
    """Return the name of a workspace's branch, which says what its session is about."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_SLUG].strip("-")
    name = f"kaged/{workspace_id}"
    return f"{name}-{slug}" if slug else name
