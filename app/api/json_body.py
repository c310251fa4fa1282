"""Reading a JSON body strictly, with the position of what is wrong.

Owns: encoding, syntax, size, depth, key and NUL checks. Never: the meaning of fields (the schemas).
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from app.errors import BadRequest

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Objects, arrays and their items: a few megabytes of `{},{},{}` would need a gigabyte of memory."""
MAX_KEYS = 5_000
"""Of one object: each unknown key is a separate error, and ninety thousand of them take half a second."""
_SHOWN = 100
_QUICKLY_READ = 100_000
"""Characters that may be parsed again, slowly, to locate the error."""


def parse_json(body: bytes, what: str = "body") -> Any:
    """Return the JSON value in `body`. Raises `BadRequest` with the position of the error; `what` is the noun
    in its message."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"The {what} is not valid UTF-8: byte {error.start} cannot be decoded.",
            reason="invalid_utf8",
            details={"position": error.start},
        ) from None
    _check_count(body, what)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(
            f"The {what} is not valid JSON at line {error.lineno}, column {error.colno}.",
            reason="invalid_json",
            details={"position": error.pos, "line": error.lineno, "column": error.colno},
        ) from None
    keys = _check_size(value, what)
    if body.count(b":") > keys:
        _check_keys(text, keys, what)
    if b"\\u0000" in body:
        _check_nul(value, what)
    return value


def _check_count(body: bytes, what: str) -> None:
    """Refuse very many values by counting commas and brackets, before the parser blocks the event loop. The
    count is a lower bound."""
    if _separators(body) <= MAX_VALUES:
        return
    plain = _without_escapes(body)
    # A text has two quotation marks, and of a value and its key there are two texts.
    if plain.count(b'"') > 4 * MAX_VALUES or _separators(_without_texts(plain)) > MAX_VALUES:
        raise _too_many(what)


def _without_escapes(body: bytes) -> bytes:
    return body.replace(b"\\\\", b"").replace(b'\\"', b"")


def _without_texts(plain: bytes) -> bytes:
    return b"".join(plain.split(b'"')[::2])


def _check_keys(text: str, keys: int, what: str) -> None:
    """Refuse an object with a repeated key, because parsers differ in which value they take. Outside of
    strings each key has one colon, and the parser kept `keys` of them."""
    if _without_texts(_without_escapes(text.encode())).count(b":") == keys:
        return

    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadRequest(
                    f"An object in the {what} repeats the key {key[:_SHOWN]!r}.",
                    reason="duplicate_key",
                    details={"key": key[:_SHOWN]},
                )
            seen.add(key)

    if len(text) <= _QUICKLY_READ:
        json.loads(text, object_pairs_hook=unique)
    raise BadRequest(f"An object in the {what} repeats a key.", reason="duplicate_key")


def _separators(body: bytes) -> int:
    return max(body.count(b","), body.count(b"[") + body.count(b"{") - 1)


def _too_many(what: str) -> BadRequest:
    return BadRequest(f"The {what} has more than {MAX_VALUES} values.", reason="too_many_values")


def _check_size(value: Any, what: str) -> int:
    """Walk the value level by level, because deep nesting must not exhaust the stack. Return how many keys
    its objects have."""
    level = [value]
    seen = keys = 0
    for _ in range(MAX_DEPTH):
        seen += sum(len(item) for item in level if isinstance(item, dict | list))
        if seen > MAX_VALUES:
            raise _too_many(what)
        if any(isinstance(item, dict) and len(item) > MAX_KEYS for item in level):
            raise BadRequest(
                f"An object in the {what} has more than {MAX_KEYS} keys.", reason="too_many_keys"
            )
        keys += sum(len(item) for item in level if isinstance(item, dict))
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = [item for item in below if isinstance(item, dict | list)]
        if not level:
            return keys
    raise BadRequest(f"The {what} nests deeper than {MAX_DEPTH} levels.", reason="too_deep")


def _check_nul(value: Any, what: str, path: str = "") -> None:
    """Refuse NUL characters, which neither paths nor every database can store."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_nul(key, what, path)
            _check_nul(item, what, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_nul(item, what, f"{path}.{index}" if path else str(index))
    elif isinstance(value, str) and "\x00" in value:
        raise BadRequest(
            f"A string in the {what} contains a NUL character.",
            reason="nul_character",
            details={"field": path},
        )
