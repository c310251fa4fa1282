"""The one file of a `multipart/form-data` body, handed on while it arrives.

Owns: finding the part, its name and its type. Never: keeping it; what has been parsed is passed on
before more of the body is read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from app.errors import BadRequest


def is_multipart(content_type: str) -> bool:
    """Tell whether a body of this type is a form with parts."""
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


class MultipartFile:
    """Reads a form with exactly one part, which is a file. `name` and `media_type` are those that the
    part declares; they are known once `pieces` has begun to yield, or has ended."""

    def __init__(self, content_type: str, body: AsyncIterator[bytes]) -> None:
        _, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if not boundary:
            raise _invalid("its Content-Type names no boundary")
        self.name = ""
        self.media_type = ""
        self._body = body
        self._parts = 0
        self._complete = False
        self._field, self._value = bytearray(), bytearray()
        self._found: list[bytes] = []
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_part,
                    "on_part_data": self._add_data,
                    "on_header_field": self._add_field,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise _invalid(str(error)) from None

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the file's content; raises BadRequest for a form that is broken or cut short, has no
        file, or has anything else in it."""
        async for piece in self._body:
            if not piece:
                continue
            try:
                self._parser.write(piece)
            except FormParserError as error:
                raise _invalid(str(error)) from None
            found, self._found = self._found, []
            for one in found:
                yield one
        if not self._complete:
            raise _invalid("it ends before its last boundary")
        if not self._parts:
            raise _invalid("it has no part")

    def _begin_part(self) -> None:
        self._parts += 1
        if self._parts > 1:
            raise _invalid("it has a second part; send one file, and its options in the query")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._found.append(data[start:end])

    def _add_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        field, value = bytes(self._field).lower(), bytes(self._value)
        self._field.clear()
        self._value.clear()
        if field == b"content-type":
            self.media_type = _text(value)
        if field == b"content-disposition":
            self.name = _text(parse_options_header(value)[1].get(b"filename", b""))

    def _end_headers(self) -> None:
        if not self.name:
            raise _invalid("its part has no `filename`; send one file, and its options in the query")

    def _end(self) -> None:
        self._complete = True


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _invalid(reason: str) -> BadRequest:
    return BadRequest(f"The form cannot be read: {reason}.", reason="multipart_invalid")
