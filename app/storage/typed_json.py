"""The column type for JSON values. They are stored as plain text: PostgreSQL's JSON types refuse an escaped
NUL and do not keep the order of keys.

Owns: the conversion to text and back. Never: what the value means.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

from app.storage.text import REPLACEMENT, storable

_LARGEST_INTEGER = 2**64 - 1
_SMALLEST_INTEGER = -(2**63)


class Json(TypeDecorator[Any]):
    """A JSON value in a text column.

    What goes in comes out equal, except what JSON cannot hold: integers beyond 64 bits become
    floats, numbers that are not finite become null, keys become texts, lone surrogates U+FFFD.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if value is None:
            return None
        try:
            return orjson.dumps(value).decode()
        except TypeError:
            return orjson.dumps(_plain(value)).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


def _plain(value: Any) -> Any:
    """Return a copy that the encoder takes; called only when it refused the value itself."""
    match value:
        case str():
            # orjson escapes NUL, so that only surrogates need to go.
            return _without_surrogates(value)
        case bool():
            return value
        case int() if not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
            return _nearest_float(value)
        case dict():
            return {_without_surrogates(_key(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _without_surrogates(text: str) -> str:
    return "\0".join(storable(part) for part in text.split("\0"))


def _nearest_float(number: int) -> float | str:
    try:
        return float(number)
    except OverflowError:
        return str(number) if number.bit_length() < 4096 else REPLACEMENT


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    return orjson.dumps(key).decode() if key is None or isinstance(key, bool) else str(key)
