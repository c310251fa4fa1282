"""One file that is about to be written: whole or not at all, mode and owner kept.

Owns: reading it back, creating it exclusively, replacing it atomically, all within one
directory descriptor. Never: resolving paths or deciding whether writing is allowed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.errors import ToolError
from app.workspace.bounds import Guard
from app.workspace.descriptors import DIRECTORY, READ, ResolvedPath
from app.workspace.new_file import ChangedMeanwhile, NewFile, change_places, remove_leftovers, sync_directory
from app.workspace.paths import Location, os_problem

_KEPT_ATTRIBUTES = ("user.", "system.posix_acl_access", "security.selinux")
"""Not `security.capability`: like set-user-id bits, it belongs to the content that is replaced."""
MAX_WHOLE_FILE = 256 * 1024 * 1024


@dataclass(slots=True)
class Staged:
    """New content that lies beside a file. `temporary` is its name there; once it is put in place,
    that of what it replaced. `before` is the state of the file that it was made for."""

    temporary: str
    before: os.stat_result
    new: os.stat_result


class WritablePath:
    """A path resolved for writing; valid while the workspace's `with` lasts.

    `key` is the real absolute path, `parts` the same below the root, of which `missing_parents` folders do
    not exist. `status` is None when nothing is there. `identity` is the same for every path that leads
    there.
    """

    def __init__(self, resolved: ResolvedPath, location: Location, key: str, guard: Guard) -> None:
        self.location = location
        self.key = key
        self.status = resolved.status
        self.parts = resolved.parts
        self.missing_parents = len(resolved.missing[:-1])
        self._guard = guard
        self._directory = resolved.directory
        self._missing = resolved.missing
        self._name = resolved.name or resolved.missing[-1]
        folder = os.fstat(resolved.directory)
        self.directory_identity = (folder.st_dev, folder.st_ino)
        self.identity = (*self.directory_identity, *resolved.missing[:-1], self._name)


class Target(WritablePath):
    """A file. Its `identity` stays the same when it is replaced."""

    @property
    def exists(self) -> bool:
        return self.status is not None

    def read(self) -> bytes:
        """Return the whole content, and remember the state that `replace` will insist on.

        Raises ToolError `file_not_found`, `file_too_large` or an operating system's problem.
        """
        try:
            descriptor = os.open(self._name, READ | os.O_NOFOLLOW, dir_fd=self._directory)
            with open(descriptor, "rb", buffering=0) as file:
                self.status = os.fstat(descriptor)
                if not stat.S_ISREG(self.status.st_mode):
                    raise changed_since_read(self.location.shown)
                self.check_size()
                return file.readall() or b""
        except OSError as problem:
            raise os_problem(self.location.shown, problem) from None

    def check_size(self) -> None:
        """Raise ToolError `file_too_large` for an existing file whose content is not handled as a whole."""
        if self.status is not None and self.status.st_size > MAX_WHOLE_FILE:
            limit = MAX_WHOLE_FILE // (1024 * 1024)
            raise ToolError("file_too_large", f"{self.location.shown} is larger than {limit} MB")

    def create(self, content: bytes) -> None:
        """Create the file with its missing parent directories; appears whole or not at all.

        Raises ToolError `file_exists` when something has that name by now.
        """
        self.create_from((content,))

    def create_from(self, pieces: Iterable[bytes]) -> None:
        """Create the file as `create` does, from content that is never in memory as a whole."""
        with self._problems(), self._parents() as directory:
            try:
                with NewFile(directory, 0o666) as new:
                    for piece in pieces:
                        new.write(piece)
                    self._guard(directory, (self._name,))
                    new.put_new(self._name)
            except FileExistsError:
                raise ToolError(
                    "file_exists",
                    f"{self.location.shown} exists already",
                    detail={"path": self.location.shown},
                ) from None
            sync_directory(directory)

    def replace(self, content: bytes) -> None:
        """Put `content` in the place of the file that was read.

        Raises ToolError `file_changed_since_read` when the file is no longer that one.
        """
        before = self.status
        assert before is not None
        with self._problems():
            try:
                with NewFile(self._directory, 0o600) as new:
                    new.write(content)
                    self._take_over(new.descriptor, before)
                    self._guard(self._directory, (self._name,))
                    new.put_over(self._name, lambda now: _signature(now) == _signature(before))
            except (FileNotFoundError, ChangedMeanwhile):
                raise changed_since_read(self.location.shown) from None
            sync_directory(self._directory)

    def stage(self, content: bytes) -> Staged:
        """Write `content` beside the file that was read; it stays there until it is discarded.

        For changes of several files that are made together: stage all, then put all."""
        before = self.status
        assert before is not None
        with self._problems(), NewFile(self._directory, 0o600) as new:
            new.write(content)
            self._take_over(new.descriptor, before)
            return Staged(new.keep(), before, os.fstat(new.descriptor))

    def put(self, staged: Staged) -> None:
        """Put what was staged in the place of the file that was read then.

        Raises ToolError `file_changed_since_read` when the file is no longer that one."""
        unchanged = _signature(staged.before)
        self._guard(self._directory, (self._name,))
        with self._problems():
            try:
                if not change_places(
                    self._directory, staged.temporary, self._name, lambda now: _signature(now) == unchanged
                ):
                    self._put_without_exchange(staged)
            except (FileNotFoundError, ChangedMeanwhile):
                raise changed_since_read(self.location.shown) from None
            sync_directory(self._directory)

    def take_back(self, staged: Staged) -> None:
        """Undo `put`; what somebody else has made of the file since then stays."""

        def is_ours(now: os.stat_result) -> bool:
            return _signature(now) == _signature(staged.new)

        with self._problems(), suppress(ChangedMeanwhile, FileNotFoundError):
            if not change_places(self._directory, staged.temporary, self._name, is_ours):
                self._rename(staged.temporary)
        self.discard(staged)

    def discard(self, staged: Staged) -> None:
        """Remove what still lies beside the file."""
        with suppress(OSError):
            os.unlink(staged.temporary, dir_fd=self._directory)

    def _put_without_exchange(self, staged: Staged) -> None:
        """Where names cannot change places: put a copy of the old content aside first."""
        copy = self.stage(self.read())
        try:
            self._rename(staged.temporary)
        except BaseException:
            self.discard(copy)
            raise
        staged.temporary = copy.temporary

    def _rename(self, temporary: str) -> None:
        os.rename(temporary, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def remove_leftovers(self) -> None:
        """Remove what a killed daemon left in the directory that is about to be written."""
        if not self._missing[:-1]:
            remove_leftovers(self._directory)

    def _take_over(self, descriptor: int, like: os.stat_result) -> None:
        """Give the new file the old one's owner, extended attributes and mode, in this order:
        a change of owner clears bits of the mode."""
        mine = os.fstat(descriptor)
        if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
            try:
                os.fchown(descriptor, like.st_uid, like.st_gid)
            except OSError:  # only root may give files away; the group may still be ours
                with suppress(OSError):
                    os.fchown(descriptor, -1, like.st_gid)
        with suppress(OSError):  # not every file system has attributes
            self._copy_attributes(descriptor)
        os.fchmod(descriptor, like.st_mode & 0o777)

    def _copy_attributes(self, descriptor: int) -> None:
        source = os.open(self._name, READ | os.O_NOFOLLOW, dir_fd=self._directory)
        try:
            for attribute in os.listxattr(source):
                if not attribute.startswith(_KEPT_ATTRIBUTES):
                    continue
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)

    @contextmanager
    def _parents(self) -> Iterator[int]:
        """Make the missing parent directories; take them away again when the body fails."""
        self._guard(self._directory, self._missing or (self._name,))
        held = [os.dup(self._directory)]
        made: list[tuple[int, str]] = []
        try:
            for name in self._missing[:-1]:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o777, dir_fd=held[-1])
                    made.append((held[-1], name))
                held.append(os.open(name, DIRECTORY, dir_fd=held[-1]))
            yield held[-1]
            for parent, _ in made:
                sync_directory(parent)
        except BaseException:
            for parent, name in reversed(made):
                with suppress(OSError):
                    os.rmdir(name, dir_fd=parent)
            raise
        finally:
            for descriptor in held:
                os.close(descriptor)

    @contextmanager
    def _problems(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise os_problem(self.location.shown, problem) from None


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)


def changed_since_read(shown: str) -> ToolError:
    """Return the error for a file that somebody else changed after the agent read it."""
    return ToolError(
        "file_changed_since_read",
        f"{shown} changed after it was read; read it again and repeat the change on what is there now",
        detail={"path": shown},
    )
