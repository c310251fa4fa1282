"""An example of a response type of a vendor's SDK, made from the type itself.

Owns: the smallest instance that the type accepts, and the members of a union. A version with a new event
brings its example by itself. Never: a stream (the tests make it of examples).
"""

from __future__ import annotations

import datetime
import enum
import types
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tests.harness.providers.vendors.typed_dicts import bare

_PLAIN: dict[Any, Any] = {
    str: "x",
    int: 1,
    float: 1.0,
    bool: False,
    bytes: b"x",
    object: {},
    Any: {},
    datetime.datetime: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
}


def members(union: Any) -> list[type[BaseModel]]:
    """Return the types of a union of models."""
    return [bare(one) for one in get_args(bare(union))]


def tag(kind: type[BaseModel], name: str = "type") -> str:
    """Return the one value that tells the members of a union apart."""
    [value] = get_args(bare(kind.model_fields[name].annotation))
    return str(value)


def least(kind: type[BaseModel], **given: Any) -> Any:
    """Return the smallest instance of a model, with what is given. The model checks it."""
    fields = {
        field.alias or name: example(field.annotation)
        for name, field in kind.model_fields.items()
        if field.is_required() and name not in given
    }
    return kind.model_validate({**fields, **given})


def example(kind: Any) -> Any:
    """Return a value of a type."""
    kind = bare(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return None if type(None) in arguments else example(arguments[0])
    if origin in (list, dict):
        return origin()
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return least(kind).model_dump(by_alias=True)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    return _PLAIN[kind]


def some(kind: Any) -> Any:
    """Return a value of a type that is not null."""
    arguments = [one for one in get_args(bare(kind)) if one is not type(None)]
    return example(arguments[0]) if type(None) in get_args(bare(kind)) else example(kind)
