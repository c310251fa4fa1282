"""A change of a repository's index: on a copy, under git's own lock, all of it or nothing.

Owns: the lock, the copy, the note by which a change that was cut off is ended later, and leaving nothing of
it behind. Never: what is changed. Everything here blocks.

git works on the copy (`GIT_INDEX_FILE`). The lock is a link to a file with a name of ours, the mark, so that
it is known for ours beside a lock of somebody else, also after the daemon was killed. The mark says what the
note says: a daemon that takes the project over has other notes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.harness.git.ref_change import is_plain, remove_objects_left
from app.harness.git.refusals import locked
from app.process_stat import STARTED, STATE, process_stat
from app.tools.processes.git_commands import GitProblem
from app.workspace.repository import RepositoryFolders, first_line, repository_folders

INDEX = "index"
LOCK = "index.lock"
OWN_NAME = "kaged-"
"""How the names of files begin that a change has in the repository's folder while it goes on."""
_MOST_OF_A_MARK = 64 * 1024
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class IndexChange:
    """One change. Use as a context manager; without `install` the index stays as it was."""

    def __init__(
        self,
        folders: RepositoryFolders,
        root: Path,
        notes: Path,
        *,
        moves_head: bool = False,
        ref: str | None = None,
    ) -> None:
        """`root` is the project's folder, `notes` the daemon's folder for changes under way. With
        `moves_head` the index belongs to the new HEAD: once that has moved, the change is completed whatever
        happens. `ref` is one that is made."""
        self.folders = folders
        self._root = root
        self._name = f"{OWN_NAME}{secrets.token_hex(8)}"
        self._notes = notes
        self._moves_head = moves_head
        self._ref = ref

    @property
    def copy(self) -> Path:
        """The index that git works on."""
        return self.folders.own / f"{self._name}.index"

    def beside(self, what: str) -> Path:
        """Return the path of another file that goes when the change ends."""
        return self.folders.own / f"{self._name}.{what}"

    def copy_to(self, other: Path) -> None:
        """Make a second copy."""
        copy_index(self.copy, other)

    @property
    def _note(self) -> Path:
        return self._notes / f"{self._name}.json"

    def __enter__(self) -> IndexChange:
        own = self.folders.own
        note = {
            "own": os.fsdecode(own),
            "common": os.fsdecode(self.folders.common),
            "top": os.fsdecode(self.folders.top),
            "root": os.path.realpath(self._root),
            "process": _this_process(),
            "head": _head_state(self.folders),
            "moves_head": self._moves_head,
            "refs": [ref for ref in (_head_ref(own), self._ref) if ref is not None],
        }
        try:
            self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(self._note, note)
            _take_lock(own, self.beside("lock"), note)
            copy_index(own / INDEX, self.copy)
        except BaseException as problem:
            end_change(self._note)
            if isinstance(problem, OSError):
                raise GitProblem(f"the index cannot be changed: {problem.strerror}") from None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_change(self._note)

    def install(self) -> None:
        """Put the copy in the place of the index. Raises `GitProblem`."""
        try:
            with suppress(FileNotFoundError):
                _install(self.folders.own, self.copy)
        except OSError as problem:
            raise GitProblem(f"the index cannot be written: {problem.strerror}") from None


def copy_index(index: Path, copy: Path) -> None:
    """Copy an index with its time: by that git knows which files may have changed without their times saying
    so. A repository without commits may have none, and what is no file, or a link to one, is no index."""
    try:
        descriptor = os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return
        raise
    with open(descriptor, "rb") as source:
        status = os.fstat(source.fileno())
        if not stat.S_ISREG(status.st_mode):
            return
        with open(copy, "wb") as made:
            shutil.copyfileobj(source, made, 1024 * 1024)
            os.fchmod(made.fileno(), stat.S_IMODE(status.st_mode))
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def end_changes(notes: Path) -> None:
    """End all changes that were cut off when an earlier daemon was killed."""
    for note in sorted(notes.glob(f"{OWN_NAME}*.json")):
        end_change(note, killed=True)


def end_changes_at(root: Path) -> None:
    """End the changes in the project at `root` that its owner has left: a daemon that was killed, and whose
    notes are elsewhere. What their marks say of places is not believed."""
    folders = repository_folders(root)
    if folders is None:
        return
    for mark in sorted(folders.own.glob(f"{OWN_NAME}*.lock")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = _read_mark(mark)
            if found["root"] == os.path.realpath(root) and not _is_alive(found["process"]):
                _end(folders, mark.stem, found, mark.lstat().st_mtime, killed=True)


def end_change(note: Path, *, killed: bool = False) -> None:
    """End one change: complete it when HEAD has moved with it, else undo it; leave no lock of it. `killed`:
    git did not end by itself."""
    # The repository may be gone, or the note was cut off before anything was done.
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(note.read_text(encoding="utf-8"))
        folders = RepositoryFolders(*(Path(found[name]) for name in ("top", "own", "common")))
        _end(folders, note.stem, found, note.stat().st_mtime, killed=killed)
    with suppress(OSError):
        note.unlink(missing_ok=True)


def _end(
    folders: RepositoryFolders, name: str, found: Mapping[str, Any], began: float, *, killed: bool
) -> None:
    """End the change `name`, which began at this time."""
    lock, copy = folders.own / LOCK, folders.own / f"{name}.index"
    if _is_ours(lock, folders.own / f"{name}.lock"):
        if found["moves_head"] and found["head"] != _head_state(folders):
            with suppress(OSError):
                _install(folders.own, copy)
        lock.unlink(missing_ok=True)
        _unlock_refs(folders, began, found["refs"])
    if killed:
        remove_objects_left(folders.common, began)
    for leftover in folders.own.glob(f"{name}.*"):
        leftover.unlink(missing_ok=True)


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as opened:
        opened.write(json.dumps(content).encode())
        opened.flush()
        os.fsync(opened.fileno())


def _read_mark(mark: Path) -> dict[str, Any]:
    """Return what a mark says. Raises as `open` and `json.loads`; `ValueError` for what is no mark."""
    with open(os.open(mark, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError
        found = json.loads(file.read(_MOST_OF_A_MARK))
    if not isinstance(found, dict):
        raise ValueError
    return found


def _this_process() -> list[str]:
    """Return what tells this process from every other one, also of an earlier start of the machine."""
    return [_boot(), str(os.getpid()), _began(os.getpid())]


def _is_alive(process: list[str]) -> bool:
    """Tell whether a process of this machine is there yet; of another machine's, its lease has told."""
    boot, pid, began = process
    return boot == _boot() and bool(began) and _began(int(pid)) == began


def _boot() -> str:
    return first_line(Path("/proc/sys/kernel/random/boot_id")) or ""


def _began(pid: int) -> str:
    fields = process_stat(pid)
    return "" if fields is None or fields[STATE] == b"Z" else fields[STARTED].decode()


def _take_lock(own: Path, mark: Path, note: Mapping[str, Any]) -> None:
    """Hold git's lock of the index by a link to the file `mark`. Raises `Conflict` (`index_locked`)."""
    _write(mark, note)
    try:
        os.link(mark, own / LOCK)
    except FileExistsError:
        raise locked() from None
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        _take_without_links(own, mark)


def _take_without_links(own: Path, mark: Path) -> None:
    """As above, on a file system without hard links: the lock holds our name."""
    try:
        with (own / LOCK).open("x", encoding="utf-8") as file:
            file.write(mark.name)
    except FileExistsError:
        raise locked() from None


def _is_ours(lock: Path, mark: Path) -> bool:
    """Tell whether the lock of an index was taken with this mark."""
    try:
        if os.path.samestat(os.lstat(lock), os.lstat(mark)):
            return True
        return first_line(lock) == mark.name
    except FileNotFoundError:
        return False


def _install(own: Path, copy: Path) -> None:
    descriptor = os.open(copy, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(copy, own / INDEX)


def _unlock_refs(folders: RepositoryFolders, began: float, refs: list[str]) -> None:
    """Remove the locks of HEAD and its branch that a killed git has left since the change began. Their own
    programs hold such locks for moments only."""
    for lock in _ref_locks(folders, refs):
        with suppress(OSError):
            if lock.lstat().st_mtime >= began - 0.01:
                lock.unlink()


def _ref_locks(folders: RepositoryFolders, refs: list[str]) -> Iterator[Path]:
    yield folders.own / "HEAD.lock"
    yield folders.own / "ORIG_HEAD.lock"
    yield from (folders.common / f"{ref}.lock" for ref in refs if is_plain(ref))


def _head_ref(own: Path) -> str | None:
    """Return the branch that HEAD names, None when it is detached."""
    ref = first_line(own / "HEAD", "ref: ")
    return ref if ref is not None and is_plain(ref) else None


def _head_state(folders: RepositoryFolders) -> str:
    """Return what changes whenever HEAD moves: to another branch, or its branch to another commit."""
    ref = _head_ref(folders.own)
    parts = [first_line(folders.own / "HEAD") or ""]
    if ref is not None:
        parts.append(first_line(folders.common / ref) or "")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
