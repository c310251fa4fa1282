"""One entry of a directory, a file or a folder, that is created, moved or removed.

Owns: renaming without replacing, moving aside and back, all by descriptors. Never: resolving paths, or
policy.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from app.errors import ToolError
from app.workspace.new_file import (
    LACKING,
    LEFTOVER_SECONDS,
    is_ours,
    move_name,
    name_aside,
    remove_entry,
    remove_leftovers,
    sync_directory,
)
from app.workspace.paths import os_problem
from app.workspace.target import WritablePath

MAX_TREE = 100_000


class Entry(WritablePath):
    """The entry of a file or folder in its directory."""

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    def tree(self) -> Iterator[tuple[str, ...]]:
        """Yield all that is in the folder, as components below it. Links are not followed.

        Raises ToolError `too_many_files` or an operating system's problem."""
        if not self.is_folder:
            return
        count = 0
        with self._problems():
            walk = os.fwalk(self._name, dir_fd=self._directory, onerror=_raise)
            for above, folders, files, _ in walk:
                inside = tuple(above.split("/")[1:])
                for name in (*folders, *files):
                    count += 1
                    if count > MAX_TREE:
                        raise ToolError(
                            "too_many_files", f"{self.location.shown} holds more than {MAX_TREE} files"
                        )
                    yield (*inside, name)

    def holds_something(self) -> bool:
        """Tell whether the folder has entries besides what is put aside there at the moment."""
        with self._problems():
            opened = os.open(
                self._name,
                os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                dir_fd=self._directory,
            )
            try:
                return not all(is_ours(name) for name in os.listdir(opened))
            finally:
                os.close(opened)

    def make_folder(self) -> None:
        """Make a folder. Raises ToolError `file_exists`."""
        self._check_place()
        with self._problems():
            os.mkdir(self._name, 0o777, dir_fd=self._directory)
            sync_directory(self._directory)

    def link_target(self) -> bytes | None:
        """Return what the entry points to when it is a symbolic link, else None."""
        if self.status is None or not stat.S_ISLNK(self.status.st_mode):
            return None
        with self._problems():
            return os.readlink(os.fsencode(self._name), dir_fd=self._directory)

    def make_link(self, target: bytes) -> None:
        """Make a symbolic link to `target`, wherever that is. Raises ToolError `file_exists`."""
        self._check_place()
        with self._problems():
            os.symlink(target, os.fsencode(self._name), dir_fd=self._directory)
            sync_directory(self._directory)

    def move_to(self, other: Entry) -> None:
        """Rename this entry to `other`, which nothing is called by now.

        Raises ToolError `file_exists`, `file_changed_since_read` when the entry is no longer the
        one that was resolved, or an operating system's problem."""
        self._check_place()
        other._check_place()
        with other._problems():
            move_name(self._directory, self._name, other._directory, other._name)
            if not self._is_still(other._directory, other._name):
                move_name(other._directory, other._name, self._directory, self._name)
                raise self._changed()
            sync_directory(other._directory)
            if self.directory_identity != other.directory_identity:
                sync_directory(self._directory)

    def move_over(self, other: Entry) -> str:
        """Rename this file to the existing file `other`; return the name that keeps the old one. Where the
        file system has links, `other` exists at any moment."""
        self._check_place()
        other._check_place()
        temporary = name_aside()
        source, directory = self._directory, other._directory
        with other._problems():
            try:
                os.link(
                    other._name,
                    temporary,
                    src_dir_fd=directory,
                    dst_dir_fd=directory,
                    follow_symlinks=False,
                )
            except OSError as problem:
                if problem.errno not in LACKING:
                    raise
                temporary = other.put_aside()
        try:
            with other._problems():
                if not other._is_still(directory, temporary) or not self._is_still(source, self._name):
                    raise other._changed()
                os.rename(self._name, other._name, src_dir_fd=source, dst_dir_fd=directory)
                sync_directory(directory)
        except BaseException:
            with suppress(OSError):
                self._drop_second_name(other, temporary)
            raise
        if self.directory_identity != other.directory_identity:
            sync_directory(source)
        return temporary

    def _drop_second_name(self, other: Entry, temporary: str) -> None:
        """The file is called `other` as before, or it is brought back to be."""
        try:
            move_name(other._directory, temporary, other._directory, other._name)
        except FileExistsError:
            os.unlink(temporary, dir_fd=other._directory)

    def put_aside(self) -> str:
        """Take the entry out of the way under a new name in its directory, and return that.

        Raises ToolError `file_changed_since_read` when it is no longer the one that was resolved."""
        self._check_place()
        temporary = name_aside()
        with self._problems():
            move_name(self._directory, self._name, self._directory, temporary)
            if not self._is_still(self._directory, temporary):
                move_name(self._directory, temporary, self._directory, self._name)
                raise self._changed()
            sync_directory(self._directory)
        return temporary

    def bring_back(self, temporary: str) -> None:
        """Undo `put_aside`. Raises ToolError `file_exists` when the name is taken by now."""
        with self._problems():
            move_name(self._directory, temporary, self._directory, self._name)
            sync_directory(self._directory)

    def remove(self) -> None:
        """Remove the file, or the folder with all that is in it, for good."""
        self._check_place()
        with self._problems():
            remove_entry(self._directory, self._name)

    def remove_empty_folder(self) -> None:
        """Remove a folder; one that holds something by now stays."""
        with suppress(OSError):
            os.rmdir(self._name, dir_fd=self._directory)

    def remove_leftovers(self, seconds: float = LEFTOVER_SECONDS) -> None:
        """Remove what a killed daemon left in the entry's directory, and nobody touched for `seconds`."""
        if not self.missing_parents:
            remove_leftovers(self._directory, seconds)

    def is_the_same(self, before: os.stat_result) -> bool:
        """Tell whether this is still what had the state `before`: a folder the same one, a file the
        same one with the same content."""
        return self.status is not None and _identity(self.status) == _identity(before)

    def _check_place(self) -> None:
        """Judge the directory by its present path. Raises ToolError, also when the folder does not exist."""
        if self.missing_parents:
            raise os_problem(self.location.shown, FileNotFoundError(errno.ENOENT, ""))
        self._guard(self._directory, (self._name,))

    def _is_still(self, directory: int, name: str) -> bool:
        return self.is_the_same(os.stat(name, dir_fd=directory, follow_symlinks=False))

    def _changed(self) -> ToolError:
        shown = self.location.shown
        return ToolError(
            "file_changed_since_read",
            f"{shown} was replaced meanwhile; read it again",
            detail={"path": shown},
        )

    @contextmanager
    def _problems(self) -> Iterator[None]:
        shown = self.location.shown
        try:
            yield
        except FileExistsError:
            raise ToolError("file_exists", f"{shown} exists already", detail={"path": shown}) from None
        except OSError as problem:
            if problem.errno == errno.EXDEV:
                message = f"{shown} is in another file system; copy the file and remove the old one instead"
                raise ToolError("io_error", message, detail={"path": shown}) from None
            raise os_problem(shown, problem) from None


def _raise(problem: OSError) -> None:
    raise problem


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """A number of an inode alone may have been given to another file since."""
    same = (status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode))
    return same if stat.S_ISDIR(status.st_mode) else (*same, status.st_size, status.st_mtime_ns)
