"""Messages on a byte stream, each behind a header that says how long it is.

Owns: reading and writing that framing (`Content-Length: N`, an empty line, N bytes), as language
servers and debug adapters use it. Never: what the messages say.
"""

from __future__ import annotations

import asyncio

MAX_BODY = 64 * 1024 * 1024
MAX_HEADER_LINES = 32
_MAX_DIGITS = 12


class FramingError(Exception):
    """What came is no frame; where the next one begins cannot be known. The text says why."""


def frame(body: bytes) -> bytes:
    """Return the body behind its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """Reads frames from a stream, of bodies up to `max_body` bytes."""

    def __init__(self, stream: asyncio.StreamReader, *, max_body: int = MAX_BODY) -> None:
        self._stream = stream
        self._max_body = max_body

    async def read(self) -> bytes | None:
        """Return the next body, None at the end of the stream.

        Raises FramingError for what is no frame, for one that is cut off by the end of the stream,
        and for a body that is too long. Nothing can be read after that.
        """
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
