"""The repository of a workspace in the cage of its agents: git works there, and steers nothing outside.

Owns: what of the clone's `.git` a cage may write, and what else git reads. Never: the rest of a cage
(`app.cages.cage`), or making a clone. Blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.cages.cage import Cage, Mount
from app.cages.file_grants import Mode
from app.tools.processes.project_cage import not_closed
from app.workspace.own_places import clone_around
from app.workspace.repository import shared_objects

STEERING = (
    *("config", "config.worktree", "commondir", "hooks", "info/attributes", "objects/info/alternates"),
    *("modules", "worktrees"),
)
"""What of a `.git` names programs, or another repository of which the settings would count. It stays as it
is in a cage, and what is made there is taken away: git may run in the clone outside of the cage, too."""

COMMITTER = {"EMAIL": "agent@kaged.invalid"}
"""Who commits in a cage, where the settings of git's user are not seen, unless the repository says."""


def with_repository(cage: Cage, root: Path, closed: Sequence[Path]) -> Cage:
    """Return the cage of an agent that works at `root`. Where that is a workspace, it has the `.git` of its
    clone: to be written where the cage may write all of the project, but for what steers git; and with the
    objects that the clone shares, to be read. Where the project is a part of the clone, the rest of it is
    shown, as git compares it."""
    mode: Mode = next((one.mode for one in cage.mounts if one.path == root), "deny")
    clone = clone_around(root, closed)
    if mode == "deny" or clone is None:
        return cage
    git = clone / ".git"
    shown = not_closed(shared_objects(git / "objects"), closed)
    if clone != root:
        shown.append(clone)
    mounts = (*cage.mounts, *(Mount(one, "ro") for one in shown), Mount(git, mode))
    guarded = tuple(git / name for name in STEERING) if mode == "rw" else ()
    env = COMMITTER | dict(cage.env)
    return replace(cage, mounts=mounts, repository=git, guarded=(*cage.guarded, *guarded), env=env)
