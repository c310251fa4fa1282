"""The output of a command, bounded: the beginning, the end, and a file with more.

Owns: the memory it takes, its overflow file, what was not shown live yet. Never: reading the terminal.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from app.bridges.pty.plain_text import PlainText

MAX_KEPT = 1024 * 1024
MAX_RECENT = 64 * 1024
MAX_FILE = 64 * 1024 * 1024
MAX_LIVE = 16 * 1024
WRITE_BYTES = 256 * 1024
MAX_WAITING = 2 * MAX_KEPT

OpenFile = Callable[[], BinaryIO]
"""Makes the file for output beyond what is kept; its `name` is its path. Blocks."""


class Output:
    """`due`: the file should be written to; `over`: nothing more is kept."""

    def __init__(self, open_file: OpenFile) -> None:
        self.truncated = False
        self.path: Path | None = None
        self.news = asyncio.Event()
        """Set when there is something for `take_live`."""
        self._plain = PlainText()
        self._kept = bytearray()
        self._recent = bytearray()
        self._total = 0
        self._file: BinaryIO | None = None
        self._open_file = open_file
        self._waiting = bytearray()
        self._filed = 0
        self._live = bytearray()
        self._live_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._writing = asyncio.Lock()
        self._called = True

    @property
    def due(self) -> bool:
        return len(self._waiting) >= WRITE_BYTES

    @property
    def behind(self) -> bool:
        """Whether so many bytes wait for the file that reading should pause."""
        return len(self._waiting) >= MAX_WAITING

    @property
    def over(self) -> bool:
        return self._filed >= MAX_FILE

    @property
    def position(self) -> int:
        """How many bytes of plain text there have been, for `since`."""
        return self._total

    def add(self, content: bytes) -> None:
        """Add output of the terminal."""
        self._keep(self._plain.feed(content))
        if self._called:
            self._live += content
            if len(self._live) > MAX_LIVE:
                _cut_front(self._live, MAX_LIVE)
            self.news.set()

    def take_live(self) -> str:
        """Return what came since the last time, as the terminal got it; of much only the end."""
        self.news.clear()
        text = self._live_decoder.decode(bytes(self._live))
        self._live.clear()
        return text

    def finish(self) -> None:
        """Take the last line, which has no end."""
        self._keep(self._plain.finish())

    def text(self) -> str:
        """Return the beginning of the output, up to `MAX_KEPT` bytes of plain text; of output that is not
        truncated, bytes that are no text count as one each."""
        if self.truncated:
            return _within(codecs.utf_8_decode(self._kept, "replace", False)[0], MAX_KEPT)
        return (self._kept + self._plain.unfinished()[:MAX_KEPT]).decode("utf-8", "replace")

    def release(self) -> None:
        """Keep the end only from now on: nobody will ask for the beginning or the live text."""
        self._called = False
        self._kept.clear()
        self._live.clear()

    def since(self, position: int) -> tuple[str, int, int]:
        """Return the plain text from `position` on, the position after it, and how many bytes of
        it are no longer there. The unfinished last line is included, and comes again."""
        first = self._total - len(self._recent)
        start = max(position, first)
        text = bytes(self._recent[start - first :]) + self._plain.unfinished()
        return text.decode("utf-8", "replace"), self._total, max(0, first - position)

    @property
    def has_file(self) -> bool:
        return bool(self._file or self._waiting)

    async def write(self) -> None:
        """Write the waiting output to the file. A file that cannot be written is given up."""
        async with self._writing:
            content, self._waiting = self._waiting, bytearray()
            if content and not self.over:
                self._filed += len(content)
                await asyncio.to_thread(self._write, content)

    async def close(self) -> None:
        """Write what is left and close the file; nothing more is written afterwards."""
        if not self.has_file:
            return
        await self.write()
        self._filed = MAX_FILE
        if self._file is not None:
            file, self._file = self._file, None
            await asyncio.to_thread(file.close)

    def _keep(self, plain: bytes) -> None:
        if not plain:
            return
        self._total += len(plain)
        self._recent += plain
        if len(self._recent) > 2 * MAX_RECENT:
            del self._recent[:-MAX_RECENT]
        if not self._called:
            return
        room = MAX_KEPT - len(self._kept)
        if not self.truncated and len(plain) > room:
            self.truncated = True
            self._waiting += self._kept
            self._waiting += plain
            self._kept += plain[:room]
        elif self.truncated:
            if not self.over:
                self._waiting += plain
        else:
            self._kept += plain

    def _write(self, content: bytearray) -> None:
        try:
            if self._file is None:
                self._file = self._open_file()
                self.path = Path(self._file.name)
            self._file.write(content)
        except OSError:
            self._filed = MAX_FILE


def _cut_front(buffer: bytearray, limit: int) -> None:
    """Drop the beginning, at the start of a line when one is near."""
    del buffer[:-limit]
    line = buffer.find(b"\n", 0, 1024)
    if line >= 0:
        del buffer[: line + 1]


def _within(text: str, limit: int) -> str:
    """Return the part of a text that fits into so many bytes; an invalid byte takes three."""
    if text.isascii():
        return text
    return text.encode("utf-8")[:limit].decode("utf-8", "ignore")
