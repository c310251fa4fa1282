"""What lies in folders that agents write, however deep and odd: looked through, and removed. Blocks.

Owns: looking without end of the stack, the pipes for which git would wait, and removing a folder whatever its
depth and modes are. Never: which folder.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RULES = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".git"})
_DEEP = 300
"""So many folders above each other are removed by Python's own function, which has a limit."""


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
    """Remove a folder with everything in it, whatever its modes are. A second call does nothing. Raises
    OSError when something stays."""

    def open_up(function: object, path: str, _problem: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder, onerror=open_up)
        except RecursionError:
            _raise_what_is_deep(folder)
        else:
            break
    if os.path.lexists(folder):
        raise OSError(errno.ENOTEMPTY, f"something in {folder} cannot be removed")


def _raise_what_is_deep(folder: Path) -> None:
    """Move the folders that lie too deep to the top."""
    top = os.open(folder, _FOLDER)
    try:
        names = (f"deep-{number}" for number in range(10**9))
        _raise_from(top, top, 0, (name for name in names if not os.path.lexists(folder / name)))
    finally:
        os.close(top)


def _raise_from(top: int, above: int, depth: int, names: Iterator[str]) -> None:
    with os.scandir(above) as entries:
        found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in found:
        with suppress(OSError):
            if depth == _DEEP:
                os.rename(name, next(names), src_dir_fd=above, dst_dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=above)
            inner = os.open(name, _FOLDER, dir_fd=above)
            try:
                _raise_from(top, inner, depth + 1, names)
            finally:
                os.close(inner)
