"""The git repository that a folder belongs to.

Owns: finding the repository and its folders without git, and git's option that accepts a repository of
another user. Never: running git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAX_LINE = 4096
_OCTAL = re.compile(rb"\\([0-7]{3})")
_MAX_ALTERNATES = 5
"""How far git itself follows repositories that share objects."""


@dataclass(frozen=True, slots=True)
class RepositoryFolders:
    """Where a repository lies, by real paths. `top` is its working tree. `own` holds its HEAD and index,
    `common` its objects and refs: they differ in a linked working tree."""

    top: Path
    own: Path
    common: Path


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


def repository_folders(root: Path) -> RepositoryFolders | None:
    """Return the folders of the repository that the folder `root` lies in, also where they lie elsewhere
    (a linked working tree, a submodule); None where there is none. A project may name any folder: only one
    that looks like a repository's counts. Blocks."""
    top = repository_above(root)
    if top is None:
        return None
    own, common = own_and_common(top)
    if not (os.path.isfile(own / "HEAD") and os.path.isdir(common / "objects")):
        return None
    return RepositoryFolders(top, own, common)


def own_and_common(top: Path) -> tuple[Path, Path]:
    """Return the folders that the repository with the working tree `top` names as its own, by real paths: its
    names may hold newlines. Blocks."""
    named = _named_place(top / ".git", "gitdir: ") if os.path.isfile(top / ".git") else ".git"
    own = Path(os.path.realpath(top / (named or ".git")))
    return own, Path(os.path.realpath(own / (_named_place(own / "commondir") or ".")))


def _named_place(file: Path, start: str = "") -> str | None:
    """Return the path that a file of git's consists of, as git reads it; None when there is none such."""
    text = _beginning_of(file) or ""
    return text.removeprefix(start).rstrip("\r\n") or None if text.startswith(start) else None


def shared_objects(objects: Path) -> list[Path]:
    """Return the folders of other repositories whose objects the repository with the folder `objects` shares:
    those of its alternates, and of theirs. Blocks."""
    found: dict[Path, None] = {}
    level = [objects]
    for _ in range(_MAX_ALTERNATES):
        level = [other for one in level for other in _alternates(one) if other not in found]
        found |= dict.fromkeys(level)
    return list(found)


def _alternates(objects: Path) -> Iterator[Path]:
    for line in (_beginning_of(objects / "info" / "alternates") or "").split("\n"):
        other = Path(os.path.realpath(objects / place_of_alternate(line)))
        if line and other.name == "objects" and os.path.isfile(other.parent / "HEAD"):
            yield other


def foreign_objects(root: Path) -> list[Path]:
    """Return the folders from which the repository of `root` has objects, though they lie outside of its
    working tree. The repository that a linked working tree or a submodule belongs to is none, when it names
    that tree itself: a `.git` file may name any. Blocks."""
    folders = repository_folders(root)
    if folders is None:
        return []
    objects = Path(os.path.realpath(folders.common / "objects"))
    known = [folders.top, *([folders.common] if _names_tree(folders) else [])]
    places = (objects, *shared_objects(objects))
    return [one for one in places if not any(one.is_relative_to(other) for other in known)]


def _names_tree(folders: RepositoryFolders) -> bool:
    """Tell whether a repository that lies elsewhere says itself that this working tree is one of its own."""
    back = first_line(folders.own / "gitdir")
    if back is not None and folders.own.parent == folders.common / "worktrees":
        return os.path.realpath(folders.own / back) == str(folders.top / ".git")
    set_tree = _set_tree(_beginning_of(folders.own / "config") or "")
    return set_tree is not None and os.path.realpath(folders.own / set_tree) == str(folders.top)


def _set_tree(settings: str) -> str | None:
    """Return the working tree that a repository's settings name."""
    for line in settings.split("\n"):
        name, _, value = line.partition("=")
        if name.strip() == "worktree" and (place := value.strip().strip('"')):
            return place
    return None


def place_of_alternate(line: str) -> str:
    """Return a path that git may have quoted: bytes that are not plain as octal digits."""
    if not (line.startswith('"') and line.endswith('"')):
        return line
    raw = line[1:-1].encode("utf-8", "surrogateescape")
    plain = _OCTAL.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), raw)
    return os.fsdecode(plain.replace(b"\0", b""))


def alternate(place: Path) -> bytes:
    """Return the line by which a repository borrows from a folder of objects, as git quotes it in a file and
    in a list with colons."""
    raw = os.fsencode(place)
    if raw.isascii() and not raw.startswith((b"#", b'"')) and not {*b"\n:"} & {*raw}:
        return raw + b"\n"
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in raw
    )
    return f'"{escaped}"\n'.encode()


def _beginning_of(file: Path) -> str | None:
    """Return the beginning of a small file; None when there is none such."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, _MAX_LINE).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return text if "\0" not in text else None


def first_line(file: Path, start: str = "") -> str | None:
    """Return the first line of a small file without its beginning; None when there is none such. Blocks."""
    line = (_beginning_of(file) or "").partition("\n")[0]
    return line.removeprefix(start).strip() or None if line.startswith(start) else None
