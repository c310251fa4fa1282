"""Examines an image file: its kind, its size in pixels, and whether it is complete.

Owns: reading the headers of PNG, JPEG, GIF and WebP. Never: decoding pixels. Providers refuse conversations
with a broken image.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Literal, get_args

MAX_BYTES = 3_750_000
"""Base64 makes five million characters of it, the most that providers take."""
MAX_SIDE = 8000
ImageType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
IMAGE_TYPES: frozenset[str] = frozenset(get_args(ImageType))
_SIZE_MARKERS = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


@dataclass(frozen=True, slots=True)
class Picture:
    """`problem` says why it cannot be shown; width and height are None when they are not known."""

    width: int | None = None
    height: int | None = None
    problem: str | None = None


class _Broken(Exception):
    pass


def examine(media_type: str, content: bytes) -> Picture:
    try:
        width, height = _READERS[media_type](content)
    except (_Broken, struct.error, IndexError):
        return Picture(problem="it is damaged or cut off")
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return Picture(width, height, f"it is larger than {MAX_SIDE} pixels on a side")
    return Picture(width, height)


def _png(content: bytes) -> tuple[int, int]:
    position, size = 8, None
    data = False
    view = memoryview(content)
    while True:
        length, kind = struct.unpack_from(">I4s", content, position)
        end = position + 12 + length
        if end > len(content):
            raise _Broken
        (check,) = struct.unpack_from(">I", content, end - 4)
        if zlib.crc32(view[position + 4 : end - 4]) != check:
            raise _Broken
        if size is None:
            if kind != b"IHDR":
                raise _Broken
            size = struct.unpack_from(">II", content, position + 8)
        data = data or kind == b"IDAT"
        if kind == b"IEND":
            break
        position = end
    if not data:
        raise _Broken
    return size[0], size[1]


def _jpeg(content: bytes) -> tuple[int, int]:
    position, size = 2, None
    while True:
        if content[position] != 0xFF:
            raise _Broken
        marker = content[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        if marker in {0x01, *range(0xD0, 0xD8)}:
            position += 2
            continue
        if marker == 0xDA:
            break
        (length,) = struct.unpack_from(">H", content, position + 2)
        if marker in _SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", content, position + 5)
            size = (width, height)
        position += 2 + length
    if size is None or content.find(b"\xff\xd9", position) < 0:
        raise _Broken
    return size


def _gif(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", content, 6)
    if not content.rstrip(b"\0").endswith(b";") or b"," not in content[13:]:
        raise _Broken
    return width, height


def _webp(content: bytes) -> tuple[int, int]:
    (length,) = struct.unpack_from("<I", content, 4)
    if length + 8 > len(content):
        raise _Broken
    kind = content[12:16]
    if kind == b"VP8 ":
        if content[23:26] != b"\x9d\x01\x2a":
            raise _Broken
        width, height = struct.unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return (
            int.from_bytes(content[24:27], "little") + 1,
            int.from_bytes(content[27:30], "little") + 1,
        )
    raise _Broken


_READERS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
