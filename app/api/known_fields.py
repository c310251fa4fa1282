"""Which fields a body may have at a place, told to a client that sent another one.

Owns: finding the model that stands at a place of a request. Never: the fields (`schemas`), or checking them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel

from app.tools.contract.naming import closest


def unknown_field(shape: Any, place: Sequence[int | str]) -> str:
    """Return what is said of the unknown field at `place` in a body of the given type: the fields that are
    known there, and the one that was probably meant. Of a place that the type does not tell, neither."""
    known = list(_model_at(shape, place[:-1]))
    if not known:
        return "unknown field"
    near = closest(str(place[-1]), known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown field (known: {', '.join(known)}){hint}"


def _model_at(shape: Any, place: Sequence[int | str]) -> Sequence[str]:
    """Return the names of the fields of the object at `place`; a list's items are numbers in it."""
    for part in place:
        model = _model_in(shape)
        if model is None:
            return ()
        if isinstance(part, int):
            continue  # an item of the list whose items are this model
        field = model.model_fields.get(part)
        shape = field.annotation if field is not None else None
    model = _model_in(shape)
    return () if model is None else tuple(model.model_fields)


def _model_in(shape: Any) -> type[BaseModel] | None:
    """Return the first model in a type: itself, or one of its arguments (`list[Model] | None`)."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return shape
    return next((model for argument in get_args(shape) if (model := _model_in(argument))), None)
