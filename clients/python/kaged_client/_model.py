"""What every body and answer is made of: typed attributes over the JSON that came.

Owns: decoding by annotations, encoding, representation. Never: which models there are.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

Convert = Callable[[Any], Any]
T = TypeVar("T")


class Omit:
    """The type of `OMIT`: the argument is not sent, which differs from sending null."""

    def __repr__(self) -> str:
        return "OMIT"

    def __bool__(self) -> Literal[False]:
        return False


OMIT = Omit()


class _Absent:
    """The default of a field that holds a list or an object: an empty one, new for each instance."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self._name, self._make())


def absent(default_factory: Callable[[], T]) -> T:
    """Declare a field whose default is an empty list or object."""
    return _Absent(default_factory)  # type: ignore[return-value]


@dataclass_transform(kw_only_default=True, field_specifiers=(absent,))
class Model:
    """Attributes as the interface documents them. Fields that this version does not know are in `extra`.

    Values are not validated: a newer daemon may send more than the annotations name."""

    _wire_names: ClassVar[Mapping[str, str]] = {}
    _secret_names: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **values: Any) -> None:
        fields = _shape(type(self)).hints
        for name, value in values.items():
            if name not in fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}; it has: {', '.join(fields)}.")
            vars(self)[name] = value
        missing = [name for name in fields if name not in values and not hasattr(type(self), name)]
        if missing:
            raise TypeError(f"{type(self).__name__} needs {', '.join(missing)}.")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the model of a decoded JSON object."""
        made = cls.__new__(cls)
        made._fill(data)
        return made

    def _fill(self, data: Mapping[str, Any]) -> None:
        conversions = _shape(type(self)).conversions
        values = vars(self)
        for key, value in data.items():
            known = conversions.get(key)
            if known is None:
                values.setdefault("_extra", {})[key] = value
            else:
                name, convert = known
                values[name] = value if convert is None or value is None else convert(value)

    @property
    def extra(self) -> dict[str, Any]:
        """Fields that the daemon sent and this version does not know."""
        found: dict[str, Any] = vars(self).get("_extra", {})
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what was given, as the interface names and encodes it."""
        wire = self._wire_names
        given = {
            wire.get(name, name): jsonable(value) for name, value in vars(self).items() if name[0] != "_"
        }
        return {**given, **self.extra}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and type(self) is type(other) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(type(self))  # fields can change; equal models have the same

    def __repr__(self) -> str:
        shown = (
            f"{name}={'***' if name in self._secret_names else repr(value)}"
            for name, value in vars(self).items()
            if name[0] != "_"
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def jsonable(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("A time needs a time zone: datetime.now(timezone.utc), for example.")
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: jsonable(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [jsonable(member) for member in value]
    return value


@dataclass(slots=True)
class _Shape:
    """What is known of one model: its annotations, and attribute and conversion of each name of the wire."""

    hints: dict[str, Any]
    conversions: dict[str, tuple[str, Convert | None]]


_shapes: dict[type, _Shape] = {}


def _shape(cls: type[Model]) -> _Shape:
    """Return the shape of a model, read from its annotations when it is first used."""
    known = _shapes.get(cls)
    if known is None:
        hints = {name: hint for name, hint in get_type_hints(cls).items() if get_origin(hint) is not ClassVar}
        wire = cls._wire_names
        known = _Shape(
            hints, {wire.get(name, name): (name, _conversion(hint)) for name, hint in hints.items()}
        )
        _shapes[cls] = known
    return known


def _conversion(hint: Any) -> Convert | None:
    """Return what makes a value of an annotation from JSON; None where JSON has it already."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is datetime:
        return _time
    if isinstance(hint, type) and issubclass(hint, Model):
        return functools.partial(_object, hint)
    if origin is list:
        inner = _conversion(parts[0])
        return functools.partial(_list, inner) if inner is not None else None
    if origin is dict:
        inner = _conversion(parts[1])
        return functools.partial(_mapping, inner) if inner is not None else None
    if origin in (Union, types.UnionType):
        return _of_union(parts)
    return None


def _of_union(parts: Sequence[Any]) -> Convert | None:
    models = [part for part in parts if isinstance(part, type) and issubclass(part, Model)]
    if len(models) > 1:
        return functools.partial(_one_of, models)
    others = [made for part in parts if (made := _conversion(part)) is not None]
    return others[0] if others else None


def _time(value: Any) -> Any:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _object(cls: type[Model], value: Any) -> Any:
    return cls.from_json(value) if isinstance(value, Mapping) else value


def _list(inner: Convert, value: Any) -> Any:
    return [inner(member) for member in value] if isinstance(value, list) else value


def _mapping(inner: Convert, value: Any) -> Any:
    return {name: inner(member) for name, member in value.items()} if isinstance(value, Mapping) else value


def _one_of(models: Sequence[type[Model]], value: Any) -> Any:
    """Return the model whose constant fields the object has; the object itself when it is of none."""
    if not isinstance(value, Mapping):
        return value
    for model in models:
        constants = {name: hint for name, hint in _shape(model).hints.items() if get_origin(hint) is Literal}
        if constants and all(value.get(name) in get_args(hint) for name, hint in constants.items()):
            return model.from_json(value)
    return value
