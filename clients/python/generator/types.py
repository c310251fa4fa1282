"""JSON Schemas as Python annotations and classes.

Owns: how a schema reads in Python. Never: operations, files.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
SECRETS = {("CreatedTokenAnswer", "token"), ("LaunchLink", "url")}
"""Fields that `repr` leaves out, by schema and name."""


def reference(schema: Schema) -> str:
    """Return the name of the schema that another one points to, or an empty text."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def snake(name: str) -> str:
    """Return a name of the wire as Python writes it."""
    letters = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    plain = letters.replace("-", "_").lstrip("_") or name
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def annotation(schema: Schema, *, given: bool = False, prefix: str = "") -> str:
    """Return the annotation of a schema. `given`: of what a caller hands in, which may be any sequence or
    mapping; `prefix` stands before the names of classes."""
    if name := reference(schema):
        return f"{prefix}{name} | Mapping[str, Any]" if given else f"{prefix}{name}"
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return _union(annotation(branch, given=given, prefix=prefix) for branch in branches)
    kind = schema.get("type")
    if kind == "array":
        items = annotation(schema.get("items", {}), given=given, prefix=prefix)
        return f"Sequence[{items}]" if given else f"list[{items}]"
    if kind == "object":
        more = schema.get("additionalProperties")
        values = annotation(more, given=given, prefix=prefix) if isinstance(more, Mapping) else "Any"
        return f"Mapping[str, {values}]" if given else f"dict[str, {values}]"
    if kind == "string" and schema.get("format") == "date-time":
        return "str | datetime" if given else "datetime"
    return _SCALARS.get(str(kind), "Any")


def _union(parts: Iterable[str]) -> str:
    members = [member for part in parts for member in part.split(" | ")] if parts else []
    names = list(dict.fromkeys(members))
    if "Any" in names:
        return "Any"
    if "float" in names and "int" in names:
        names.remove("int")
    if "None" in names:
        names.remove("None")
        names.append("None")
    return " | ".join(names)


def described(text: str, indent: str) -> list[str]:
    """Return the lines of a docstring."""
    lines = textwrap.dedent(text).strip().replace("\\", "\\\\").splitlines()
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def model(name: str, schema: Schema) -> list[str]:
    """Return the lines of a class with the fields of an object, the required ones first."""
    required = set(schema.get("required", ()))
    fields = schema.get("properties", {})
    lines = ["", "", f"class {name}(Model):"]
    lines += described(schema.get("description") or f"`{name}` of the interface.", "    ")
    wire = {snake(field): field for field in fields if snake(field) != field}
    if wire:
        lines += ["", f"    _wire_names = {wire!r}"]
    secret = sorted(snake(field) for field in fields if (name, field) in SECRETS)
    if secret:
        lines += ["", f"    _secret_names = frozenset({secret!r})"]
    if fields:
        lines.append("")
    for field, value in sorted(fields.items(), key=lambda item: item[0] not in required):
        lines += _field(snake(field), value, required=field in required)
    return lines


def _field(name: str, schema: Schema, *, required: bool) -> list[str]:
    kind = annotation(schema)
    if required:
        line = f"    {name}: {kind}"
    else:
        default = schema.get("default")
        if isinstance(default, list | dict):
            line = f"    {name}: {kind} = absent({type(default).__name__})"
        else:
            plain = (
                kind
                if default is not None or "None" in kind.split(" | ") or kind == "Any"
                else f"{kind} | None"
            )
            line = f"    {name}: {plain} = {default!r}"
    text = schema.get("description")
    return [line, *(described(text, "    ") if text else ())]
