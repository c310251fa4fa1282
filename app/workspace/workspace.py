"""The one way from a caller's path to an open file: text rules, then descriptors, then policy.

Owns: `Workspace`, used by every source of paths (tools, patches, archives, language servers).
Never: knowing what a cage is; the policy it is given says yes or no.
"""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Protocol

from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.workspace.descriptors import (
    READ,
    OutsideRoot,
    Place,
    open_beneath,
    real_path,
    reopen,
    walk,
)
from app.workspace.entry import Entry
from app.workspace.paths import Access, Location, below, invalid_path, locate, os_problem
from app.workspace.target import Target


class Policy(Protocol):
    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError unless the real path `parts`, below the root, may be used so."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A regular file or a directory that is open for reading while the `with` lasts.

    `key` is its real absolute path, `parts` the same below the root.
    """

    descriptor: int
    status: os.stat_result
    location: Location
    parts: tuple[str, ...]
    key: str

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


class Workspace:
    """A project's folder as one caller may use it. Blocking: call it from a thread.

    `scratch` is a second folder that absolute paths may name, for reading only. `closed` are
    real files and folders that nobody may touch through this workspace, as the daemon's own data.
    """

    def __init__(
        self,
        root: Path,
        *,
        policy: Policy | None = None,
        scratch: Path | None = None,
        closed: tuple[Path, ...] = (),
    ) -> None:
        self.root = root
        self._policy = policy
        self._scratch = scratch
        self._closed = tuple(PurePosixPath(folder).parts[1:] for folder in closed)
        self._held: int | None = None
        self._held_names: tuple[str, ...] = ()

    def locate(self, path: str) -> Location:
        """Apply the text rules only. Raises ToolError `invalid_path`."""
        return locate(self.root, path, scratch=self._scratch)

    def may_read(self, parts: tuple[str, ...]) -> bool:
        """Tell whether a path below the root may be read, by its text."""
        try:
            self._judge(parts, self._root_names(None), "ro")
        except ToolError:
            return False
        return True

    @property
    def is_bounded(self) -> bool:
        """Whether a policy applies."""
        return self._policy is not None

    def closed_below(self) -> tuple[tuple[str, ...], ...]:
        """Return the closed places that lie below the root, as components below it."""
        root = self._root_names(None)
        return tuple(whole[len(root) :] for whole in self._closed if whole[: len(root)] == root)

    @contextmanager
    def open(self, path: str) -> Iterator[Opened]:
        """Open a file or directory for reading.

        Raises ToolError `invalid_path`, `capability_denied`, `file_not_found`,
        `permission_denied` or `io_error`.
        """
        location = self.locate(path)
        with self._base(location) as root:
            opened = self._open_fast(root, location) or self._open_by_walk(root, location)
            try:
                yield opened
            finally:
                os.close(opened.descriptor)

    def status(self, path: str) -> os.stat_result:
        """Return the state of a file or directory that may be read. Raises ToolError as `open` does."""
        location = self.locate(path)
        with self._base(location) as root:
            found = self._find(root, location)
            if found is not None:
                os.close(found.descriptor)
                return found.status
            opened = self._open_by_walk(root, location)
            os.close(opened.descriptor)
            return opened.status

    @contextmanager
    def held(self) -> Iterator[Workspace]:
        """The same workspace with the root kept open, for many paths one after the other."""
        held = copy.copy(self)
        with self._base(self.locate(".")) as root:
            held._held_names, held._held = self._root_names(root), root
            yield held

    @contextmanager
    def target(self, path: str) -> Iterator[Target]:
        """Resolve a path for writing; the file need not exist. Links within the root are
        followed, so that the file they name is written and the link stays.

        Raises ToolError as `open` does, and `is_directory`.
        """
        location = self.locate(path)
        if location.in_scratch:
            raise _closed_to_writes(location.shown)
        with self._base(location) as root, self._walk(root, location) as place:
            names = self._root_names(root)
            self._judge(place.parts, names, "rw")
            if place.problem is not None and not isinstance(place.problem, FileNotFoundError):
                raise os_problem(location.shown, place.problem)
            if ".." in place.missing:
                raise invalid_path(path, "a symbolic link in the path leads nowhere")
            if location.names_directory or (place.status is not None and not place.name):
                raise ToolError("is_directory", f"{location.shown} is a directory; name a file in it")
            if place.status is not None:
                _check_kind(place.status, location.shown)
                self._check_identity(place.status, location.shown)
            yield Target(place, location, "/" + "/".join((*names, *place.parts)))

    @contextmanager
    def entry(self, path: str, *, links: bool = False) -> Iterator[Entry]:
        """Resolve the entry of a file or folder in its directory, to make, move or remove it. Links
        on the way are followed within the root; a link at the end is refused, unless `links`: then it
        is the link itself.

        Raises ToolError as `open` does, and `symbolic_link`.
        """
        location = self.locate(path)
        if location.in_scratch:
            raise _closed_to_writes(location.shown)
        if not location.parts:
            raise invalid_path(path, "the project's root itself is neither moved nor removed")
        with self._base(location) as root, self._walk(root, location, entry=True) as place:
            names = self._root_names(root)
            self._judge(place.parts, names, "rw")
            if place.problem is not None and not isinstance(place.problem, FileNotFoundError):
                raise os_problem(location.shown, place.problem)
            if ".." in place.missing:
                raise invalid_path(path, "a symbolic link in the path leads nowhere")
            if place.status is not None:
                if not stat.S_ISLNK(place.status.st_mode):
                    _check_kind(place.status, location.shown)
                elif not links:
                    raise _link(location.shown)
                self._check_identity(place.status, location.shown)
            yield Entry(place, location, "/" + "/".join((*names, *place.parts)))

    def closed_within(self, entry: Entry, elsewhere: tuple[str, ...] | None = None) -> list[str]:
        """Return the paths in a folder that may not be written, there or, when the folder goes to
        `elsewhere`, below that. Raises ToolError `too_many_files` or an operating system's problem.
        """
        found = {"/".join(one) for one in self.closed_below() if one[: len(entry.parts)] == entry.parts}
        if self._policy is None:
            return sorted(found)
        root_names = self._root_names(None)
        for below_it in entry.tree():
            for base in (entry.parts, elsewhere):
                if base is not None:
                    try:
                        self._judge((*base, *below_it), root_names, "rw")
                    except ToolError:
                        found.add("/".join((*base, *below_it)))
        return sorted(found)

    def without_policy(self) -> Workspace:
        """Return the same folder without the caller's bounds, to take back what was allowed; the
        root and what is closed to everybody remain."""
        other = Workspace(self.root, scratch=self._scratch)
        other._closed = self._closed
        return other

    @contextmanager
    def _base(self, location: Location) -> Iterator[int]:
        if self._held is not None and not location.in_scratch:
            yield self._held
            return
        folder = self._scratch if location.in_scratch else self.root
        assert folder is not None
        if PurePosixPath(folder) == PurePosixPath("/"):
            raise invalid_path(location.shown, "the whole file system cannot be a project")
        try:
            root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise os_problem(
                location.shown if location.in_scratch else "the project's root", problem
            ) from None
        try:
            yield root
        finally:
            os.close(root)

    def _root_names(self, root: int | None) -> tuple[str, ...]:
        if self._held is not None and root in {None, self._held}:
            return self._held_names
        known = None if root is None else real_path(root)
        return PurePosixPath(known or os.path.realpath(self.root)).parts[1:]

    def _judge(self, parts: tuple[str, ...], root_names: tuple[str, ...], access: Access) -> None:
        whole = (*root_names, *parts)
        for closed in self._closed:
            if whole[: len(closed)] == closed:
                raise _daemons_own("/".join(parts) or ".")
        if self._policy is not None:
            self._policy.check(parts, access)

    def _check_identity(self, status: os.stat_result, shown: str) -> None:
        """Refuse a further name (a hard link) of a closed file, or of one directly in a closed folder,
        which is where the daemon keeps its database and its tokens."""
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return
        for names in self._closed:
            path = "/" + "/".join(names)
            if any(os.path.samestat(status, own) for own in _statuses(path)):
                raise _daemons_own(shown)

    def _find(self, root: int, location: Location) -> Opened | None:
        """Return what may be read, with a descriptor that names it only. None where the kernel does not
        find it, or where it is called otherwise by now: the walk finds out."""
        found = open_beneath(root, location.parts)
        if found is None:
            return None
        try:
            root_names, path = self._root_names(root), real_path(found)
            status = os.fstat(found)
            # A link leads elsewhere, a file may have been renamed since; the walk goes by the text.
            if path is None or status.st_nlink == 0:
                return None
            if PurePosixPath(path).parts[1:] != (*root_names, *location.parts):
                return None
            if not location.in_scratch:
                self._judge(location.parts, root_names, "ro")
            _check_kind(status, location.shown)
            if not location.in_scratch:
                self._check_identity(status, location.shown)
            kept, found = found, None
            return Opened(kept, status, location, location.parts, path)
        finally:
            if found is not None:
                os.close(found)

    def _open_fast(self, root: int, location: Location) -> Opened | None:
        found = self._find(root, location)
        if found is None:
            return None
        try:
            return replace(found, descriptor=reopen(found.descriptor, READ))
        except OSError as problem:
            raise os_problem(location.shown, problem) from None
        finally:
            os.close(found.descriptor)

    def _open_by_walk(self, root: int, location: Location) -> Opened:
        with self._walk(root, location) as place:
            root_names = self._root_names(root)
            if not location.in_scratch:
                self._judge(place.parts, root_names, "ro")
            if place.problem is not None:
                raise os_problem(location.shown, place.problem)
            assert place.status is not None
            _check_kind(place.status, location.shown)
            try:
                descriptor = os.open(place.name or ".", READ | os.O_NOFOLLOW, dir_fd=place.directory)
            except OSError as problem:
                raise os_problem(location.shown, problem) from None
            try:
                status = os.fstat(descriptor)
                _check_kind(status, location.shown)
                if not location.in_scratch:
                    self._check_identity(status, location.shown)
            except BaseException:
                os.close(descriptor)
                raise
            key = "/" + "/".join((*root_names, *place.parts))
            return Opened(descriptor, status, location, place.parts, key)

    def _walk(self, root: int, location: Location, *, entry: bool = False) -> Place:
        folder = self._scratch if location.in_scratch and self._scratch is not None else self.root

        def absolute(target: str) -> tuple[str, ...] | None:
            return below(folder, tuple(name for name in target.split("/") if name not in {"", "."}))

        try:
            return walk(root, location.parts, absolute, entry=entry)
        except OutsideRoot:
            raise invalid_path(location.shown, "a symbolic link leads out of the project") from None
        except OSError as problem:
            raise os_problem(location.shown, problem) from None


def _statuses(path: str) -> Iterator[os.stat_result]:
    """The status of a file, or of all that lies directly in a folder."""
    try:
        own = os.stat(path, follow_symlinks=False)
        if not stat.S_ISDIR(own.st_mode):
            yield own
            return
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False)
    except OSError:
        return


def _check_kind(status: os.stat_result, shown: str) -> None:
    regular = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if not regular or status.st_dev in _process_devices():
        raise invalid_path(shown, "only regular files and directories can be used, not devices or pipes")


@lru_cache(maxsize=1)
def _process_devices() -> frozenset[int]:
    """Device numbers of the file systems that show processes instead of files."""
    try:
        return frozenset({os.stat("/proc/self").st_dev})
    except OSError:
        return frozenset()


def _daemons_own(shown: str) -> ToolError:
    return ToolError(
        "capability_denied",
        f"{shown} belongs to the daemon itself; no tool may touch it",
        detail={"path": shown},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def _link(shown: str) -> ToolError:
    return ToolError(
        "symbolic_link",
        f"{shown} is a symbolic link, which is neither moved nor removed; name the file that it points to",
        detail={"path": shown},
    )


def _closed_to_writes(shown: str) -> ToolError:
    return ToolError(
        "capability_denied",
        f"{shown} holds outputs of earlier calls and is read-only; write below the project's root",
        detail={"path": shown},
        rpc_code=RPC_CAPABILITY_DENIED,
    )
