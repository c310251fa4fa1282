"""Reading a JSON body strictly, with the position of what is wrong.

Owns: encoding, syntax, size, depth and NUL checks. Never: the meaning of fields (the schemas).
"""

from __future__ import annotations

from typing import Any

import orjson

from app.errors import BadRequest

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Objects, arrays and what they hold: a few megabytes of `{},{},{}` would cost a gigabyte."""
MAX_KEYS = 5_000
"""Of one object: each that nobody knows is an error of its own, and ninety thousand take half a second."""


def parse_json(body: bytes, what: str = "body") -> Any:
    """Return the JSON value in `body`; raise `BadRequest` that says what is wrong and where. `what` is the
    word for it, in sentences."""
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
    _check_size(value, what)
    if b"\\u0000" in body:
        _check_nul(value, what)
    return value


def _check_count(body: bytes, what: str) -> None:
    """Refuse very many values by their commas and brackets: the parser would hold everybody up while it
    makes them. What is refused here has too many for certain, if it is JSON at all."""
    if _separators(body) <= MAX_VALUES:
        return
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A text has two quotation marks, and of a value and its key there are two texts.
    if plain.count(b'"') > 4 * MAX_VALUES or _separators(b"".join(plain.split(b'"')[::2])) > MAX_VALUES:
        raise _too_many(what)


def _separators(body: bytes) -> int:
    return max(body.count(b","), body.count(b"[") + body.count(b"{") - 1)


def _too_many(what: str) -> BadRequest:
    return BadRequest(f"The {what} has more than {MAX_VALUES} values.", reason="too_many_values")


def _check_size(value: Any, what: str) -> None:
    """Walk the value level by level; a body that nests deeply must not cost the stack."""
    level = [value]
    seen = 0
    for _ in range(MAX_DEPTH):
        seen += sum(len(item) for item in level if isinstance(item, dict | list))
        if seen > MAX_VALUES:
            raise _too_many(what)
        if any(isinstance(item, dict) and len(item) > MAX_KEYS for item in level):
            raise BadRequest(
                f"An object in the {what} has more than {MAX_KEYS} keys.", reason="too_many_keys"
            )
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = [item for item in below if isinstance(item, dict | list)]
        if not level:
            return
    raise BadRequest(f"The {what} nests deeper than {MAX_DEPTH} levels.", reason="too_deep")


def _check_nul(value: Any, what: str, path: str = "") -> None:
    """Refuse NUL characters, which neither paths nor every database can hold, and say where."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_nul(key, what, path)
            _check_nul(item, what, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_nul(item, what, f"{path}.{index}" if path else str(index))
    elif isinstance(value, str) and "\x00" in value:
        raise BadRequest(
            f"A text in the {what} has a NUL character in it.",
            reason="nul_character",
            details={"field": path},
        )
