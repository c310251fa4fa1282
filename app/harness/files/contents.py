"""A file that is open for a client: its bytes, its kind, its validator.

Owns: keeping it open, and noticing that it changes while it is read. Never: HTTP.
"""

from __future__ import annotations

import os
import time
import weakref
from dataclasses import dataclass, field

import xxhash

from app.tools.project_files.media_type import signature_type
from app.tools.project_files.text_format import HEAD, guess_format, guess_legacy, is_utf8
from app.workspace import Opened

BINARY = "application/octet-stream"
PIECE = 256 * 1024
APPENDING_SECONDS = 0.02


class FileChanged(Exception):
    """The file is no longer the one whose bytes were announced."""


@dataclass(slots=True, weakref_slot=True)
class OpenFile:
    """`path` is relative to the root. `media_type` is `text/plain` with its encoding for every text, and what
    the first bytes prove for others. The descriptor is closed by `close`, or with the last reference."""

    path: str
    descriptor: int
    status: os.stat_result
    media_type: str
    _closing: weakref.finalize[[int], OpenFile] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._closing = weakref.finalize(self, os.close, self.descriptor)
        self._closing.atexit = False

    @property
    def size(self) -> int:
        return self.status.st_size

    @property
    def is_text(self) -> bool:
        return self.media_type.startswith("text/")

    @property
    def validator(self) -> str:
        """What differs once the file was written to."""
        return validator(self.status)

    def read(self, at: int, most: int) -> bytes:
        """Return bytes from `at` on. Blocks. Raises `FileChanged` when there are none, or others than there
        were: a file that has only grown is the same."""
        piece = os.pread(self.descriptor, min(most, PIECE), at)
        now, then = os.fstat(self.descriptor), self.status
        if now.st_mtime_ns != then.st_mtime_ns and now.st_size == then.st_size:
            # Who appends changes the time first, and then the size.
            time.sleep(APPENDING_SECONDS)  # noqa: TID251 - the kernel tells nobody
            now = os.fstat(self.descriptor)
        was_written = now.st_mtime_ns != then.st_mtime_ns and now.st_size <= then.st_size
        if not piece or was_written or now.st_size < then.st_size:
            raise FileChanged
        return piece

    def close(self) -> None:
        self._closing()


def open_file(opened: Opened) -> OpenFile:
    """Return the opened file, to be kept for longer. Blocks."""
    head = os.pread(opened.descriptor, HEAD, 0)
    path = "/".join(opened.parts)
    return OpenFile(path, os.dup(opened.descriptor), opened.status, media_type(head))


def media_type(head: bytes) -> str:
    """Return the type under which a browser runs nothing, by a file's first bytes."""
    proven = signature_type(head)
    if proven is not None:
        return proven
    found = guess_format(head)
    if found is None:
        return BINARY
    if found.encoding == "utf-8" and not _is_cut_utf8(head):
        found = guess_legacy(head)
    if found is None:
        return BINARY
    return f"text/plain; charset={_CHARSETS.get(found.codec, found.codec)}"


_CHARSETS = {"utf-16-le": "utf-16", "utf-16-be": "utf-16", "latin-1": "iso-8859-1"}


def _is_cut_utf8(head: bytes) -> bool:
    """Tell whether bytes are UTF-8, the last character perhaps cut."""
    return any(is_utf8(head[: len(head) - cut]) for cut in range(4 if len(head) == HEAD else 1))


def validator(status: os.stat_result) -> str:
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return xxhash.xxh3_128_hexdigest(repr(parts).encode())
