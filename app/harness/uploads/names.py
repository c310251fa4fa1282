"""What a file that somebody hands in may be called.

Owns: making a sender's name safe, and telling files of one name apart. Never: the disk.
"""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import Collection

MAX_NAME_BYTES = 200
"""File systems allow 255. The rest is room for a number that distinguishes files of one name."""

UNNAMED = "file"
UNKNOWN_TYPE = "application/octet-stream"

_MAX_SUFFIX_CHARACTERS = 20
_NOT_PORTABLE = re.compile(r'[<>:"|?*]')
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_SAYS_NOTHING = ("", UNKNOWN_TYPE, "application/x-www-form-urlencoded", "multipart/form-data")
"""Types that clients send without having looked at the file."""


def safe_name(given: str) -> str:
    """Return a file name for what a sender called the file; never empty, never hidden, no folders.

    It has no control or format characters, at most 200 bytes in UTF-8, and keeps its suffix. It
    does not begin with `-`, which a command would take for an option."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    kept = "".join(" " if one.isspace() else one for one in last if one.isspace() or _is_visible(one))
    name = _NOT_PORTABLE.sub("_", " ".join(kept.split())).lstrip(". ").rstrip(". ")
    if name.startswith("-"):
        name = "_" + name[1:]
    return _shortened(name, MAX_NAME_BYTES) or UNNAMED


def distinct_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or `stem-2.suffix` and so on, so that no name in `taken` equals it.

    Upper and lower case are the same, as they are on some file systems."""
    used = {one.casefold() for one in taken}
    stem, suffix = _parts(name)
    number = 1
    while name.casefold() in used:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def media_type_of(declared: str, name: str) -> str:
    """Return the media type that a sender declared, where it is one and says something; else the
    type of its name."""
    plain = declared.partition(";")[0].strip().lower()
    if plain not in _SAYS_NOTHING and _MEDIA_TYPE.fullmatch(plain):
        return plain
    return mimetypes.guess_type(name, strict=False)[0] or UNKNOWN_TYPE


def _is_visible(character: str) -> bool:
    """Neither a control, format, surrogate or unassigned character nor a line separator."""
    category = unicodedata.category(character)
    return category[0] != "C" and category not in ("Zl", "Zp")


def _parts(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    if not stem or len(suffix) > _MAX_SUFFIX_CHARACTERS or " " in suffix:
        return name, ""
    return stem, dot + suffix


def _shortened(name: str, limit: int) -> str:
    if len(name.encode()) <= limit:
        return name
    stem, suffix = _parts(name)
    room = limit - len(suffix.encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + suffix
