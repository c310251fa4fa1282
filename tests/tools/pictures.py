"""Small image files of every kind, whole and valid."""

from __future__ import annotations

import base64
import struct
import zlib


def png(width: int, height: int) -> bytes:
    """A black picture in grey."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\0" * width) * height)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def jpeg(width: int, height: int) -> bytes:
    """The segments of a baseline JPEG, with a scan of nothing."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0"
    parts = [(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0"), (0xDB, b"\0" + bytes([1] * 64)), (0xC0, frame)]
    segments = b"".join(
        bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data for marker, data in parts
    )
    return b"\xff\xd8" + segments + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x3f\x10" + b"\xff\xd9"


GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
