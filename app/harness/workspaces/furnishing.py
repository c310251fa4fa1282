"""What a new workspace gets beside the files of its commit, as the project file says: files and folders that
git does not have, and ports.

Owns: copying them by path checks, and choosing the ports. Never: what is run there (`setup`). Blocks.
"""

from __future__ import annotations

import fnmatch
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from app.cages.protected_names import ENVIRONMENT_MARK
from app.errors import Conflict, ToolError
from app.harness.dsl.paths import read_path
from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.workspaces.copying import CopyBounds, copy_folder
from app.workspace import Workspace

FIRST_PORT, LAST_PORT = 42_000, 48_000
MAX_FILES = 1_000
_WILD = frozenset("*?[")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def furnish(section: WorkspaceSection, project: Path, root: Path, bounds: CopyBounds) -> list[str]:
    """Give a workspace what the project file says; return what could not be given, with the reason. Raises
    `CopyStopped`."""
    notes = []
    source, target = Workspace(project, closed=bounds.closed), Workspace(root)
    for pattern in section.copy:
        try:
            names = list(_found(project, read_path(pattern).parts))
            for name in names:
                _copy(source, target, name)
            if not names:
                notes.append(f"`copy: {pattern}` names no file.")
        except (ToolError, OSError) as problem:
            notes.append(f"`copy: {pattern}`: {_words(problem)}.")
    for path in section.link:
        try:
            _link(source, target, "/".join(read_path(path).parts), bounds)
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


def _copy(source: Workspace, target: Workspace, name: str) -> None:
    with source.target(f"./{name}") as file:
        content, mode = file.read(), file.status.st_mode if file.status is not None else 0o600
    with target.target(f"./{name}") as made:
        if made.exists:
            made.replace(content)
        else:
            made.create(content)
    with target.open(f"./{name}") as opened:
        os.fchmod(opened.descriptor, stat.S_IMODE(mode) | 0o600)


def _link(source: Workspace, target: Workspace, name: str, bounds: CopyBounds) -> None:
    with source.open(f"./{name}") as opened:
        if not opened.is_directory:
            raise ToolError("not_a_directory", "it is not a folder")
        # What was looked at is what is copied, whoever moves folders about meanwhile.
        folder = os.open(".", _FOLDER, dir_fd=opened.descriptor)
        try:
            _copy_linked(folder, opened.key, target, name, bounds)
        finally:
            os.close(folder)


def _copy_linked(folder: int, real: str, target: Workspace, name: str, bounds: CopyBounds) -> None:
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
        copy_folder(folder, real, Path(made.key), bounds)


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
