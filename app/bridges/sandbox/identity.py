"""Which file or folder something is, also when its number was given to another one since.

Owns: asking the kernel. Never: opening anything. File systems give the number of what was removed to what
is made next; when it was made tells them apart.
"""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass

_NO_FOLLOW = 0x100
_WANTED = 0x7FF | 0x800
"""What `stat` tells, and the time of making."""
_HERE = -100
_BYTES = 256


@dataclass(frozen=True, slots=True)
class Identity:
    """`made_ns` is 0 where the file system does not say it."""

    device: int
    number: int
    made_ns: int

    @property
    def at(self) -> tuple[int, int]:
        """The device and number, as `stat` gives them."""
        return self.device, self.number


def identity(path: str, folder: int = _HERE) -> Identity | None:
    """Return what is at a path, below the descriptor `folder` unless it is absolute; links are not
    followed. None when nothing is there."""
    buffer = ctypes.create_string_buffer(_BYTES)
    if _libc.statx(folder, os.fsencode(path), _NO_FOLLOW, _WANTED, buffer) != 0:
        return None
    (number,) = struct.unpack_from("Q", buffer, 32)
    seconds, nanoseconds = struct.unpack_from("qI", buffer, 80)
    major, minor = struct.unpack_from("II", buffer, 136)
    return Identity(os.makedev(major, minor), number, seconds * 1_000_000_000 + nanoseconds)


_libc = ctypes.CDLL(None)
