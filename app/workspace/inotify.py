"""The kernel's inotify, by way of the C library.

Owns: its descriptor, adding and removing watches on folders, reading what is queued, and which file
systems tell everything. Never: knowing which folders belong together; that is `tree_watch_folders`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

IN_MODIFY = 0x0000_0002
IN_ATTRIB = 0x0000_0004
IN_CLOSE_WRITE = 0x0000_0008
IN_MOVED_FROM = 0x0000_0040
IN_MOVED_TO = 0x0000_0080
IN_CREATE = 0x0000_0100
IN_DELETE = 0x0000_0200
IN_DELETE_SELF = 0x0000_0400
IN_MOVE_SELF = 0x0000_0800
IN_UNMOUNT = 0x0000_2000
IN_Q_OVERFLOW = 0x0000_4000
IN_IGNORED = 0x0000_8000
IN_ISDIR = 0x4000_0000
_IN_ONLYDIR = 0x0100_0000
_IN_DONT_FOLLOW = 0x0200_0000
_IN_EXCL_UNLINK = 0x0400_0000
_WANTED = (
    (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE)
    | (IN_DELETE_SELF | IN_MOVE_SELF)
    | (_IN_ONLYDIR | _IN_DONT_FOLLOW | _IN_EXCL_UNLINK)
)

_PIECE = 64 * 1024
_HEAD = struct.Struct("iIII")
_TELLING = frozenset(
    {
        *(0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x858458F6),  # ext, XFS, Btrfs, tmpfs, ramfs
        *(0x794C7630, 0x2FC12FC1, 0xF2F52010, 0xCA451A4E),  # overlayfs, ZFS, F2FS, bcachefs
        *(0x3153464A, 0x52654973, 0x3434, 0x2011BAB0, 0x4D44, 0x7366746E),  # JFS to exFAT, FAT, NTFS
        *(0x73717368, 0xE0F5E1E2, 0x9660),  # SquashFS, EROFS, ISO 9660: never change
    }
)
"""`f_type` of the file systems whose every change goes through this kernel. Network file systems, and
those that another program or machine serves, change without a word; unknown ones count as such."""

Event = tuple[int, int, str]
"""The watch, the mask, and the name within the folder ("" for the folder itself)."""


class Inotify:
    """One queue of events, never inherited by children. Raises OSError where there is none."""

    def __init__(self) -> None:
        libc = _libc()
        if libc is None:
            raise OSError(errno.ENOSYS, "this system has no inotify")
        self._add: Callable[..., int] = libc.inotify_add_watch
        self._remove: Callable[..., int] = libc.inotify_rm_watch
        self.descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if self.descriptor < 0:
            raise _failure()

    def watch(self, folder: bytes) -> int:
        """Return the watch on a folder, the one it has already if so. A link is no folder.

        Raises OSError: ENOSPC when the system allows no more watches.
        """
        watch = self._add(self.descriptor, folder, _WANTED)
        if watch < 0:
            raise _failure()
        return watch

    def forget(self, watch: int) -> None:
        """Remove a watch; one that is gone already is no problem."""
        self._remove(self.descriptor, watch)

    def read(self) -> list[Event]:
        """Return the next events that are queued, up to some thousands; none when there are none."""
        try:
            piece = os.read(self.descriptor, _PIECE)
        except BlockingIOError:
            return []
        events: list[Event] = []
        at, unpack, head = 0, _HEAD.unpack_from, _HEAD.size
        while at < len(piece):
            watch, mask, _, length = unpack(piece, at)
            at += head
            name = os.fsdecode(piece[at : at + length].rstrip(b"\0")) if length else ""
            at += length
            events.append((watch, mask, name))
        return events

    def close(self) -> None:
        """Close the queue. Blocking: with many watches the kernel takes a while."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def tells_everything(folder: bytes) -> bool:
    """Tell whether the file system of a folder is known to tell inotify every change. Blocking."""
    libc = _libc()
    if libc is None:
        return False
    status = (ctypes.c_long * 64)()
    if libc.statfs(folder, status) != 0:
        return False
    return (status[0] & 0xFFFF_FFFF) in _TELLING


@lru_cache(maxsize=1)
def _libc() -> Any:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.inotify_init1.argtypes = [ctypes.c_int]
        libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
        libc.inotify_rm_watch.argtypes = [ctypes.c_int, ctypes.c_int]
        libc.statfs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return libc


def _failure() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
