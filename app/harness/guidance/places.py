"""Where files for agents are looked for: the project's tree up to its repository, and the user's home.

Owns: these folders, and reading one file in them within bounds. Never: what a file says. Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.errors import ToolError
from app.harness.guidance.guidance import Scope
from app.workspace import RootFolder, Workspace
from app.workspace.own_places import workspace_folder

MAX_LEVELS = 64
MAX_FILE_BYTES = 256 * 1024


class Unusable(Exception):
    """A file that is there and cannot be read; the reason is for people."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was read: its text with plain line ends, and its real path. `cut`: the file goes on."""

    text: str
    real: Path
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`root` is the project's real folder, `top` the real folder of its repository, or `root` again. `home`
    is the user's, None when it is left out. `closed` are the daemon's own places."""

    root: Path
    top: Path
    home: Path | None
    closed: tuple[Path, ...] = ()

    @classmethod
    def of(cls, root: Path, home: Path | None, closed: tuple[Path, ...] = ()) -> Surroundings:
        real = Path(os.path.realpath(root))
        return cls(real, repository_of(real), home, tuple(Path(os.path.realpath(one)) for one in closed))

    def upward(self) -> tuple[Path, ...]:
        """Return the folders from the project's root up to that of its repository."""
        return tuple(one for one in (self.root, *self.root.parents) if one.is_relative_to(self.top))

    def tree(self) -> Workspace:
        """Return what opens files of the repository; links lead nowhere else."""
        return Workspace(RootFolder(self.top, is_real=True), closed=self.closed)

    def has_files_of_daemon(self, real: Path) -> bool:
        """Tell whether a folder lies in one of the daemon's own, or has one in it. The workspace that the
        root is in counts as the project's."""
        workspace = workspace_folder(self.root, self.closed)
        if workspace is not None and real.is_relative_to(workspace):
            return False
        return any(real.is_relative_to(one) or one.is_relative_to(real) for one in self.closed)

    def scope_of(self, real: Path) -> Scope:
        return "project" if real.is_relative_to(self.root) else "repository"

    def parts_of(self, real: Path) -> tuple[str, ...] | None:
        """Return a real path below the project's root, None when it lies elsewhere."""
        return real.relative_to(self.root).parts if real.is_relative_to(self.root) else None

    def shown(self, path: Path) -> str:
        """Return a path as people read it: relative to the project's root, or to the user's home."""
        if path.is_relative_to(self.top):
            return Path(os.path.relpath(path, self.root)).as_posix()
        if self.home is not None and path.is_relative_to(self.home):
            return f"~/{path.relative_to(self.home).as_posix()}"
        return path.as_posix()

    def read(self, path: Path) -> Found | None:
        """Read a file of the repository; None when there is none. Raises `Unusable`."""
        if not path.is_relative_to(self.top):
            raise Unusable("it lies outside the repository")
        return read_in(self.tree(), path.relative_to(self.top))

    def read_own(self, path: Path) -> Found | None:
        """Read a file of the user's own; links lead where the user wants. Raises `Unusable`."""
        if not os.path.lexists(path):
            return None
        real = Path(os.path.realpath(path))
        if any(real.is_relative_to(one) for one in self.closed):
            raise Unusable("it belongs to the daemon")
        found = read_in(Workspace(RootFolder(real.parent, is_real=True), closed=self.closed), Path(real.name))
        if found is None:
            raise Unusable("it is a link that leads nowhere")
        return found


def repository_of(root: Path) -> Path:
    """Return the nearest folder at or above `root` with a `.git`, else `root`. A folder above that belongs to
    another user is not read: its owner could instruct the agents."""
    owners = {os.geteuid(), _owner(root)}
    for _, folder in zip(range(MAX_LEVELS), (root, *root.parents), strict=False):
        if folder != root and (_owner(folder) not in owners or folder == folder.parent):
            return root
        if os.path.lexists(folder / ".git"):
            return folder
    return root


def _owner(folder: Path) -> int:
    try:
        return folder.stat().st_uid
    except OSError:
        return -1


def read_in(workspace: Workspace, path: Path) -> Found | None:
    """Read a regular file by its path below a workspace; None when there is none. Raises `Unusable`."""
    try:
        with workspace.open(f"./{path.as_posix()}") as opened:
            if opened.is_directory:
                raise Unusable("it is a directory")
            with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                return _found(file.read(MAX_FILE_BYTES + 1), Path(opened.key))
    except ToolError as problem:
        if problem.code == "file_not_found" and not _is_link(workspace, path):
            return None
        raise Unusable(_reason(problem)) from None
    except OSError as problem:
        raise Unusable(problem.strerror or "it cannot be read") from None


def _is_link(workspace: Workspace, path: Path) -> bool:
    return os.path.islink(workspace.root / path)


def _reason(problem: ToolError) -> str:
    """Return the problem without the path, which is shown beside it."""
    if problem.code == "file_not_found":
        return "it is a link that leads nowhere"
    text = problem.message
    return text.rpartition(": '")[0] or text.rpartition(": ")[2]


def _found(data: bytes, real: Path) -> Found:
    cut = len(data) > MAX_FILE_BYTES
    if b"\0" in data:
        raise Unusable("it is not a text file")
    try:
        text = data[:MAX_FILE_BYTES].decode("utf-8-sig", "ignore" if cut else "strict")
    except UnicodeDecodeError as problem:
        raise Unusable(f"byte {problem.start} is not UTF-8") from None
    return Found(text.replace("\r\n", "\n").replace("\r", "\n"), real, cut)


def entries_of(workspace: Workspace, path: Path, most: int) -> Iterator[str]:
    """Yield the names in a folder below a workspace, in order, at most so many; nothing when there is none.
    Raises `Unusable`."""
    try:
        with workspace.open(f"./{path.as_posix()}") as opened:
            if not opened.is_directory:
                raise Unusable("it is not a folder")
            with os.scandir(opened.descriptor) as found:
                names = [entry.name for _, entry in zip(range(most), found, strict=False)]
    except ToolError as problem:
        if problem.code == "file_not_found":
            return
        raise Unusable(_reason(problem)) from None
    except OSError as problem:
        raise Unusable(problem.strerror or "it cannot be read") from None
    yield from sorted(names)
