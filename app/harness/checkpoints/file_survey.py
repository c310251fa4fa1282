"""What lies in a project's folder: which files, and which content each of them has.

Owns: looking at the files that git would track, without following links, and remembering contents by the
state of the file. Never: git itself, or writing into the project. Blocking: used in a thread.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import ToolError
from app.harness.checkpoints.staged_files import StagedFile
from app.harness.checkpoints.stored_objects import LINK, TreeEntry
from app.workspace import RootFolder, Workspace
from app.workspace.new_file import is_ours

MAX_FILE_BYTES = 10 * 1024 * 1024
"""A larger file is left out, and is not touched by a rollback."""
MAX_FILES = 100_000
TOO_LARGE = f"larger than {MAX_FILE_BYTES // (1024 * 1024)} MB"
RACY_SECONDS = 2.0
"""A file that was changed so shortly before it was read may be changed again without its times saying so."""

_OURS = b".kaged-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Signature = tuple[int, ...]


@dataclass(slots=True)
class Surveyed:
    """The files by path, relative to the root; `left_out` says why others are not among them."""

    entries: dict[bytes, TreeEntry] = field(default_factory=dict)
    left_out: dict[bytes, str] = field(default_factory=dict)


class FileSurvey:
    """Remembers what it has seen, so that a file that stays as it is is read once."""

    def __init__(self, root: Path, name_of: Callable[[bytes], str], closed: Iterable[Path] = ()) -> None:
        """`name_of` names a content; what lies in `closed` is not looked at."""
        self._root = RootFolder(root)
        self._closed = Workspace(self._root, closed=tuple(closed))
        self._name_of = name_of
        self._seen: dict[bytes, tuple[Signature, TreeEntry]] = {}

    @property
    def has_looked(self) -> bool:
        return bool(self._seen)

    def look(
        self,
        names: Iterable[bytes],
        take: Callable[[str, bytes], None] = lambda _, content: None,
        *,
        only: bool = False,
        taken_in: Mapping[bytes, StagedFile] | None = None,
    ) -> Surveyed:
        """Return what there is now. `take` is given the name and bytes of each content that was read. With
        `only` what was seen of other files stays known. A file that is as git has `taken_in` is not read."""
        found = Surveyed()
        seen: dict[bytes, tuple[Signature, TreeEntry]] = dict(self._seen) if only else {}
        closed = self._closed.closed_below()
        with self._opened() as root, _Folders(root) as folders:
            for name in names:
                if only:
                    seen.pop(name, None)
                if _OURS in name and is_ours(os.fsdecode(name.rpartition(b"/")[2])):
                    continue  # it lies there while files are being written
                if closed and _is_in(name, closed):
                    found.left_out[name] = "it belongs to the daemon"
                    continue
                if len(found.entries) >= MAX_FILES:
                    found.left_out[name] = f"more than {MAX_FILES} files"
                    continue
                self._one(folders, name, found, seen, take, (taken_in or {}).get(name))
        self._seen = seen
        return found

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            with self._root.opened("the project's root") as root:
                yield root
        except ToolError as problem:
            raise OSError(problem.message) from None

    def _one(
        self,
        folders: _Folders,
        name: bytes,
        found: Surveyed,
        seen: dict[bytes, tuple[Signature, TreeEntry]],
        take: Callable[[str, bytes], None],
        staged: StagedFile | None,
    ) -> None:
        try:
            folder, last = folders.of(name)
            status = os.stat(last, dir_fd=folder, follow_symlinks=False)
            signature = _signature(status)
            known = self._seen.get(name)
            if known is not None and known[0] == signature:
                found.entries[name], seen[name] = known[1], known
                return
            started = time.time()
            if staged is not None and _is_taken_in(staged, status):
                found.entries[name] = staged.entry
                seen[name] = (signature, staged.entry)
                return
            if stat.S_ISLNK(status.st_mode):
                mode, content = LINK, os.fsencode(os.readlink(last, dir_fd=folder))
            elif not stat.S_ISREG(status.st_mode):
                if not stat.S_ISDIR(status.st_mode):  # a folder here is another repository
                    found.left_out[name] = "neither a file nor a link"
                return
            elif status.st_size > MAX_FILE_BYTES:
                found.left_out[name] = TOO_LARGE
                return
            else:
                mode = _mode(status)
                content = _read(folder, last)
        except (FileNotFoundError, NotADirectoryError):
            return  # tracked, and not there now
        except OSError as problem:
            found.left_out[name] = problem.strerror or "cannot be read"
            return
        entry = TreeEntry(mode, self._name_of(content))
        take(entry.oid, content)
        found.entries[name] = entry
        if max(status.st_mtime, status.st_ctime) < started - RACY_SECONDS:
            seen[name] = (signature, entry)


class _Folders:
    """Folders of paths, opened step by step without following links. Those on the way to the last path stay
    open for the next one: paths come sorted."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._held: list[tuple[bytes, int]] = []
        self._above = b""
        """The path of the folder that is open last."""

    def __enter__(self) -> _Folders:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep(0)

    def of(self, name: bytes) -> tuple[int, bytes]:
        """Return the open folder of a path, and its last component."""
        whole, _, last = name.rpartition(b"/")
        if whole == self._above:
            return self._last, last
        above, self._above = whole.split(b"/") if whole else [], b"/"
        depth = 0
        for (known, _), part in zip(self._held, above, strict=False):
            if known != part:
                break
            depth += 1
        self._keep(depth)
        for part in above[depth:]:
            self._held.append((part, os.open(part, _FOLDER, dir_fd=self._last)))
        self._above = whole
        return self._last, last

    @property
    def _last(self) -> int:
        return self._held[-1][1] if self._held else self._root

    def _keep(self, depth: int) -> None:
        while len(self._held) > depth:
            os.close(self._held.pop()[1])


def _is_in(name: bytes, closed: Iterable[tuple[str, ...]]) -> bool:
    parts = tuple(os.fsdecode(name).split("/"))
    return any(parts[: len(one)] == one for one in closed)


def _read(folder: int, name: bytes) -> bytes:
    with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it was replaced meanwhile by something that is no file")
        return file.read(MAX_FILE_BYTES + 1)


def _is_taken_in(staged: StagedFile, status: os.stat_result) -> bool:
    return staged.is_as(status) and staged.entry.mode == _mode(status) and status.st_size <= MAX_FILE_BYTES


def _mode(status: os.stat_result) -> str:
    """Return git's mode of a file or a link."""
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return "100755" if status.st_mode & 0o100 else "100644"


def _signature(status: os.stat_result) -> Signature:
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
