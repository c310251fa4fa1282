"""Pipes, sockets and devices in what a cage may only read: a read-only mount keeps nobody from using them.

Owns: finding them below a folder, without following links. Never: hiding them.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator, Set

from app.bridges.sandbox.identity import Identity, identity

MAX_ENTRIES = 500_000
MAX_HIDDEN = 1_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Parts = tuple[str, ...]


class TooMany(OSError):
    """There is more than can be hidden, or looked through."""


def special_files(folder: int, apart: Set[Parts]) -> Iterator[tuple[Parts, Identity, bool]]:
    """Yield the pipes, sockets and devices below the descriptor `folder`, and the folders that cannot be
    opened, each with whether it is a folder. Places in `apart` are left out. Blocks. Raises TooMany."""
    waiting: deque[Parts] = deque([()])
    entries = hidden = 0
    while waiting:
        parts = waiting.popleft()
        for deeper, is_folder, is_special in _listed(folder, parts):
            entries += 1
            if entries > MAX_ENTRIES:
                raise TooMany(errno.E2BIG, "what may only be read has too many files to look for pipes in")
            if deeper in apart:
                continue
            if is_folder and not is_special:
                waiting.append(deeper)
            elif is_special and (found := identity("/".join(deeper), folder)) is not None:
                hidden += 1
                if hidden > MAX_HIDDEN:
                    raise TooMany(errno.E2BIG, "what may only be read has too many pipes and sockets")
                yield deeper, found, is_folder


def _listed(folder: int, parts: Parts) -> Iterator[tuple[Parts, bool, bool]]:
    """Yield what is in a folder: its path, whether it is a folder, and whether it has to be hidden."""
    try:
        descriptor = os.open("/".join(parts) or ".", _FOLDER, dir_fd=folder)
    except PermissionError:
        if parts:
            yield parts, True, True
        return
    except OSError:
        return
    try:
        with os.scandir(descriptor) as found:
            for entry in found:
                is_folder = entry.is_dir(follow_symlinks=False)
                is_plain = is_folder or entry.is_symlink() or entry.is_file(follow_symlinks=False)
                if is_folder or not is_plain:
                    yield (*parts, entry.name), is_folder, not is_plain
    except OSError:
        return
    finally:
        os.close(descriptor)
