"""The media type of a binary file, by its first bytes or else by its name."""

from __future__ import annotations

import mimetypes

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"(\xb5/\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)


def signature_type(head: bytes) -> str | None:
    """Return the type that the first bytes prove, or None."""
    for signature, media_type in _SIGNATURES:
        if head.startswith(signature):
            return media_type
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def media_type_of(name: str, head: bytes) -> str:
    """Return the media type of a binary file; `application/octet-stream` when unknown."""
    proven = signature_type(head)
    if proven is not None and proven != "application/zip":
        return proven
    return mimetypes.guess_type(name)[0] or proven or "application/octet-stream"
