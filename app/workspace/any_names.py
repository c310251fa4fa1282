"""Paths whose names are any bytes: as text for people, and as an address that leads back to the bytes.

Owns: these two forms, in JSON, in URLs and in what is stored. Never: which paths are allowed (`paths`).
Inside, bytes that are not UTF-8 are surrogates, as of `os.fsdecode`.
"""

from __future__ import annotations

import base64
import binascii
import os
import re

from app.errors import ValidationFailed

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
PREFIX = "~bytes:"
"""A path of the project never begins with `~`: such a name is written with `./` before it."""


def shown(path: str) -> str:
    """Return a path as text for people; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def address_of(path: str | bytes) -> str:
    """Return the address of a file: its path, or `~bytes:` and its bytes in URL-safe base64 when these are no
    UTF-8, or when it has control characters."""
    name = os.fsencode(path)
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        text = PREFIX
    if text.startswith(PREFIX) or _CONTROL.search(text) is not None:
        return PREFIX + base64.urlsafe_b64encode(name).rstrip(b"=").decode()
    return text


def name_at(address: str) -> bytes:
    """Return the bytes of a file's path by its address. Raises `ValidationFailed`."""
    try:
        if not address.startswith(PREFIX):
            return address.encode("utf-8")
        coded = address.removeprefix(PREFIX)
        return base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise ValidationFailed(
            "the path is not valid",
            fields={"path": "is no address of a file: take the `path` that a list of files shows"},
        ) from None


def path_at(address: str) -> str:
    """Return a file's path by its address. Raises `ValidationFailed`."""
    return os.fsdecode(name_at(address))
