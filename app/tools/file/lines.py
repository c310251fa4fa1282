"""A window of lines out of a stream of bytes of any length.

Owns: `LineWindow`, which keeps the lines asked for and counts all. Never: decoding.
"""

from __future__ import annotations


class LineWindow:
    """Lines end at LF; bytes of a line beyond `max_line_bytes` are dropped. After `finish`, `lines` holds the
    window and `total` the number of all lines."""

    def __init__(self, *, offset: int, limit: int, max_line_bytes: int, max_bytes: int) -> None:
        """`offset` counts from 1. The window also ends when it holds `max_bytes`."""
        self.lines: list[bytes] = []
        self.total = 0
        self._start = offset - 1
        self._limit = min(limit, max_bytes + 1)  # each line takes at least one byte
        self._max_line_bytes = max_line_bytes
        self._room = max_bytes
        self._ended = 0  # lines that have ended so far
        self._unfinished = False
        self._partial = b""

    @property
    def ended(self) -> int:
        """How many lines have ended in what was fed so far."""
        return self._ended

    def feed(self, chunk: bytes) -> None:
        if not chunk:
            return
        ended = chunk.count(b"\n")
        before = self._ended
        self._ended += ended
        self._unfinished = not chunk.endswith(b"\n")
        if self._full() or self._ended < self._start:
            return
        if before < self._start:
            chunk = chunk.split(b"\n", self._start - before)[-1]
        pieces = chunk.split(b"\n", self._limit - len(self.lines))
        for piece in pieces[:-1]:
            self._take(piece)
            if self._full():
                return
        self._hold(pieces[-1])

    @property
    def full(self) -> bool:
        """Whether nothing that follows can change the window's lines."""
        return self._full()

    def finish(self) -> None:
        self.total = self._ended + (1 if self._unfinished else 0)
        if self._unfinished and not self._full() and self._ended >= self._start:
            self._take(b"")

    def _full(self) -> bool:
        return len(self.lines) >= self._limit or self._room <= 0

    def _hold(self, piece: bytes) -> None:
        room = self._max_line_bytes - len(self._partial)
        if room > 0:
            self._partial += piece[:room]

    def _take(self, piece: bytes) -> None:
        self._hold(piece)
        self._room -= len(self._partial) + 1
        self.lines.append(self._partial)
        self._partial = b""
