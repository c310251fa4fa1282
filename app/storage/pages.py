"""Pages of lists. A cursor holds the sort key of the last row, so that it stays right while rows are added.

Owns: the shape of a page and of its cursor. Never: a query.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from app.errors import ValidationFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page; `next_cursor` is None on the last one, `total` counts all rows of the filter."""

    items: list[T]
    next_cursor: str | None
    total: int


def encode_cursor(kind: str, key: Sequence[Any]) -> str:
    """Return the opaque text for a sort key of one kind of list."""
    return base64.urlsafe_b64encode(orjson.dumps([kind, *key])).rstrip(b"=").decode()


def decode_cursor(cursor: str, kind: str, types: Sequence[type]) -> list[Any]:
    """Return the sort key inside `cursor`; ValidationFailed when it is not one of this list."""
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        found = orjson.loads(raw)
    except (ValueError, binascii.Error):
        found = None
    if (
        not isinstance(found, list)
        or len(found) != len(types) + 1
        or found[0] != kind
        or any(type(value) is not expected for value, expected in zip(found[1:], types, strict=True))
        or any(isinstance(value, int) and abs(value) >= 2**63 for value in found[1:])
    ):
        raise ValidationFailed(
            "the cursor is not valid", fields={"cursor": "is not a cursor of this list; omit it to start"}
        )
    return found[1:]
