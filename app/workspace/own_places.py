"""Places of the daemon: its files in a project, and the workspaces below its data folder, in which sessions
work.

Owns: where workspaces lie, and the clone in one; which names in a folder are the daemon's. Never: making a
workspace, or which session works in which.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

WORKSPACES_FOLDER = "workspaces"
"""The folder below the data folder that holds `<project>/<workspace>`."""
_LEVELS = 3

Names = tuple[str, ...]


def workspace_around(root: Names, closed: Names) -> Names | None:
    """Return the workspace below the closed folder that `root` is or lies in; None when it lies in none.
    All are real paths as components."""
    if root[: len(closed)] != closed or root[len(closed) : len(closed) + 1] != (WORKSPACES_FOLDER,):
        return None
    whole = root[: len(closed) + _LEVELS]
    return whole if len(whole) == len(closed) + _LEVELS else None


def may_be_workspace(root: Path) -> bool:
    """Tell by its name alone whether a folder may lie in a workspace."""
    return WORKSPACES_FOLDER in root.parts


def workspace_folder(root: Path, closed: Iterable[Path]) -> Path | None:
    """Return the folder of the workspace that `root`, a real path, is or lies in; None for what is none of
    the daemon's. Blocks, unless its name says so already."""
    if not may_be_workspace(root):
        return None
    names = root.parts[1:]
    for one in closed:
        found = workspace_around(names, PurePosixPath(os.path.realpath(one)).parts[1:])
        if found is not None:
            return Path("/", *found)
    return None


def clone_around(root: Path, closed: Iterable[Path]) -> Path | None:
    """Return the clone of the workspace that `root`, a real path, is or lies in: the folder with `.git`; None
    without one. Blocks."""
    workspace = workspace_folder(root, closed)
    if workspace is None:
        return None
    inside = [one for one in (root, *root.parents) if one.is_relative_to(workspace)]
    return next((one for one in inside if (one / ".git").is_dir() and not (one / ".git").is_symlink()), None)


def own_names(folder: Path, closed: Iterable[Path]) -> tuple[bytes, ...]:
    """Return the names below `folder`, a real path, of places that are the daemon's: its settings, its data.
    No cage shows them, so git takes them for changed. Blocks."""
    real = [Path(os.path.realpath(one)) for one in closed]
    return tuple(os.fsencode(one.relative_to(folder)) for one in real if folder in one.parents)


def is_own(name: bytes, own: Iterable[bytes]) -> bool:
    """Tell whether a name is one of the daemon's, or lies in a folder of it."""
    return any(name == one or name.startswith(one + b"/") for one in own)
