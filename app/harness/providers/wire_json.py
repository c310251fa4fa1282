"""JSON as it goes to and comes from model providers: bytes out, tool names and arguments in.

Owns: encoding that cannot fail on odd text, tool names on the wire, reading arguments. Never: the shape of
one provider's request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import orjson
import xxhash

from app.messages import CALL_TOOL, ToolCallBlock, ToolSpec

INVALID_ARGUMENTS_KEY = "INVALID_JSON"
"""Providers demand an object where a model wrote something else; its text goes back under this key."""

LARGEST_COUNT = 10**12

_NESTING_LIMIT = 200
_LONGEST_INTEGER = 20
_LONGEST_ID = 64
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_-]")
_KINDS: dict[type, str] = {
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def dump(value: object) -> bytes:
    """Encode `value` compactly; lone surrogates become U+FFFD and no integer is too long."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(clean(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode()


def join_request(
    head: Mapping[str, Any], members: Iterable[tuple[str, bytes]], name: str, items: Iterable[bytes]
) -> bytes:
    """Build a request body: `head` is encoded here, `members` are encoded already, and `items`
    are the elements of the array `name`; empty ones are left out.

    The items are a whole conversation: they are copied once, into the body itself. A second buffer
    of that size would cost more than the copying, as its pages must be mapped for every call.
    """
    parts = [dump(head)[:-1]]
    comma = b"," if head else b""
    for key, value in members:
        parts += (comma, b'"%s":' % key.encode(), value)
        comma = b","
    parts += (comma, b'"%s":[' % name.encode())
    present = [item for item in items if item]
    separated = [b","] * max(0, 2 * len(present) - 1)
    separated[::2] = present
    parts += separated
    parts.append(b"]}")
    return b"".join(parts)


def clean_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD; pairs that arrived as two halves become one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: Any) -> Any:
    """Return `value` with every string in it passed through `clean_text`."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value


def load(data: bytes | str) -> Any:
    """Decode JSON that may hold escaped lone surrogates. Integers beyond 64 bits become floats.

    Raises ValueError when it is not JSON or has a number that no float can hold, RecursionError
    when it nests too deeply."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        value = json.loads(data, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
        return clean(value)


def as_object(value: Any) -> Mapping[str, Any]:
    """Return `value` when it is a JSON object, else an empty one: what a server sends is not trusted."""
    return value if isinstance(value, Mapping) else {}


def as_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a list; nothing when it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return `value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """Return `value` as a number of tokens; 0 when it is none, at most what can be summed and stored."""
    if not isinstance(value, int | float) or value != value:
        return 0
    return int(min(max(0, value), LARGEST_COUNT))


def wire_id(identifier: str) -> str:
    """Return `identifier` in the alphabet and the length that every provider accepts for the id of a call;
    long ones that differ stay different."""
    legal = _NOT_AN_ID.sub("_", identifier) or "call"
    if len(legal) <= _LONGEST_ID:
        return legal
    digest = xxhash.xxh3_64_hexdigest(identifier.encode("utf-8", "replace"))
    return f"{legal[: _LONGEST_ID - len(digest) - 1]}_{digest}"


class ToolNames:
    """kaged's names and wire names of one request's tools, both ways.

    A call of a tool that the provider does not know goes back to the model as it is to write such calls, with
    `call_tool`, where the request has that tool. `loads` are the kinds of tools that the provider knows; None
    where it learns of further ones itself."""

    def __init__(self, tools: Sequence[ToolSpec], loads: Collection[str] | None = ("full",)) -> None:
        self._wire = {tool.name: tool.wire_name for tool in tools}
        self._kaged = {wire: name for name, wire in self._wire.items()}
        self._known = frozenset(tool.name for tool in tools if loads is None or tool.loading in loads)
        self._wraps = loads is not None and CALL_TOOL in self._known

    def knows(self, name: str) -> bool:
        """Tell whether the provider knows a tool by kaged's name."""
        return name in self._known

    def call(self, call: ToolCallBlock) -> tuple[str, dict[str, Any]]:
        """Return the name and the arguments of a call as they go back to a model."""
        arguments = arguments_to_send(call)
        if self.is_wrapped(call.name):
            return CALL_TOOL, {"name": call.name, "arguments": arguments}
        return self.to_wire(call.name), arguments

    def result(self, name: str) -> str:
        """Return the name of the call that a tool's result answers."""
        return CALL_TOOL if self.is_wrapped(name) else self.to_wire(name)

    def is_wrapped(self, name: str) -> bool:
        return self._wraps and name not in self._known

    def to_wire(self, name: str) -> str:
        """Return the wire name; a name that is not offered now still becomes a legal one."""
        known = self._wire.get(name)
        return known if known is not None else _NOT_A_NAME.sub("_", name)[:64] or "_"

    def offers(self, wire_name: str) -> bool:
        """Say whether the request offers a tool under this wire name."""
        return wire_name in self._kaged

    def to_kaged(self, wire_name: str) -> str:
        """Return kaged's name; one that was never offered stays as the model wrote it."""
        return self._kaged.get(wire_name, wire_name)


def read_call(
    identifier: str, name: str, raw: str, names: ToolNames, *, signature: str | None = None
) -> ToolCallBlock:
    """Return the call that a model wrote; bad arguments are described in it, never raised."""
    arguments, error = read_arguments(raw)
    return ToolCallBlock(
        id=identifier,
        name=names.to_kaged(clean_text(name)),
        arguments=arguments,
        raw_arguments=clean_text(raw) if error else None,
        argument_error=error,
        signature=signature,
    )


def read_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments and what is wrong with them (None when nothing is). Blank text is `{}`."""
    if not raw.strip():
        return {}, None
    try:
        value = load(raw)
    except json.JSONDecodeError as error:
        return {}, f"{error.msg} at line {error.lineno} column {error.colno} (character {error.pos})"
    except RecursionError:
        return {}, f"nested deeper than {_NESTING_LIMIT} levels"
    except ValueError as error:
        return {}, str(error)
    if not isinstance(value, dict):
        return {}, f"expected a JSON object, got {_KINDS.get(type(value), 'another value')}"
    if _too_deep(raw, value):
        return {}, f"nested deeper than {_NESTING_LIMIT} levels"
    return value, None


def arguments_to_send(call: ToolCallBlock) -> dict[str, Any]:
    """Return the object that stands for the call's arguments when it goes back to a model."""
    if call.argument_error is not None and call.raw_arguments is not None:
        return {INVALID_ARGUMENTS_KEY: call.raw_arguments}
    return call.arguments


def _too_deep(raw: str, value: object) -> bool:
    if raw.count("{") + raw.count("[") <= _NESTING_LIMIT:
        return False
    level: list[Any] = [value]
    for _ in range(_NESTING_LIMIT):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(item: Any) -> list[Any]:
    values = item.values() if isinstance(item, dict) else item
    return [value for value in values if isinstance(value, dict | list)]


def _integer(text: str) -> int | float:
    number = int(text) if len(text) <= _LONGEST_INTEGER else _float(text)
    return number if -(2**63) <= number < 2**64 else float(number)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number in it is out of range")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
