"""From what a model wrote to validated parameters, with errors that say how to fix them.

Owns: parsing and validation of arguments. Never: judging whether the call is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import ToolError, invalid_params
from app.json_schema import violations
from app.nearest_names import did_you_mean
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.schema import parameters_schema

MAX_FIELD_ERRORS = 20
_IN_JSON = {
    "missing": "is required",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "list_type": "must be a JSON array",
    "string_type": "must be a string",
}
"""What pydantic says with the names of Python's types, or without advice, in the words of JSON."""


def parse_arguments(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the arguments as a dictionary. Raises ToolError `invalid_params`."""
    if isinstance(arguments, Mapping):
        return dict(arguments)
    try:
        value = orjson.loads(arguments or "{}")
    except ValueError as problem:
        raise invalid_params(f"the arguments are not valid JSON: {problem}", {}) from None
    if not isinstance(value, dict):
        raise invalid_params(f"the arguments must be a JSON object, not {type(value).__name__}", {})
    return value


def validate(definition: ToolDefinition, arguments: dict[str, Any]) -> BaseModel:
    """Return the tool's parameters. A null in an optional parameter counts as left out: some models send
    every name. Raises ToolError `invalid_params` with `detail.fields`."""
    if definition.schema is not None:
        return _given(definition, definition.schema, arguments)
    try:
        return definition.parameters.model_validate(_without_nulls(definition, arguments))
    except ValidationError as problem:
        found = problem.errors(include_url=False, include_input=False)
    fields = dict(_explain(definition, one) for one in found[:MAX_FIELD_ERRORS])
    listed = "; ".join(f"{field}: {text}" for field, text in fields.items())
    raise invalid_params(f"{definition.name}: {listed}", fields)


def misplaced(definition: ToolDefinition, problem: ToolError) -> ToolError:
    """Return `invalid_params` for an `invalid_path` of a tool with a `path_parameter`, else the problem."""
    if definition.path_parameter is None or problem.code != "invalid_path":
        return problem
    field = definition.path_parameter
    found = invalid_params(f"{definition.name}: {field}: {problem.message}", {field: problem.message})
    found.detail = {**problem.detail, **found.detail}
    return found


def _given(definition: ToolDefinition, schema: Mapping[str, Any], arguments: dict[str, Any]) -> BaseModel:
    """Return parameters that are checked against a JSON Schema from elsewhere."""
    required = schema.get("required", ())
    kept = {name: value for name, value in arguments.items() if value is not None or name in required}
    broken = violations(schema, arguments)
    if broken and kept != arguments:
        arguments, broken = kept, violations(schema, kept)
    if broken:
        listed = _printable("; ".join(broken))
        raise invalid_params(f"{definition.name}: {listed}", {"arguments": listed})
    return definition.parameters.model_validate({"given": arguments})


def _without_nulls(definition: ToolDefinition, arguments: dict[str, Any]) -> dict[str, Any]:
    known = definition.parameters.model_fields
    optional = {name for name, field in known.items() if not field.is_required()}
    return {name: value for name, value in arguments.items() if value is not None or name not in optional}


def _explain(definition: ToolDefinition, found: ErrorDetails) -> tuple[str, str]:
    field = ".".join(str(part)[:80] for part in found["loc"]) or "arguments"
    if found["type"] == "value_error":
        return _printable(field), str(found["ctx"]["error"])
    if found["type"] != "extra_forbidden":
        return _printable(field), _IN_JSON.get(found["type"]) or length_in_words(found) or found["msg"]
    known = _known_beside(definition, found["loc"])
    hint = did_you_mean(str(found["loc"][-1]), known, quote="")
    return _printable(field), f"unknown parameter (known: {', '.join(known)}){hint}"


def length_in_words(found: Mapping[str, Any]) -> str | None:
    """Return what a text's length should be: pydantic counts "items" of a text that was checked before."""
    bounds = found.get("ctx") or {}
    if bounds.get("field_type") != "Value":  # what is known to be a list is called one
        return None
    if "max_length" in bounds:
        return f"should have at most {bounds['max_length']} characters"
    return f"should have at least {bounds['min_length']} characters" if "min_length" in bounds else None


def _known_beside(definition: ToolDefinition, place: tuple[int | str, ...]) -> list[str]:
    """Return the names that are known where the unknown one stands, in lists and objects too."""
    schema: Any = parameters_schema(definition.parameters)
    for part in place[:-1]:
        inside = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        schema = inside or {}
    return list(schema.get("properties", ()))


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
