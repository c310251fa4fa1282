"""The read-only cages in which the daemon's own programs look at a project.

Owns: the folders of such a cage. Never: the cage of an agent (`app.cages.cage`). Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import app
from app.cages.cage import Cage, Mount
from app.programs import find_program, own_packages
from app.workspace.repository import RepositoryFolders, repository_folders, repository_top, shared_objects


@dataclass(frozen=True, slots=True)
class GitWork:
    """What a command of git may write: with `writes` index, objects, refs, logs and HEAD of the repository,
    with `files` its working tree as well. `apart`: what git obeys stays read-only in the repository's folder
    (settings, hooks, submodules); a cage without mounts cannot hold that."""

    writes: bool = False
    files: bool = False
    apart: bool = True


OWN_FOLDERS = (Path(app.__file__).parent, own_packages())
"""The daemon's own programs that run in such a cage, with their settings."""
OWN_PROGRAMS = ("rg", "ast-grep")
RULES_FILE = ".gitignore"
STEERING = ("config", "config.worktree", "hooks", "info", "modules", "commondir", "gitdir", "worktrees")
"""What of a repository's own folder says what git does, or belongs to other repositories."""


def programs_for_reading(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return what has to be shown of this installation wherever it lies, with the programs that are found on
    the PATH of `environment`."""
    found = (find_program(name, environment) for name in OWN_PROGRAMS)
    return (*OWN_FOLDERS, *(program.resolve() for program in found if program is not None))


def cage_for_reading(root: Path, also: Sequence[Path], closed: Sequence[Path]) -> Cage:
    """Return the cage for searching the project at `root` with programs that need `also`. Above the project
    it shows the repository's folder and ignore rules, which searches apply."""
    shown = [root, *above(root), *also]
    mounts = [Mount(path, "ro") for path in dict.fromkeys(shown)]
    hidden = [Mount(path, "deny") for path in closed]
    return Cage(mounts=(*mounts, *hidden), hides_special_files=False)


def cage_for_caller(
    compiled: Mapping[str, Any], root: Path, also: Sequence[Path], closed: Sequence[Path]
) -> Cage:
    """Return the cage for searching the project at `root` as far as an agent may read, so that a swapped link
    leads nowhere else. Ignore rules of the folders above are shown."""
    own = Cage.of_agent(compiled, root, state_folder=root, closed=tuple(closed))
    granted = [one for one in own.mounts if one.mode != "deny" and os.path.lexists(one.path)]
    hidden = [one for one in own.mounts if one.mode == "deny"]
    rules = {
        folder / RULES_FILE for one in granted for folder in one.path.parents if folder.is_relative_to(root)
    }
    marks = [mark for mark in (root / ".git", root / ".git" / "HEAD") if os.path.isfile(mark)]
    shown = [path for path in sorted(rules) if os.path.isfile(path) and not path.is_symlink()]
    extra = [path for path in (*above(root), *marks, *shown, *also) if not _is_granted(path, granted)]
    reading = [Mount(one.path, "ro") for one in granted]
    mounts = (*reading, *(Mount(path, "ro") for path in extra), *hidden)
    return Cage(mounts=mounts, hides_special_files=False)


def cage_for_folder(folder: Path, also: Sequence[Path], closed: Sequence[Path]) -> Cage:
    """Return the cage in which a folder outside the project is searched."""
    hidden = [Mount(path, "deny") for path in closed]
    mounts = (*(Mount(path, "ro") for path in (folder, *also)), *hidden)
    return Cage(mounts=mounts, hides_special_files=False)


def shows_something(cage: Cage, folder: Path) -> bool:
    """Tell whether a folder of the project is in the cage, with anything in it."""
    places = [one.path for one in cage.mounts if one.mode != "deny"]
    return any(place.is_relative_to(folder) or folder.is_relative_to(place) for place in places)


def _is_granted(path: Path, granted: Sequence[Mount]) -> bool:
    return any(path.is_relative_to(one.path) for one in granted)


def above(root: Path) -> list[Path]:
    """Return the repository's folder and the rules above `root`, where the repository begins above it."""
    top = repository_top(root)
    if top is None or top == root:
        return []
    folders = [one for one in root.parents if one.is_relative_to(top)]
    found = [folder / RULES_FILE for folder in folders] + [top / ".git"]
    return [path for path in found if os.path.exists(path) and not path.is_symlink()]


@dataclass(frozen=True, slots=True)
class GitPlaces:
    """What a git command of the daemon may write to beside the project and its repository, which it reads:
    the folders `writable` but for what is `kept` in them. It also reads what is `shown`."""

    writable: tuple[Path, ...]
    shown: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()


def places_for_refs(common: Path) -> GitPlaces:
    """Return the places of a command that writes refs of the repository in the folder `common`, and nothing
    else there. Blocks."""
    return places_within(common, ("refs", "packed-refs", "reftable", "logs"))


def places_within(folder: Path, names: Sequence[str]) -> GitPlaces:
    """Return the places of a command that writes these names in a repository's folder, and new names."""
    kept = tuple(folder / name for name in sorted(os.listdir(folder)) if name not in names)
    return GitPlaces((folder,), kept=kept)


def cage_for_git(root: Path, places: GitPlaces, closed: Sequence[Path]) -> Cage:
    """Return the cage in which git works for the daemon in the folder `root`: it reads the folder and its
    repository, wherever that lies, and writes to its places alone. What it writes under protected names is
    what the repository holds, and stays: nobody looks for it in a tree of many files."""
    shown = [root, *above(root), *_repository_places(root, closed), *places.shown]
    reading = [Mount(path, "ro") for path in dict.fromkeys(shown) if path not in places.writable]
    hidden = [Mount(path, "deny") for path in closed]
    writing = [Mount(path, "rw") for path in places.writable]
    kept = [Mount(path, "ro") for path in places.kept]
    mounts = (*reading, *hidden, *writing, *kept)
    return Cage(mounts=mounts, hides_special_files=False, takes_new_names=False, protects_names=False)


def cage_for_operator(
    root: Path, folders: RepositoryFolders, closed: Sequence[Path], also: Sequence[Path], work: GitWork
) -> Cage:
    """Return the cage in which the daemon's git works for an operator in the repository of the project at
    `root`. It reads that and the files `also`, and writes what the `work` needs, nothing by a protected name
    that git itself would not write."""
    shown = [root, *above(root), *_repository_places(root, closed), *also]
    own = dict.fromkeys((folders.common, folders.own))
    written = {*(own if work.writes else ()), *((folders.top,) if work.files else ())}
    mounts = [Mount(path, "rw") for path in written]
    mounts += [
        Mount(path, "ro")
        for path in dict.fromkeys(shown)
        if path not in written and not (work.files and path.is_relative_to(folders.top))
    ]
    if work.writes and work.apart:
        steering = (folder / name for folder in own for name in STEERING)
        mounts += [Mount(path, "ro") for path in steering if os.path.lexists(path)]
    hidden = [Mount(path, "deny") for path in closed]
    return Cage(
        mounts=(*mounts, *hidden), takes_new_names=False, hides_special_files=False, protects_names=False
    )


def _repository_places(root: Path, closed: Sequence[Path]) -> list[Path]:
    """Return the folders of a repository that lie elsewhere: of a linked working tree, a submodule, or a
    clone that shares objects. A project may say so of any folder: only what looks like one is shown."""
    folders = repository_folders(root)
    if folders is None:
        return []
    found = [one for one in (folders.own, folders.common) if os.path.isfile(one / "HEAD")]
    found += shared_objects(folders.common / "objects")
    return not_closed([one for one in found if not one.is_relative_to(root)], closed)


def not_closed(folders: Sequence[Path], closed: Sequence[Path]) -> list[Path]:
    """Return those of the folders that do not belong to the daemon."""
    hidden = [Path(os.path.realpath(one)) for one in closed]
    return [one for one in folders if not any(one.is_relative_to(other) for other in hidden)]
