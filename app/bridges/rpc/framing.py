"""Messages on a byte stream, each after a header with its length, or each on a line.

Owns: both framings: `Content-Length` (language servers, debug adapters) and lines (plugins). Never: the
messages.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

MAX_BODY = 64 * 1024 * 1024
MAX_HEADER_LINES = 32
MAX_EMPTY_LINES = 1_000
"""How many empty lines may come one after the other."""
_MAX_DIGITS = 12
_CHUNK = 64 * 1024


class FramingError(Exception):
    """What came is no frame; where the next one begins cannot be known. The text says why."""


class Frames(Protocol):
    async def read(self) -> bytes | None:
        """Return the next message, None at the end of the stream. Raises FramingError."""


class Framing(Protocol):
    """How messages stand on a stream."""

    def frame(self, body: bytes) -> bytes:
        """Return the bytes that are sent for a message."""

    def reader(self, stream: asyncio.StreamReader) -> Frames:
        """Return a reader of the stream's messages."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Headers:
    """The framing by headers, of bodies up to `MAX_BODY` bytes."""

    def frame(self, body: bytes) -> bytes:
        return frame(body)

    def reader(self, stream: asyncio.StreamReader) -> Frames:
        return FrameReader(stream)


class Lines:
    """The framing by lines, of up to `max_line` bytes. A body has no line end in it, as JSON has none."""

    def __init__(self, max_line: int) -> None:
        self._max_line = max_line

    def frame(self, body: bytes) -> bytes:
        return body + b"\n"

    def reader(self, stream: asyncio.StreamReader) -> Frames:
        return LineReader(stream, max_line=self._max_line)


class LineReader:
    """Reads lines from a stream, of up to `max_line` bytes each. Some empty ones are passed over."""

    def __init__(self, stream: asyncio.StreamReader, *, max_line: int) -> None:
        self._stream = stream
        self._max_line = max_line
        self._buffer = bytearray()
        self._begin = 0
        self._searched = 0
        self._empty = 0

    async def read(self) -> bytes | None:
        """Return the next message; None at the end of the stream. Raises FramingError for one that is
        malformed, too long or cut off; nothing can be read after that."""
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end - self._begin > self._max_line or (
                end < 0 and len(self._buffer) - self._begin > self._max_line
            ):
                raise FramingError(f"a line is longer than the {self._max_line} bytes allowed")
            if end >= 0:
                line = bytes(self._buffer[self._begin : end]).strip()
                self._begin = self._searched = end + 1
                if line:
                    self._empty = 0
                    return line
                self._empty += 1
                if self._empty > MAX_EMPTY_LINES:
                    raise FramingError("nothing but empty lines comes")
                continue
            del self._buffer[: self._begin]
            self._begin, self._searched = 0, len(self._buffer)
            chunk = await self._stream.read(_CHUNK)
            if not chunk:
                if self._buffer.strip():
                    raise FramingError("the stream ended within a line")
                return None
            self._buffer += chunk


class FrameReader:
    """Reads frames from a stream, of bodies up to `max_body` bytes."""

    def __init__(self, stream: asyncio.StreamReader, *, max_body: int = MAX_BODY) -> None:
        self._stream = stream
        self._max_body = max_body

    async def read(self) -> bytes | None:
        """Return the next message; None at the end of the stream. Raises FramingError for one that is
        malformed, too long or cut off; nothing can be read after that."""
        length: int | None = None
        for number in range(MAX_HEADER_LINES):
            line = await self._line()
            if not line:
                if number:
                    raise FramingError("the stream ended within a header")
                return None
            text = line.rstrip(b"\r\n")
            if not text:
                return await self._body(length)
            length = self._length(text, length)
        raise FramingError("a header has too many lines")

    async def _line(self) -> bytes:
        try:
            line = await self._stream.readline()
        except ValueError:
            raise FramingError("a line of a header is too long") from None
        if line and not line.endswith(b"\n"):
            raise FramingError("the stream ended within a header")
        return line

    def _length(self, line: bytes, before: int | None) -> int | None:
        """Return the length that the lines of a header say up to this one."""
        name, colon, value = line.partition(b":")
        if not colon or not name or b" " in name.strip():
            raise FramingError("something else came where a header begins")
        if name.strip().lower() != b"content-length":
            return before
        digits = value.strip()
        if not digits.isdigit() or len(digits) > _MAX_DIGITS:
            raise FramingError("a Content-Length is no number")
        length = int(digits)
        if before is not None and before != length:
            raise FramingError("a header has two lengths")
        if length > self._max_body:
            raise FramingError(f"a message of {length} bytes is longer than the {self._max_body} allowed")
        return length

    async def _body(self, length: int | None) -> bytes:
        if length is None:
            raise FramingError("a header has no Content-Length")
        try:
            return await self._stream.readexactly(length)
        except asyncio.IncompleteReadError:
            raise FramingError("the stream ended within a message") from None
