"""A question that an MCP server puts to a person, as a form of the daemon.

Owns: which questions can be put as a form, the form, and the answer as the protocol has it. Never: asking.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from app.bridges.mcp.content import cleaned, one_line

Form = dict[str, Any]
"""`{summary, fields: [{name, label, type, required, description}]}`, as `kaged.form` asks it."""
Elicit = Callable[[Form], Awaitable[Mapping[str, Any] | None]]
"""Returns the values by the names of the fields, None when nobody answers."""
MAX_FIELDS = 20
CONSENT = "send"
_KINDS = {"string": "text", "number": "number", "integer": "number", "boolean": "boolean"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question by a form. The fields get names of the daemon's own, in the order of `names`."""

    message: str
    names: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    required: frozenset[str]

    @classmethod
    def of(cls, params: types.ElicitRequestParams) -> Asked | None:
        """Return the question; None for one that is no form, or has other fields than single values."""
        if not isinstance(params, types.ElicitRequestFormParams):
            return None
        schema = params.requested_schema
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MAX_FIELDS:
            return None
        fields = tuple(properties.values())
        if not all(isinstance(one, dict) and one.get("type") in _KINDS for one in fields):
            return None
        names = frozenset(one for one in required if isinstance(one, str))
        return cls(cleaned(params.message, 3_000), tuple(properties), fields, names)

    def form(self) -> Form:
        """Return the form, its first field the consent to send anything at all."""
        rows: list[dict[str, Any]] = [
            {
                "name": CONSENT,
                "label": "Send these values to the server",
                "type": "boolean",
                "required": True,
                "description": "No declines the question.",
            }
        ]
        for number, (name, field) in enumerate(zip(self.names, self.fields, strict=True)):
            rows.append(
                {
                    "name": f"field_{number}",
                    "label": one_line(_text(field.get("title")) or name, 250) or f"Value {number + 1}",
                    "type": _KINDS[field["type"]],
                    "required": False,
                    "description": _described(field, required=name in self.required),
                }
            )
        return {"summary": self.message or "The server asks for input.", "fields": rows}


def elicited(asked: Asked, values: Mapping[str, Any] | None) -> types.ElicitResult:
    """Return the answer to the server. An incomplete or unfit one declines."""
    if values is None:
        return types.ElicitResult(action="cancel")
    if values.get(CONSENT) is not True:
        return types.ElicitResult(action="decline")
    content: dict[str, Any] = {}
    for number, (name, field) in enumerate(zip(asked.names, asked.fields, strict=True)):
        value = values.get(f"field_{number}")
        if value is None:
            value = _default(field)
        if value is None:
            if name in asked.required:
                return types.ElicitResult(action="decline")
            continue
        content[name] = _fitting(value, field)
    return types.ElicitResult(action="accept", content=content)


def _fitting(value: Any, field: Mapping[str, Any]) -> Any:
    """Return the value as the server's type has it: a choice may be answered by its title."""
    if field.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    titles = field.get("enumNames")
    choices = field.get("enum")
    if isinstance(titles, list) and isinstance(choices, list) and value in titles:
        place = titles.index(value)
        return choices[place] if place < len(choices) else value
    for one in field.get("oneOf") or ():
        if isinstance(one, dict) and one.get("title") == value and "const" in one:
            return one["const"]
    return value


def _default(field: Mapping[str, Any]) -> str | bool | float | None:
    """Return what the server proposes for a field, None when that is no value of the field's type."""
    value, choices = field.get("default"), field.get("enum")
    if not isinstance(value, str | bool | int | float) or not isinstance(value, _TYPES[field["type"]]):
        return None
    if isinstance(value, bool) != (field["type"] == "boolean"):
        return None
    return None if isinstance(choices, list) and value not in choices else value


def _described(field: Mapping[str, Any], *, required: bool) -> str:
    parts = [cleaned(_text(field.get("description")), 1_000)]
    choices = field.get("enum") or [
        one.get("const") for one in field.get("oneOf") or () if isinstance(one, dict)
    ]
    if isinstance(choices, list) and choices:
        parts.append("One of: " + ", ".join(one_line(str(one), 100) for one in choices[:50]))
    default = _default(field)
    if default is not None:
        parts.append(f"Left empty it is {one_line(str(default), 200) or 'an empty text'}.")
    elif required:
        parts.append("The server requires it.")
    return " ".join(part for part in parts if part)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
