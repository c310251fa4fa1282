"""An ordered list of changes to files, checked before anything is touched.

Owns: the operations, and what each path means after those before it. Never: permissions; applying them.
Blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from app.errors import ToolError
from app.tools.project_files.read_tracker import Digest, digest_of
from app.workspace import Workspace, changed_since_read


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Give an existing file new `content`, computed from the bytes with the digest `expected`."""

    path: str
    expected: Digest
    content: bytes


@dataclass(frozen=True, slots=True)
class Create:
    """Make a file, with its folders. `overwrite` wins over `ignore_if_exists`."""

    path: str
    content: bytes = b""
    overwrite: bool = False
    ignore_if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Rename a file or folder. `overwrite` replaces a file, never a folder, and wins over
    `ignore_if_exists`. Folders on the way to `new` are made."""

    old: str
    new: str
    overwrite: bool = False
    ignore_if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a file, an empty folder, or with `recursive` any folder. `expected` is the digest that the file
    has to have."""

    path: str
    recursive: bool = False
    ignore_if_missing: bool = False
    expected: Digest | None = None


NameChange = Create | Move | Delete
FileOperation = Rewrite | Create | Move | Delete


@dataclass(frozen=True, slots=True)
class Arranged:
    """The same changes in another order: `rewrites` by the names that the files have now, then
    `names`, without those that have nothing to do."""

    rewrites: tuple[Rewrite, ...]
    names: tuple[NameChange, ...]


class Made(Enum):
    """A path without a counterpart on the disk."""

    FOLDER = "a folder on the way to another path"


class Names:
    """What paths mean after some creations, moves and removals."""

    def __init__(self) -> None:
        self._done: list[NameChange] = []

    def add(self, change: NameChange) -> None:
        self._done.append(change)

    def origin(self, path: str) -> str | Create | Made | None:
        """Return the present path of what will be at `path`; the Create that makes it; FOLDER for one made on
        the way to another path; None when it will be gone."""
        for change in reversed(self._done):
            if isinstance(change, Create):
                if path == change.path:
                    return change
                if within(change.path, path):
                    return Made.FOLDER
            elif isinstance(change, Move):
                if within(path, change.new):
                    path = change.old + path[len(change.new) :]
                elif within(path, change.old):
                    return None
                elif within(change.new, path):
                    return Made.FOLDER
            elif within(path, change.path):
                return None
        return path


def within(path: str, folder: str) -> bool:
    """Tell whether a path is `folder` or below it, by the texts."""
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in {"", "/"}


def paths_of(operations: Iterable[FileOperation]) -> list[str]:
    """Return every path that the operations name, once, in order."""
    found: dict[str, None] = {}
    for one in operations:
        for path in (one.old, one.new) if isinstance(one, Move) else (one.path,):
            found[path] = None
    return list(found)


def arrange(workspace: Workspace, operations: Sequence[FileOperation]) -> Arranged:
    """Check the operations in order against the disk and those before, and put the rewrites first. Raises
    ToolError `file_not_found`, `file_exists`, `is_directory`, `invalid_path` and `file_changed_since_read`.
    """
    return _Arrangement(workspace).run(operations)


class _Arrangement:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._names = Names()
        self._rewrites: dict[str, Rewrite] = {}
        self._changes: list[NameChange] = []
        self._contents: dict[int, bytes] = {}

    def run(self, operations: Sequence[FileOperation]) -> Arranged:
        for one in operations:
            if isinstance(one, Rewrite):
                self._rewrite(one)
            elif isinstance(one, Create):
                self._create(one)
            elif isinstance(one, Move):
                self._move(one)
            else:
                self._delete(one)
        names = tuple(
            replace(one, content=self._contents.get(id(one), one.content)) if isinstance(one, Create) else one
            for one in self._changes
        )
        return Arranged(tuple(self._rewrites.values()), names)

    def _add(self, change: NameChange) -> None:
        self._changes.append(change)
        self._names.add(change)

    def _rewrite(self, one: Rewrite) -> None:
        origin = self._names.origin(one.path)
        if isinstance(origin, Create):
            made = self._contents.get(id(origin), origin.content)
            if digest_of(made) != one.expected:
                raise changed_since_read(one.path)
            self._contents[id(origin)] = one.content
            return
        if origin is None:
            raise missing(one.path)
        if isinstance(origin, Made):
            raise _folder(one.path)
        earlier = self._rewrites.get(origin)
        if earlier is not None and digest_of(earlier.content) != one.expected:
            raise changed_since_read(one.path)
        expected = one.expected if earlier is None else earlier.expected
        self._rewrites[origin] = Rewrite(origin, expected, one.content)

    def _create(self, one: Create) -> None:
        kind = self._kind(one.path)
        if kind is not None and not one.overwrite:
            if one.ignore_if_exists:
                return
            raise exists_already(one.path)
        if kind == "folder":
            raise _folder(one.path)
        self._add(replace(one))  # an object of its own, by which its content is known

    def _move(self, one: Move) -> None:
        if self._kind(one.old) is None:
            raise missing(one.old)
        if one.old == one.new:
            return
        if within(one.new, one.old) or within(one.old, one.new):
            raise ToolError("invalid_path", f"{one.old} cannot become {one.new}: one is within the other")
        kind = self._kind(one.new)
        if kind is not None and not one.overwrite:
            if one.ignore_if_exists:
                return
            raise exists_already(one.new)
        if kind is not None and "folder" in {kind, self._kind(one.old)}:
            raise _folder(one.new)
        self._add(one)

    def _delete(self, one: Delete) -> None:
        if self._kind(one.path) is None:
            if one.ignore_if_missing:
                return
            raise missing(one.path)
        self._add(one)

    def _kind(self, path: str) -> Literal["file", "folder"] | None:
        origin = self._names.origin(path)
        if origin is None:
            return None
        if isinstance(origin, Create):
            return "file"
        if isinstance(origin, Made):
            return "folder"
        with self._workspace.entry(origin) as entry:
            if entry.status is None:
                return None
            return "folder" if entry.is_folder else "file"


def missing(path: str) -> ToolError:
    return ToolError("file_not_found", f"{path}: there is no such file or directory", detail={"path": path})


def exists_already(path: str) -> ToolError:
    return ToolError("file_exists", f"{path} exists already", detail={"path": path})


def _folder(path: str) -> ToolError:
    return ToolError("is_directory", f"{path} is a directory, and cannot be replaced", detail={"path": path})
