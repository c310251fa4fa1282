"""What lies in folders that agents write, however deep and odd: looked through, and removed. Blocks.

Owns: walking without recursion, finding the pipes on which git would hang, and removing a folder of any depth
and any modes. Never: which folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RULES = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".git"})
_NO_RIGHTS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 300
"""So many folders above each other are open at once; what lies deeper is moved up."""
_MOST = 1_000_000
"""At most this many folders are moved up. It bounds the work while a program makes new ones."""


def files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what lies below a folder and is no folder itself; no link is followed, and what cannot be read is
    left out."""
    folders = [os.fspath(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry


def waiting_pipe(tree: Path) -> str | None:
    """Return a pipe in a working tree that git would open and wait for, relative to it."""
    for entry in files_below(tree):
        parts = os.path.relpath(entry.path, tree).split(os.sep)
        if entry.name in _RULES or ".git" in parts[1:-1]:
            with suppress(OSError):
                mode = entry.stat(follow_symlinks=False).st_mode
                if (mode & 0o170000) == 0o010000:
                    return os.path.join(*parts)
    return None


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, whatever its modes are. A second call does nothing. No link is
    followed, not even one that appears meanwhile. Raises OSError when something stays."""
    try:
        above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _remove(folder.name, above)
    finally:
        os.close(above)
    if os.path.lexists(folder):
        raise OSError(errno.ENOTEMPTY, f"something in {folder} cannot be removed")


def _remove(name: str, above: int) -> None:
    with suppress(OSError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=above)
            return
        top = _opened(name, above)
        try:
            mark, moved = os.urandom(8).hex(), True
            names = (f"{mark}-{number}" for number in range(_MOST))
            while moved:
                moved = _clear(top, top, 0, names)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=above)


def _clear(top: int, folder: int, depth: int, names: Iterator[str]) -> bool:
    """Remove what lies in an open folder. What lies too deep is moved to the top, by one of the names; tell
    whether there was any."""
    moved = False
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=folder)
                continue
            inner = _opened(name, folder)
            try:
                if depth == _DEEP:
                    os.rename(name, next(names, name), src_dir_fd=folder, dst_dir_fd=top)
                    moved = True
                    continue
                moved = _clear(top, inner, depth + 1, names) or moved
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)
    return moved


def _opened(name: str, above: int) -> int:
    """Open a folder, and let it be read and emptied."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=above)
    except PermissionError:
        held = os.open(name, _NO_RIGHTS, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{held}", 0o700)
            return os.open(".", _FOLDER, dir_fd=held)
        finally:
            os.close(held)
    if os.fstat(folder).st_mode & 0o700 != 0o700:
        os.fchmod(folder, 0o700)
    return folder
