"""How a changed file is addressed in JSON and in URLs.

Owns: the text for a name, also for one that is not UTF-8 or has control characters, and back. Never:
opening files.
"""

from __future__ import annotations

import base64
import binascii
import re

from app.errors import ValidationFailed

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
PREFIX = "~bytes:"
"""A path of the project never begins with `~`: such a name is written with `./` before it."""


def address_of(name: bytes) -> str:
    """Return the address of a file: its path, or `~bytes:` and its bytes in URL-safe base64 when these are no
    UTF-8, or when it has control characters."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        text = PREFIX
    if text.startswith(PREFIX) or _CONTROL.search(text) is not None:
        return PREFIX + base64.urlsafe_b64encode(name).rstrip(b"=").decode()
    return text


def name_at(address: str) -> bytes:
    """Return the name of a file by its address. Raises `ValidationFailed`."""
    try:
        if not address.startswith(PREFIX):
            return address.encode("utf-8")
        coded = address.removeprefix(PREFIX)
        return base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise ValidationFailed(
            "the path is not valid",
            fields={"path": "is no path of this list: take one as `GET .../changes` shows it"},
        ) from None
