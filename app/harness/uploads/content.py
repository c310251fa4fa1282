"""The contents of uploads on the disk: one file for each, under its id, for the daemon alone.

Owns: writing them as they arrive, with their SHA-256, and removing them. Never: rows.
The functions without `async` block: they are called in threads.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from app.errors import BadRequest, InsufficientStorage, KagedError, PayloadTooLarge, StorageError
from app.ids import is_id
from app.storage.private_file import private

PIECE_BYTES = 1024 * 1024
"""How much of a body is held before it is written."""

SILENCE_SECONDS = 60.0
WHOLE_SECONDS = 3_600.0
"""How long a sender may send nothing, and how long a whole file may take."""

_PART = ".part"
"""Ends the name of a file until all of it is there."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ContentFolder:
    """The folder that holds them, made for its owner alone when the first one arrives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_of(self, upload_id: str) -> Path:
        """Return where the content of an upload lies, if it does."""
        return self._folder / upload_id

    def create(self, upload_id: str) -> IncomingFile:
        """Begin a new file. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return IncomingFile(self.path_of(upload_id))

    def remove(self, upload_id: str) -> None:
        """Remove a content, or what has arrived of it; that it is gone already is no error."""
        for path in (self.path_of(upload_id), _unfinished(self.path_of(upload_id))):
            with suppress(FileNotFoundError):
                path.unlink()

    def present(self) -> tuple[set[str], set[str]]:
        """Return the ids of the contents that lie there, and of those that have not arrived whole."""
        try:
            with os.scandir(self._folder) as entries:
                names = {entry.name for entry in entries}
        except FileNotFoundError:
            return set(), set()
        parts = {name.removesuffix(_PART) for name in names if name.endswith(_PART)}
        return {name for name in names if is_id(name, "upl")}, {name for name in parts if is_id(name, "upl")}


class IncomingFile:
    """A file that is being written. `size_bytes` and `sha256` are of what has been written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = _unfinished(path)
        self._file = open(self._part, "xb", buffering=0, opener=private)  # noqa: SIM115 - closed by finish or discard
        self._digest = hashlib.sha256()
        # The task that writes may be cancelled while a thread still does so.
        self._writing = threading.Lock()
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def write(self, piece: bytes | bytearray) -> None:
        """Append a piece. Raises OSError."""
        with self._writing:
            rest = memoryview(piece)
            while rest:
                rest = rest[self._file.write(rest) :]
            self._digest.update(piece)
            self.size_bytes += len(piece)

    def finish(self) -> None:
        """Wait until the disk has all of it, name included. Raises OSError."""
        with self._writing, self._file:
            os.fsync(self._file.fileno())
            self._part.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def discard(self) -> None:
        """Close and remove it, whatever its state."""
        with self._writing:
            self._file.close()
            for path in (self._part, self._path):
                with suppress(FileNotFoundError):
                    path.unlink()


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + _PART)


async def write_all(file: IncomingFile, pieces: AsyncIterator[bytes], max_bytes: int) -> None:
    """Write what arrives to the file, a megabyte at a time, off the event loop.

    Raises PayloadTooLarge, BadRequest when the sender falls silent, InsufficientStorage, StorageError."""
    held = bytearray()
    size = 0
    try:
        async with asyncio.timeout(WHOLE_SECONDS):
            async for piece in _not_silent(pieces):
                size += len(piece)
                if size > max_bytes:
                    raise too_large(max_bytes)
                held += piece
                if len(held) >= PIECE_BYTES:
                    full, held = held, bytearray()
                    await asyncio.to_thread(file.write, full)
            await asyncio.to_thread(file.write, held)
            await asyncio.to_thread(file.finish)
    except TimeoutError:
        raise BadRequest(
            f"The file did not arrive: nothing came for {SILENCE_SECONDS:.0f} seconds, or all of it took "
            f"more than {WHOLE_SECONDS:.0f}. Send it again.",
            reason="upload_stalled",
        ) from None
    except OSError as problem:
        raise disk_problem(problem) from problem


async def _not_silent(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        async with asyncio.timeout(SILENCE_SECONDS):
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
        yield piece


def too_large(max_bytes: int) -> PayloadTooLarge:
    """Return the refusal of a file that is larger than `limits.max_upload_bytes`."""
    return PayloadTooLarge(
        f"The file is larger than {max_bytes} bytes; the operator may raise limits.max_upload_bytes.",
        reason="upload_too_large",
        details={"max_bytes": max_bytes},
    )


def disk_problem(problem: OSError) -> KagedError:
    """Return the error for a failure to write: a full disk, or another one."""
    if problem.errno in _FULL:
        return InsufficientStorage(
            "The disk of the daemon's data folder is full: nothing of the file was kept. Free space there, "
            "then send it again.",
            reason="disk_full",
        )
    said = problem.strerror or type(problem).__name__
    return StorageError(f"The file could not be written to the daemon's data folder: {said}.")
