"""The one way from a caller's path to an open file: text rules, descriptors, policy.

Owns: `Workspace`, used by every source of paths. Never: knowing what a cage is (the policy decides).
Keeps S1 of docs/security.md.
"""

from __future__ import annotations

import copy
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from app.errors import ToolError
from app.workspace.bounds import Bounds, Guard, Policy, check_kind, closed_to_writes
from app.workspace.descriptors import (
    READ,
    OutsideRoot,
    ResolvedPath,
    names_of,
    open_beneath,
    real_path,
    reopen,
    walk,
)
from app.workspace.entry import Entry
from app.workspace.paths import Access, Location, below, invalid_path, locate, may_read_scratch, os_problem
from app.workspace.root import RootFolder
from app.workspace.target import Target

LEADS_OUT = "leads_out"
"""The reason in the detail of an error about a link to elsewhere."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A regular file or directory, open for reading while the `with` lasts. `key` is its real absolute path,
    `parts` the same below the root."""

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

    `root` is its name, or the folder itself when shared. `scratch` is a second, read-only folder for absolute
    paths; `scratch_reader` limits it to files of that agent and of agents below it. `library` are further
    read-only folders for absolute paths. `closed` are real files and folders that nobody may use, such as the
    daemon's data. With `any_name` names need not be UTF-8 (`locate`).
    """

    def __init__(
        self,
        root: Path | RootFolder,
        *,
        policy: Policy | None = None,
        scratch: Path | None = None,
        scratch_reader: str | None = None,
        library: tuple[Path, ...] = (),
        closed: tuple[Path, ...] = (),
        any_name: bool = False,
    ) -> None:
        self._any_name = any_name
        self._folder = root if isinstance(root, RootFolder) else RootFolder(root)
        self.root = self._folder.path
        self._scratch = scratch
        self._scratch_reader = scratch_reader
        self._library = library
        self._bounds = Bounds(policy, tuple(PurePosixPath(folder).parts[1:] for folder in closed))
        self._held: int | None = None
        self._held_names: tuple[str, ...] = ()

    def locate(self, path: str) -> Location:
        """Apply the text rules only. Raises ToolError `invalid_path`."""
        scratch = () if self._scratch is None else (self._scratch,)
        return locate(self.root, path, aside=(*scratch, *self._library), any_name=self._any_name)

    def may_read(self, parts: tuple[str, ...]) -> bool:
        """Tell whether a path below the root may be read, by its text."""
        try:
            self._bounds.judge(parts, self._root_names(None), "ro")
        except ToolError:
            return False
        return True

    @property
    def is_bounded(self) -> bool:
        """Whether a policy applies."""
        return self._bounds.policy is not None

    def closed_below(self) -> tuple[tuple[str, ...], ...]:
        """Return the closed places that lie below the root, as components below it."""
        return self._bounds.closed_below(self._root_names(None))

    def closed_with_further_names(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of the closed files that may have a name below the root as well."""
        return self._bounds.with_further_names()

    @contextmanager
    def open(self, path: str) -> Iterator[Opened]:
        """Open a file or directory for reading.

        Raises ToolError `invalid_path`, `capability_denied`, `file_not_found`,
        `access_denied` or `io_error`.
        """
        location = self.locate(path)
        with self._base(location) as root:
            opened = self._open_fast(root, location) or self._open_by_walk(root, location)
            try:
                self._check_scratch(opened)
                yield opened
            finally:
                os.close(opened.descriptor)

    def status(self, path: str) -> os.stat_result:
        """Return the state of a file or directory that may be read. Raises ToolError as `open` does."""
        location = self.locate(path)
        with self._base(location) as root:
            found = self._find(root, location) or self._open_by_walk(root, location)
            os.close(found.descriptor)
            self._check_scratch(found)
            return found.status

    def leads_to(self, path: str) -> tuple[str, ...]:
        """Return the real path below the root that a path leads to, existing or not. Raises as `open`
        does."""
        location = self.locate(path)
        with self._base(location) as root, self._walk(root, location, "ro") as resolved:
            self._bounds.judge(resolved.parts, self._root_names(root), "ro")
            return resolved.parts

    @contextmanager
    def held(self) -> Iterator[Workspace]:
        """Keep the root open, for many paths."""
        held = copy.copy(self)
        with self._base(self.locate(".")) as root:
            held._held_names, held._held = self._root_names(root), root
            yield held

    @contextmanager
    def target(self, path: str) -> Iterator[Target]:
        """Resolve a path for writing; the file need not exist. Links within the root are followed. Raises as
        `open` does, and `is_directory`."""
        location = self._writable(path)
        with self._base(location) as root, self._walk(root, location, "rw") as resolved:
            self._check_found(resolved, location, self._root_names(root))
            if location.names_directory or (resolved.status is not None and not resolved.name):
                raise ToolError("is_directory", f"{location.shown} is a directory; name a file in it")
            if resolved.status is not None:
                check_kind(resolved.status, location.shown)
                self._bounds.check_identity(resolved.status, location.shown)
            yield Target(resolved, location, self._key(root, resolved), self._guard(root, location))

    @contextmanager
    def entry(self, path: str, *, links: bool = False) -> Iterator[Entry]:
        """Resolve the entry of a file or folder in its directory, to create, move or remove it. Links on the
        way are followed within the root; a link at the end is refused, or with `links` is the entry itself.
        Raises as `open` does, and `symbolic_link`."""
        location = self._writable(path)
        if not location.parts:
            raise invalid_path(path, "the project's root itself cannot be moved or removed")
        with self._base(location) as root, self._walk(root, location, "rw", entry=True) as resolved:
            self._check_found(resolved, location, self._root_names(root))
            if resolved.status is not None:
                if not stat.S_ISLNK(resolved.status.st_mode):
                    check_kind(resolved.status, location.shown)
                elif not links:
                    raise _link(location.shown)
                self._bounds.check_identity(resolved.status, location.shown)
            yield Entry(resolved, location, self._key(root, resolved), self._guard(root, location))

    def closed_within(self, entry: Entry, elsewhere: tuple[str, ...] | None = None) -> list[str]:
        """Return the paths in a folder that may not be written, there or, when the folder goes to
        `elsewhere`, below that. Raises ToolError `too_many_files` or an operating system's problem.
        """
        found = {"/".join(one) for one in self.closed_below() if one[: len(entry.parts)] == entry.parts}
        if not self.is_bounded:
            return sorted(found)
        root_names = self._root_names(None)
        for below_it in entry.tree():
            for base in (entry.parts, elsewhere):
                if base is not None:
                    try:
                        self._bounds.judge((*base, *below_it), root_names, "rw")
                    except ToolError:
                        found.add("/".join((*base, *below_it)))
        return sorted(found)

    def without_policy(self) -> Workspace:
        """Return the same folder without the caller's policy, to undo what was allowed. Closed files stay
        closed."""
        other = Workspace(
            self._folder,
            scratch=self._scratch,
            scratch_reader=self._scratch_reader,
            library=self._library,
            any_name=self._any_name,
        )
        other._bounds = replace(self._bounds, policy=None)
        return other

    @contextmanager
    def _base(self, location: Location) -> Iterator[int]:
        if location.aside is not None:
            with RootFolder(location.aside).opened(location.shown) as aside:
                yield aside
        elif self._held is not None:
            yield self._held
        else:
            with self._folder.opened("the project's root") as root:
                yield root

    def _check_scratch(self, opened: Opened) -> None:
        """Raise ToolError `file_not_found` for a scratch file of another agent."""
        if opened.location.aside != self._scratch or self._scratch is None or self._scratch_reader is None:
            return
        if opened.is_directory or not may_read_scratch(opened.parts, self._scratch_reader):
            raise os_problem(
                opened.location.shown, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            )

    def _root_names(self, root: int | None) -> tuple[str, ...]:
        if self._held is not None and root in {None, self._held}:
            return self._held_names
        return self._folder.names(root)

    def _key(self, root: int, resolved: ResolvedPath) -> str:
        return "/" + "/".join((*self._root_names(root), *resolved.parts))

    def _writable(self, path: str) -> Location:
        location = self.locate(path)
        if location.aside is not None:
            raise closed_to_writes(location.shown)
        return location

    def _check_found(self, resolved: ResolvedPath, location: Location, names: tuple[str, ...]) -> None:
        """Judge where the walk for writing has ended."""
        self._bounds.judge(resolved.parts, names, "rw")
        if resolved.problem is not None and not isinstance(resolved.problem, FileNotFoundError):
            raise os_problem(location.shown, resolved.problem)
        if ".." in resolved.missing:
            raise invalid_path(location.shown, "a symbolic link in the path leads nowhere")

    def _guard(self, root: int, location: Location) -> Guard:
        """Return the check of a directory right before something in it is changed."""

        def guard(directory: int, inside: tuple[str, ...]) -> None:
            self._bounds.judge_held(directory, inside, self._root_names(root), "rw", location.shown)

        return guard

    def _find(self, root: int, location: Location) -> Opened | None:
        """Return what may be read, with a path-only descriptor; None when the kernel does not find it under
        this name, and the walk has to."""
        found = open_beneath(root, location.parts)
        if found is None:
            return None
        try:
            root_names, path = self._root_names(root), real_path(found)
            status = os.fstat(found)
            # A file may have been renamed since; the walk goes by the text.
            if path is None or status.st_nlink == 0:
                return None
            if names_of(path) != (*root_names, *location.parts):
                return None
            if location.aside is None:
                self._bounds.judge(location.parts, root_names, "ro")
            check_kind(status, location.shown)
            if location.aside is None:
                self._bounds.check_identity(status, location.shown)
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
        with self._walk(root, location, "ro") as resolved:
            root_names = self._root_names(root)
            if location.aside is None:
                self._bounds.judge(resolved.parts, root_names, "ro")
            if resolved.problem is not None:
                raise os_problem(location.shown, resolved.problem)
            assert resolved.status is not None
            check_kind(resolved.status, location.shown)
            try:
                descriptor = os.open(resolved.name or ".", READ | os.O_NOFOLLOW, dir_fd=resolved.directory)
            except OSError as problem:
                raise os_problem(location.shown, problem) from None
            try:
                status = os.fstat(descriptor)
                check_kind(status, location.shown)
                if location.aside is None:
                    inside = (resolved.name,) if resolved.name else ()
                    self._bounds.judge_held(resolved.directory, inside, root_names, "ro", location.shown)
                    self._bounds.check_identity(status, location.shown)
            except BaseException:
                os.close(descriptor)
                raise
            return Opened(descriptor, status, location, resolved.parts, self._key(root, resolved))

    def _walk(self, root: int, location: Location, access: Access, *, entry: bool = False) -> ResolvedPath:
        folder = self.root if location.aside is None else location.aside
        root_names = self._root_names(root)

        def absolute(target: str) -> tuple[str, ...] | None:
            return below(folder, tuple(name for name in target.split("/") if name not in {"", "."}))

        def step(parts: tuple[str, ...]) -> None:
            if location.aside is None:
                self._bounds.judge_step(parts, root_names)

        if location.aside is None:  # by the text first: what is refused so is not looked at
            self._bounds.judge(location.parts, root_names, access)
        try:
            return walk(root, location.parts, absolute, entry=entry, step=step)
        except OutsideRoot:
            message = "a symbolic link leads out of the project"
            raise invalid_path(location.shown, message, reason=LEADS_OUT) from None
        except OSError as problem:
            raise os_problem(location.shown, problem) from None


def _link(shown: str) -> ToolError:
    return ToolError(
        "symbolic_link",
        f"{shown} is a symbolic link, which cannot be moved or removed; name the file that it points to",
        detail={"path": shown},
    )
