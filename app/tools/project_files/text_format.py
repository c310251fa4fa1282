"""Encodings of text files.

Owns: detection (UTF-8, UTF-16 by its mark, older ones, Latin-1 last), and conversion to UTF-8 and back.
Never: line numbers.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from app.errors import ToolError
from app.tools.project_files.legacy_encoding import CODECS, SAMPLED, legacy_encoding

HEAD = 8192
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b")
_MAX_CONTROL_SHARE = 0.02
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TextFormat:
    """An encoding, and the byte order mark that the file starts with. `encoding` is `utf-8`, `utf-16-le`,
    `utf-16-be`, `latin-1` or a key of `CODECS`."""

    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def name(self) -> str:
        return "utf-8-bom" if self.encoding == "utf-8" and self.mark else self.encoding

    @property
    def codec(self) -> str:
        """The name that Python knows it by."""
        return CODECS.get(self.encoding, self.encoding)

    @property
    def is_wide(self) -> bool:
        return self.encoding in {"utf-16-le", "utf-16-be"}

    @property
    def is_guessed(self) -> bool:
        """Whether nothing but the looks of the text speaks for this encoding."""
        return self.encoding == "latin-1" or self.encoding in CODECS


UTF_8 = TextFormat()
LATIN_1 = TextFormat("latin-1")
_MARKS = (
    TextFormat("utf-8", codecs.BOM_UTF8),
    TextFormat("utf-16-le", codecs.BOM_UTF16_LE),
    TextFormat("utf-16-be", codecs.BOM_UTF16_BE),
)


def guess_format(head: bytes) -> TextFormat | None:
    """Return the format by a file's first `HEAD` bytes; None for a binary file. UTF-8 without a mark is a
    guess that the whole content must confirm."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return None
    for marked in _MARKS:
        if head.startswith(marked.mark):
            return marked
    return None if b"\0" in head else UTF_8


def looks_binary(head: bytes) -> bool:
    """Tell whether bytes that are not UTF-8 hold too many control characters for Latin-1 text."""
    controls = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    return controls > len(head) * _MAX_CONTROL_SHARE


def guess_legacy(head: bytes) -> TextFormat | None:
    """Return the format of a file that is not Unicode, by its first `SAMPLED` bytes; None for a
    binary one."""
    return None if looks_binary(head[:HEAD]) else TextFormat(legacy_encoding(head))


def to_utf8(content: bytes) -> tuple[bytes, TextFormat] | None:
    """Return the content as UTF-8 without its mark, and its format; None for a binary file."""
    found = guess_format(content[:HEAD])
    if found is None:
        return None
    body = content[len(found.mark) :]
    if found.is_wide:
        try:
            return body.decode(found.encoding, "surrogatepass").encode("utf-8", "surrogatepass"), found
        except UnicodeDecodeError:
            return None
    if is_utf8(body):
        return body, found
    found = guess_legacy(content[:SAMPLED])
    return None if found is None else _from_legacy(content, found)


def text_of(content: bytes) -> str | None:
    """Return the text of a file's content, without its mark; None for a binary file. Half a surrogate
    pair, which no message can carry, is shown as one replacement character."""
    found = to_utf8(content)
    if found is None:
        return None
    try:
        return found[0].decode("utf-8")
    except UnicodeDecodeError:
        return _HALF_PAIR.sub("\ufffd", found[0].decode("utf-8", "surrogatepass"))


def _from_legacy(content: bytes, found: TextFormat) -> tuple[bytes, TextFormat]:
    """Decode the content; as Latin-1 unless every byte of it comes back from the encoding."""
    if found != LATIN_1:
        try:
            text = content.decode(found.codec)
            if text.encode(found.codec) == content:
                return text.encode("utf-8"), found
        except UnicodeError:
            pass
    return content.decode("latin-1").encode("utf-8"), LATIN_1


def from_utf8(body: bytes, wanted: TextFormat) -> bytes:
    """Return the UTF-8 bytes `body` in the format `wanted`, with its mark. Raises ToolError
    `encoding_mismatch` when the format lacks a character."""
    if wanted.encoding == "utf-8":
        return wanted.mark + body
    text = body.decode("utf-8", "surrogatepass")
    try:
        if wanted.is_guessed:
            return text.encode(wanted.codec)
        return wanted.mark + text.encode(wanted.encoding, "surrogatepass")
    except UnicodeEncodeError as problem:
        character = text[problem.start]
        raise ToolError(
            "encoding_mismatch",
            f"the file is {wanted.name}, which has no {character!r} (U+{ord(character):04X}); "
            "use other characters",
            detail={"encoding": wanted.name, "character": character},
        ) from None


def is_utf8(content: bytes) -> bool:
    if content.isascii():
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
