"""The folders of the machine, among which an operator chooses one to load as a project.

Owns: the names of the folders in a folder, and which of them have a project file. Never: files, or loading
(`project_loader`). The daemon's own places are not shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, Forbidden, NotFound, ValidationFailed
from app.harness.projects.loaded_project import PROJECT_FILE, PROJECT_FOLDER

MOST_ENTRIES = 20_000
"""How many entries of one folder are looked at."""


@dataclass(frozen=True, slots=True)
class MachineFolder:
    """A folder that may be a project."""

    name: str
    path: str
    is_project: bool


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder by its real path, with the folders in it by name."""

    path: str
    is_project: bool
    folders: Sequence[MachineFolder]
    complete: bool


class MachineFolders:
    """Lists folders with the rights of the daemon's user. `closed` are the daemon's own places."""

    def __init__(self, closed: Iterable[Path]) -> None:
        self._closed = tuple(closed)

    def view(self, path: str | None, *, hidden: bool) -> FolderView:
        """Return the folder at an absolute path, or the home of the daemon's user; `hidden` are names that
        begin with a dot. Blocks.

        Raises `ValidationFailed`, `NotFound`, `Conflict` (`not_a_folder`) and `Forbidden`."""
        descriptor = _opened(path)
        try:
            place = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            closed = tuple(Path(os.path.realpath(one)) for one in self._closed)
            if any(place == one or one in place.parents for one in closed):
                raise Forbidden(
                    f"{place} belongs to the daemon. Choose another folder.", reason="folder_closed"
                )
            found = _Found(descriptor, place, closed, hidden)
            folders = sorted(found, key=lambda one: (one.name.casefold(), one.name))
            return FolderView(str(place), _has_project_file(descriptor, "."), folders, found.complete)
        finally:
            os.close(descriptor)


class _Found:
    """The folders in an open folder."""

    def __init__(self, descriptor: int, place: Path, closed: Sequence[Path], hidden: bool) -> None:
        self._descriptor = descriptor
        self._place = place
        self._closed = closed
        self._hidden = hidden
        self.complete = True

    def __iter__(self) -> Iterator[MachineFolder]:
        with os.scandir(self._descriptor) as entries:
            for number, entry in enumerate(entries):
                if number == MOST_ENTRIES:
                    self.complete = False
                    return
                if self._shows(entry):
                    yield MachineFolder(
                        entry.name,
                        str(self._place / entry.name),
                        _has_project_file(self._descriptor, entry.name),
                    )

    def _shows(self, entry: os.DirEntry[str]) -> bool:
        """Tell whether an entry is a folder, or a link to one, whose path a request can name."""
        if not self._hidden and entry.name.startswith("."):
            return False
        if not entry.name.isprintable() or self._place / entry.name in self._closed:
            return False
        try:
            return entry.is_dir()
        except OSError:
            return False


def _opened(path: str | None) -> int:
    """Return a descriptor of a folder."""
    if path is not None and not path.startswith("/"):
        raise ValidationFailed("The path is not absolute.", fields={"path": "must begin with /"})
    named = Path(path) if path is not None else _home()
    try:
        return os.open(named, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC)
    except NotADirectoryError:
        raise Conflict(f"{named} is no folder.", reason="not_a_folder") from None
    except PermissionError:
        raise Forbidden(
            f"The daemon's user may not read {named}. Choose another folder.", reason="folder_unreadable"
        ) from None
    except (OSError, ValueError):
        raise NotFound(f"There is no folder {str(named)!r}.", reason="path_not_found") from None


def _home() -> Path:
    """Return the home of the daemon's user, `/` when there is none."""
    try:
        found = Path.home()
    except RuntimeError:
        return Path("/")
    return found if found.is_dir() else Path("/")


def _has_project_file(folder: int, name: str) -> bool:
    try:
        os.stat(f"{name}/{PROJECT_FOLDER}/{PROJECT_FILE}", dir_fd=folder)
    except (OSError, ValueError):
        return False
    return True
