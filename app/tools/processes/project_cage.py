"""The read-only cages in which the daemon's own programs look at a project.

Owns: the folders of such a cage. Never: the cage of an agent (`app.cages.cage`). Blocks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import app
from app.cages.cage import Cage, Mount
from app.programs import find_program, own_packages
from app.workspace.repository import repository_top

OWN_FOLDERS = (Path(app.__file__).parent, own_packages())
"""The daemon's own programs that run in such a cage, with their settings."""
OWN_PROGRAMS = ("rg", "ast-grep")
RULES_FILE = ".gitignore"
MAX_LINE = 4096
_OCTAL = re.compile(rb"\\([0-7]{3})")
MAX_ALTERNATES = 5
"""How far git itself follows repositories that share objects."""


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
    what the repository holds, and stays."""
    shown = [root, *above(root), *_repository_places(root, closed), *places.shown]
    reading = [Mount(path, "ro") for path in dict.fromkeys(shown) if path not in places.writable]
    hidden = [Mount(path, "deny") for path in closed]
    writing = [Mount(path, "rw") for path in places.writable]
    kept = [Mount(path, "ro") for path in places.kept]
    mounts = (*reading, *hidden, *writing, *kept)
    return Cage(mounts=mounts, hides_special_files=False, takes_new_names=False)


def _repository_places(root: Path, closed: Sequence[Path]) -> list[Path]:
    """Return the folders of a repository that lie elsewhere: of a linked working tree, a submodule, or a
    clone that shares objects. A project may say so of any folder: only what looks like one is shown."""
    top = repository_top(root)
    if top is None:
        return []
    git = line_of(top / ".git", "gitdir: ") if os.path.isfile(top / ".git") else ".git"
    folder = Path(os.path.realpath(top / (git or ".git")))
    common = Path(os.path.realpath(folder / (line_of(folder / "commondir") or ".")))
    found = [one for one in (folder, common) if os.path.isfile(one / "HEAD")]
    found += shared_objects(common / "objects")
    return not_closed([one for one in found if not one.is_relative_to(root)], closed)


def not_closed(folders: Sequence[Path], closed: Sequence[Path]) -> list[Path]:
    """Return those of the folders that do not belong to the daemon."""
    hidden = [Path(os.path.realpath(one)) for one in closed]
    return [one for one in folders if not any(one.is_relative_to(other) for other in hidden)]


def shared_objects(objects: Path) -> list[Path]:
    """Return the folders of other repositories whose objects the repository with the folder `objects` shares:
    those of its alternates, and of theirs."""
    found: dict[Path, None] = {}
    level = [objects]
    for _ in range(MAX_ALTERNATES):
        level = [other for one in level for other in _alternates(one) if other not in found]
        found |= dict.fromkeys(level)
    return list(found)


def _alternates(objects: Path) -> Iterator[Path]:
    for line in (_beginning_of(objects / "info" / "alternates") or "").split("\n"):
        other = Path(os.path.realpath(objects / _unquoted(line)))
        if line and other.name == "objects" and os.path.isfile(other.parent / "HEAD"):
            yield other


def _unquoted(line: str) -> str:
    """Return a path that git may have quoted: bytes that are not plain as octal digits."""
    if not (line.startswith('"') and line.endswith('"')):
        return line
    raw = line[1:-1].encode("utf-8", "surrogateescape")
    plain = _OCTAL.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), raw)
    return os.fsdecode(plain.replace(b"\0", b""))


def _beginning_of(file: Path) -> str | None:
    """Return the beginning of a small file; None when there is none such."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, MAX_LINE).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return text if "\0" not in text else None


def line_of(file: Path, start: str = "") -> str | None:
    """Return the first line of a small file without its beginning; None when there is none such."""
    line = (_beginning_of(file) or "").partition("\n")[0]
    return line.removeprefix(start).strip() or None if line.startswith(start) else None
