"""Whether a JSON value is one of a TypedDict type of a vendor's SDK, strictly.

Owns: the comparison. No key is unknown, none that is required is missing, each value is of its type. pydantic
reads the lists of these types (`Iterable`) only when they are iterated, and keeps quiet about unknown keys.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from typing_extensions import ReadOnly, TypeAliasType, is_typeddict

_LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
_DICTS = (dict, collections.abc.Mapping)
_PLAIN = {str: str, bool: bool, int: int, float: (int, float), type(None): type(None)}


def problems(value: Any, kind: Any, where: str = "") -> list[str]:
    """Return what keeps a value from being of a type, each with its place; nothing when it is one."""
    return list(_problems(value, bare(kind), where))


def bare(kind: Any) -> Any:
    """Return a type without what is written around it."""
    while True:
        if isinstance(kind, TypeAliasType):
            kind = kind.__value__
        elif get_origin(kind) in (Annotated, Required, NotRequired, ReadOnly):
            kind = get_args(kind)[0]
        else:
            return kind


def _problems(value: Any, kind: Any, where: str) -> Iterator[str]:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return
    if origin in (Union, types.UnionType):
        yield from _of_union(value, [bare(one) for one in arguments], where)
    elif origin is Literal:
        if not any(value == one and type(value) is type(one) for one in arguments):
            yield f"{where}: {value!r} is none of {arguments}"
    elif is_typeddict(kind):
        yield from _of_typed_dict(value, kind, where)
    elif origin in _LISTS:
        if not isinstance(value, list):
            yield f"{where}: not a list"
            return
        for index, one in enumerate(value):
            yield from _problems(one, bare(arguments[0]), f"{where}[{index}]")
    elif origin in _DICTS:
        if not isinstance(value, dict):
            yield f"{where}: not an object"
            return
        for key, one in value.items():
            yield from _problems(one, bare(arguments[1]), f"{where}.{key}")
    elif kind not in _PLAIN:
        yield f"{where}: {kind!r} is no JSON"
    elif not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind not in (bool,)):
        yield f"{where}: {value!r} is no {kind.__name__}"


def _of_union(value: Any, kinds: list[Any], where: str) -> Iterator[str]:
    """Yield the problems with the member that has the fewest, those with another `type` or `role` last."""
    found = [list(_problems(value, kind, where)) for kind in kinds]
    if all(found):
        yield from min(found, key=lambda one: (_is_another(one, where), len(one)))


def _is_another(found: list[str], where: str) -> bool:
    return any(one.startswith((f"{where}.type:", f"{where}.role:", f"{where}: ")) for one in found)


def _of_typed_dict(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: not an object"
        return
    hints, required = _keys(kind)
    open_to_others = getattr(kind, "__pydantic_config__", {}).get("extra") == "allow"
    for key in sorted(required - value.keys()):
        yield f"{where}.{key}: missing"
    for key, one in value.items():
        if key in hints:
            yield from _problems(one, hints[key], f"{where}.{key}")
        elif not open_to_others:
            yield f"{where}.{key}: unknown"


@cache
def _keys(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of the keys, and which keys must be there. The type itself does not know the latter:
    its annotations are text."""
    hints = get_type_hints(kind, include_extras=True)
    marked = {name for name, hint in hints.items() if get_origin(hint) is Required}
    free = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    required = frozenset(marked | (kind.__required_keys__ - free))
    return {name: bare(hint) for name, hint in hints.items()}, required
