"""What a new workspace gets beside the files of its commit, as the project file says: files and folders that
git does not have, and ports.

Owns: copying them by path checks, and choosing the ports. Never: what is run there (`setup`). Blocks.
"""

from __future__ import annotations

import fnmatch
import os
import socket
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app.cages.protected_names import ENVIRONMENT_MARK
from app.errors import Conflict, ToolError
from app.harness.dsl.paths import read_path
from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.workspaces.copying import CopyBounds, copy_folder, too_much
from app.harness.workspaces.sight import Sight
from app.harness.workspaces.walking import remove_tree
from app.workspace import Workspace
from app.workspace.target import MAX_WHOLE_FILE
from app.workspace.workspace import Opened

FIRST_PORT, LAST_PORT = 42_000, 48_000
MAX_FILES = 1_000
_WILD = frozenset("*?[")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def furnish(
    section: WorkspaceSection, project: Path, root: Path, bounds: CopyBounds, sight: Sight | None = None
) -> list[str]:
    """Give a workspace what the project file says, as far as the `sight` goes; return what could not be
    given, with the reason. Raises `CopyStopped`."""
    notes = []
    source, target = Workspace(project, closed=bounds.closed), Workspace(root)
    left = bounds.most_bytes
    for pattern in section.copy:
        problems = []
        try:
            names = [
                name
                for name in _found(project, read_path(pattern).parts)
                if sight is None or sight.reads(tuple(name.split("/")))
            ]
        except (ToolError, OSError) as problem:
            notes.append(f"`copy: {pattern}`: {_words(problem)}.")
            continue
        for name in names:
            try:
                left -= _copy(source, target, name, left)
            except (ToolError, OSError, Conflict) as problem:
                problems.append(_words(problem) if len(names) == 1 else f"{name}: {_words(problem)}")
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            notes.append(f"`copy: {pattern}`: {problems[0]}{more}.")
        if not names:
            whose = "" if sight is None else " that its agent may read"
            notes.append(f"`copy: {pattern}` names no file{whose}.")
    for path in section.link:
        try:
            within = replace(bounds, most_bytes=left)
            left -= _link(source, target, "/".join(read_path(path).parts), within, sight)
        except (ToolError, OSError, Conflict) as problem:
            notes.append(f"`link: {path}`: {_words(problem)}.")
    return notes


def _found(root: Path, parts: tuple[str, ...]) -> Iterator[str]:
    """Yield the files that a pattern names, below the root; no link is followed."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(_matching(folder, parts)):
            if number >= MAX_FILES:
                raise ToolError("too_many_files", f"it names more than {MAX_FILES} files")
            yield name
    finally:
        os.close(folder)


def _matching(folder: int, parts: tuple[str, ...]) -> Iterator[str]:
    first, *rest = parts
    names = sorted(os.listdir(folder)) if _WILD & set(first) else [first]
    for name in names:
        if not fnmatch.fnmatchcase(name, first) and name != first:
            continue
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        if not rest:
            if stat.S_ISREG(mode):
                yield name
        elif stat.S_ISDIR(mode):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                yield from (f"{name}/{below}" for below in _matching(inner, tuple(rest)))
            finally:
                os.close(inner)


def _copy(source: Workspace, target: Workspace, name: str, most_bytes: int) -> int:
    """Copy a file; return its size."""
    with _opened(source, name) as found:
        if found.is_directory:
            raise ToolError("is_directory", "it is a folder")
        if found.status.st_size > MAX_WHOLE_FILE:
            raise ToolError("file_too_large", f"it is larger than {MAX_WHOLE_FILE // 1024**2} MB")
        with open(found.descriptor, "rb", closefd=False) as file:
            content, mode = file.read(MAX_WHOLE_FILE), found.status.st_mode
    if len(content) > most_bytes:
        raise too_much(most_bytes)
    with target.target(f"./{name}") as made:
        if made.exists:
            made.replace(content)
        else:
            made.create(content)
    with target.open(f"./{name}") as opened:
        os.fchmod(opened.descriptor, stat.S_IMODE(mode) | 0o600)
    return len(content)


@contextmanager
def _opened(source: Workspace, name: str) -> Iterator[Opened]:
    """Open a file or folder by its name, without following links. A rename meanwhile changes nothing."""
    with source.open(f"./{name}") as opened:
        if opened.parts != tuple(name.split("/")):
            raise ToolError("symbolic_link", "a symbolic link is in its path")
        yield opened


def _link(source: Workspace, target: Workspace, name: str, bounds: CopyBounds, sight: Sight | None) -> int:
    """Copy a folder; return the bytes copied."""
    with _opened(source, name) as opened:
        if not opened.is_directory:
            raise ToolError("not_a_directory", "it is not a folder")
        if sight is not None:
            if not sight.enters(opened.parts):
                raise ToolError("capability_denied", "its agent may not read it")
            bounds = replace(bounds, shows=_shown(sight, opened))
        # The open folder is copied, so a rename meanwhile changes nothing.
        folder = os.open(".", _FOLDER, dir_fd=opened.descriptor)
        try:
            return _copy_linked(folder, opened.key, target, name, bounds)
        finally:
            os.close(folder)


def _shown(sight: Sight, opened: Opened) -> Callable[[str, bool], bool]:
    """Return what tells what lies below an open folder is to be copied."""

    def shows(place: str, is_folder: bool) -> bool:
        parts = (*opened.parts, *Path(place).relative_to(opened.key).parts)
        return sight.enters(parts) if is_folder else sight.reads(parts)

    return shows


def _copy_linked(folder: int, real: str, target: Workspace, name: str, bounds: CopyBounds) -> int:
    if _is_environment(folder):
        raise ToolError(
            "python_environment",
            "it is a Python environment, whose packages would run the files of the checkout; let `setup` "
            "create one",
        )
    with target.entry(f"./{name}") as entry:
        if entry.status is not None:
            raise ToolError("file_exists", "the commit has a file or folder of this name")
        if entry.missing_parents:
            raise ToolError("file_not_found", "the folder above it is not in the commit")
        entry.make_folder()
    with target.open(f"./{name}") as made:
        try:
            return copy_folder(folder, real, Path(made.key), bounds)
        except (OSError, Conflict):
            remove_tree(Path(made.key))  # half of a folder looks like the whole
            raise


def _is_environment(folder: int) -> bool:
    """Tell whether an open folder is a Python environment, or has one in it."""
    with os.scandir(folder) as entries:
        names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    return any(_is_there(os.path.join(name, ENVIRONMENT_MARK), folder) for name in (".", *names))


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def free_ports(count: int, taken: Iterable[tuple[int, int]]) -> int | None:
    """Return the first of so many consecutive ports that nobody listens on, and that no other workspace has
    (`taken`: first port and count); None when there are none."""
    used = {port for first, number in taken for port in range(first, first + number)}
    first = FIRST_PORT
    while first + count <= LAST_PORT:
        busy = [port for port in range(first, first + count) if port in used or not _is_free(port)]
        if not busy:
            return first
        first = busy[-1] + 1
    return None


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _words(problem: ToolError | OSError | Conflict) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or "it cannot be read"
    return problem.message.rstrip(".")
