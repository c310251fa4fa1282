"""Lines of a text file, with the digest of the whole of it.

Owns: the one pass over a file's bytes (digest, encoding, count of lines, the window asked for), and
the short way for large files that were passed over before. Never: opening files.
"""

from __future__ import annotations

import codecs
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import xxhash

from app.errors import ToolError
from app.tools.file.lines import LineWindow
from app.tools.file.text_index import MAX_MARKS, KnownText, Marks, TextIndex, same_file_state
from app.tools.project_files.legacy_encoding import SAMPLED
from app.tools.project_files.media_type import signature_type
from app.tools.project_files.read_tracker import Digest
from app.tools.project_files.text_format import HEAD, UTF_8, TextFormat, guess_format, guess_legacy
from app.workspace import MAX_WHOLE_FILE, Opened

MAX_LINE_CHARACTERS = 2000
MAX_CONTENT_BYTES = 256 * 1024
MAX_SCANNED_BYTES = 1024 * 1024 * 1024
MAX_SCAN_SECONDS = 10.0
"""How far a file is looked through, for its lines and their number."""
MAX_UTF_16_BYTES = 64 * 1024 * 1024
CHUNK = 512 * 1024
TRUNCATED_LINE = " [truncated]"


class Stopped(Exception):
    """The call was cancelled while a long file was being read."""


@dataclass(frozen=True, slots=True)
class ScannedText:
    """`lines` are the lines asked for, without their ends; `text_format` is None for a binary file.
    `carriage_returns` counts the lines that ended in CR LF. `seen` is the number of bytes read of a file that
    was not read to its end: it has no digest and no number of lines."""

    digest: Digest | None
    text_format: TextFormat | None
    lines: tuple[str, ...] = ()
    total_lines: int = 0
    carriage_returns: int = 0
    seen: int | None = None

    def next_offset(self, offset: int) -> int | None:
        """Return the number of the line after those that begin at `offset`, None at the end."""
        after = offset + len(self.lines)
        if self.seen is not None:
            return after
        return after if after <= self.total_lines else None


def scan_text(
    opened: Opened, index: TextIndex, stop: threading.Event, *, offset: int, limit: int
) -> ScannedText:
    """Return up to `limit` lines from line `offset` on, counted from 1. Blocks. Raises ToolError
    `file_too_large`, and Stopped when `stop` is set."""
    known = index.get(opened.status)
    if known is not None:
        found = _from_known(opened, known, offset, limit)
        if found is not None:
            return found
    scan = _Scan(opened, _window(offset, limit))
    remember = index.is_settled(opened.status)
    end = time.monotonic() + MAX_SCAN_SECONDS
    seen = 0
    for chunk in read_chunks(opened, stop):
        scan.feed(chunk)
        seen += len(chunk)
        if scan.needs_no_more:
            return ScannedText(None, None)
        if (seen >= MAX_SCANNED_BYTES or time.monotonic() > end) and seen != opened.status.st_size:
            return scan.cut(seen, offset)
    found = scan.result()
    if remember and not scan.is_wide:
        index.put(opened.status, os.fstat(opened.descriptor), scan.known(found))
    return found


def read_chunks(opened: Opened, stop: threading.Event) -> Iterator[bytes]:
    """Yield the content up to the size it had when it was opened, so that a log that grows
    faster than it is read still ends. A size of 0 is not believed."""
    size = opened.status.st_size
    left = size if size > 0 else None
    os.lseek(opened.descriptor, 0, os.SEEK_SET)
    while chunk := os.read(opened.descriptor, CHUNK if left is None else min(CHUNK, left)):
        if stop.is_set():
            raise Stopped
        if left is not None:
            left -= len(chunk)
        yield chunk


def _window(offset: int, limit: int) -> LineWindow:
    return LineWindow(
        offset=offset,
        limit=limit,
        max_line_bytes=4 * (MAX_LINE_CHARACTERS + 1),
        max_bytes=MAX_CONTENT_BYTES,
    )


def _from_known(opened: Opened, known: KnownText, offset: int, limit: int) -> ScannedText | None:
    """Return the lines from the nearest mark on; None when the file changed meanwhile after all."""
    if known.text_format is None:
        return ScannedText(known.digest, None)
    if offset > known.total_lines:
        return ScannedText(known.digest, known.text_format, total_lines=known.total_lines)
    position, ended = known.marks.before(offset - 1)
    window = _window(offset - ended, limit)
    size = opened.status.st_size
    while position < size and not window.full:
        chunk = os.pread(opened.descriptor, min(CHUNK, size - position), position)
        if not chunk:
            return None
        window.feed(chunk)
        position += len(chunk)
    if not window.full:
        window.finish()
    if not same_file_state(os.fstat(opened.descriptor), opened.status):
        return None
    return _decoded(window, known.digest, known.text_format, known.total_lines)


class _Scan:
    """One pass over a file: its digest, its encoding, and the window of lines."""

    def __init__(self, opened: Opened, window: LineWindow) -> None:
        self._opened = opened
        self._window = window
        self._hash = xxhash.xxh3_128()
        self._head: bytes | None = None
        self._format: TextFormat | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        self._wide: list[bytes] = []
        self._marks = Marks()
        self._spacing = max(CHUNK, opened.status.st_size // MAX_MARKS)
        self._position = 0

    @property
    def is_wide(self) -> bool:
        return bool(self._wide)

    @property
    def needs_no_more(self) -> bool:
        """Whether it is a binary file that no tool would write, for which its digest would be needed."""
        too_large = self._opened.status.st_size > MAX_WHOLE_FILE
        return too_large and self._head is not None and self._format is None

    def cut(self, seen: int, offset: int) -> ScannedText:
        """Return the lines that were whole after `seen` bytes. Raises ToolError `file_too_large` when
        there are none."""
        assert self._format is not None or self._wide or self._head is not None
        if self._format is None:
            return ScannedText(None, None)
        if not self._window.lines or self._wide:
            raise ToolError(
                "file_too_large",
                f"{self._opened.location.shown}: line {offset} is not among the first {seen // 2**20:,} MB, "
                "which is as far as this file is looked through. search.grep finds lines by their text; a "
                "command such as `tail` or `sed` gets at its end.",
            )
        return replace(_decoded(self._window, None, self._format, 0), seen=seen)

    def feed(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        if self._head is None:
            self._head = chunk[:HEAD]
            self._format = None if signature_type(self._head) else guess_format(self._head)
            if self._format is not None:
                chunk = chunk[len(self._format.mark) :]
                self._position = len(self._format.mark)
        if self._format is None:
            return
        if self._format.is_wide:
            self._hold_wide(chunk)
            return
        self._confirm(chunk)
        self._mark()
        self._window.feed(chunk)
        self._position += len(chunk)

    def _mark(self) -> None:
        known = self._marks.positions
        if not known or self._position - known[-1] >= self._spacing:
            self._marks.add(self._position, self._window.ended)

    def _hold_wide(self, chunk: bytes) -> None:
        if self._opened.status.st_size > MAX_UTF_16_BYTES:
            raise ToolError("file_too_large", f"{self._opened.location.shown}: too large for a UTF-16 file")
        self._wide.append(chunk)

    def _confirm(self, chunk: bytes, *, final: bool = False) -> None:
        """Go on checking that the content is UTF-8; once it is not, it is older or binary."""
        assert self._format is not None
        if self._format.encoding != "utf-8" or (self._decoder is None and chunk.isascii()):
            return
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self._format = guess_legacy(os.pread(self._opened.descriptor, SAMPLED, 0))

    def result(self) -> ScannedText:
        if self._head is None:
            self._format = UTF_8
        if self._format is not None and self._wide:
            self._unpack_wide()
        if self._format is not None and self._decoder is not None:
            self._confirm(b"", final=True)
        digest = self._hash.digest()
        if self._format is None:
            return ScannedText(digest, None)
        self._window.finish()
        return _decoded(self._window, digest, self._format, self._window.total)

    def known(self, found: ScannedText) -> KnownText:
        return KnownText(self._hash.digest(), found.text_format, found.total_lines, self._marks)

    def _unpack_wide(self) -> None:
        assert self._format is not None
        try:
            text = b"".join(self._wide).decode(self._format.codec, "surrogatepass")
        except UnicodeDecodeError:
            self._format = None
            return
        self._window.feed(text.encode("utf-8", "replace"))


def _decoded(window: LineWindow, digest: Digest | None, text_format: TextFormat, total: int) -> ScannedText:
    codec = text_format.codec if text_format.is_guessed else "utf-8"
    return ScannedText(
        digest=digest,
        text_format=text_format,
        lines=tuple(shown_line(line.decode(codec, "replace")) for line in window.lines),
        total_lines=total,
        carriage_returns=sum(1 for line in window.lines if line.endswith(b"\r")),
    )


def shown_line(text: str) -> str:
    """Return a line as answers show it: without CR, cut where it is long."""
    text = text.removesuffix("\r")
    return text if len(text) <= MAX_LINE_CHARACTERS else text[:MAX_LINE_CHARACTERS] + TRUNCATED_LINE
