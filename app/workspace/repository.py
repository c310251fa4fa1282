"""The git repository that a folder belongs to.

Owns: finding the repository without git, and git's option that accepts a repository of another user. Never:
running git.
"""

from __future__ import annotations

import os
from pathlib import Path


def repository_above(root: Path) -> Path | None:
    """Return the folder at or above `root` that has `.git`, by its real path; None where there is none.
    Blocks."""
    return repository_top(Path(os.path.realpath(root)))


def repository_top(folder: Path) -> Path | None:
    """Return the folder that has `.git`, of `folder` and those that its name has above it. Blocks."""
    return next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)


def repository_options(root: Path) -> tuple[str, ...] | None:
    """Return git's options for the repository of the project `root`; None where there is none. Blocks."""
    repository = repository_above(root)
    return None if repository is None else accepting(repository, root)


def accepting(repository: Path, root: Path) -> tuple[str, ...]:
    """Return the options by which git accepts exactly this repository of the project `root`. Blocks.

    git refuses a repository as "dubious" whose files another user owns; in a container the project usually
    belongs to a user of the host. A repository above the project is accepted only when both have one owner:
    the settings of a stranger's repository can run programs.
    """
    if repository.name == "*":  # git takes a `*` at the end for every repository below
        return ()
    project = Path(os.path.realpath(root))
    try:
        one_owner = (repository / ".git").lstat().st_uid == project.stat().st_uid
    except OSError:
        return ()
    return ("-c", f"safe.directory={repository}") if project == repository or one_owner else ()
