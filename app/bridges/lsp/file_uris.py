"""File URIs, as language servers name files.

Owns: the way from a URI to a path and back. Never: whether the path may be used.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

_MAX_URI = 16_384
_MAX_REMEMBERED = 1_024
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class ForeignUri(Exception):
    """The URI names no file of this machine."""


def uri_to_path(uri: Any) -> Path:
    """Return the absolute path that a file URI names, its escapes resolved.

    Other schemes and hosts, queries, fragments and relative paths raise ForeignUri. A path that
    begins like a Windows drive (`/c:/x`) is nothing special here. `..` stays: what the path may
    reach is for the workspace to say.
    """
    if not isinstance(uri, str):
        raise ForeignUri("a URI is missing")
    return _known_path(uri) if len(uri) <= _MAX_REMEMBERED else _path(uri)


def _path(uri: str) -> Path:
    shown = uri[:200]
    scheme = _SCHEME.match(uri)
    if len(uri) > _MAX_URI or scheme is None or scheme.group().lower() != "file:":
        raise ForeignUri(f"not a file of this machine: {shown!r}")
    rest = uri[scheme.end() :]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in {"", "localhost"}:
            raise ForeignUri(f"a file of another machine: {shown!r}")
        rest = slash + path
    if not rest.startswith("/") or rest.startswith("//"):
        raise ForeignUri(f"not an absolute path: {shown!r}")
    if "?" in rest or "#" in rest or _ESCAPE.search(rest):
        raise ForeignUri(f"not a plain file URI: {shown!r}")
    try:
        name = unquote_to_bytes(rest)
    except UnicodeEncodeError:
        raise ForeignUri(f"not a plain file URI: {shown!r}") from None
    if b"\0" in name:
        raise ForeignUri(f"a NUL in a path: {shown!r}")
    return Path(os.fsdecode(name))


_known_path = lru_cache(maxsize=4096)(_path)
"""Answers name the same files over and over."""


def path_to_uri(path: Path) -> str:
    """Return the file URI of an absolute path; bytes that are no UTF-8 are escaped as they are.

    Raises ValueError for a relative path."""
    if not path.is_absolute():
        raise ValueError(f"not an absolute path: {path}")
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/")
