"""From what a model wrote to validated parameters, with errors that say how to fix them.

Owns: parsing and validation of arguments. Never: judging whether the call is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import RPC_INVALID_PARAMS, ToolError
from app.tools.definition import ToolDefinition
from app.tools.naming import closest

MAX_FIELD_ERRORS = 20


def parse_arguments(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the arguments as a dictionary. Raises ToolError `invalid_params`."""
    if isinstance(arguments, Mapping):
        return dict(arguments)
    try:
        value = orjson.loads(arguments or "{}")
    except ValueError as problem:
        raise _invalid(f"the arguments are not valid JSON: {problem}", {}) from None
    if not isinstance(value, dict):
        raise _invalid(f"the arguments must be a JSON object, not {type(value).__name__}", {})
    return value


def validate(definition: ToolDefinition, arguments: dict[str, Any]) -> BaseModel:
    """Return the tool's parameters. Raises ToolError `invalid_params` with `detail.fields`."""
    try:
        return definition.parameters.model_validate(arguments)
    except ValidationError as problem:
        found = problem.errors(include_url=False, include_context=False, include_input=False)
    fields = dict(_explain(definition, one) for one in found[:MAX_FIELD_ERRORS])
    listed = "; ".join(f"{field}: {text}" for field, text in fields.items())
    raise _invalid(f"{definition.name}: {listed}", fields)


def _explain(definition: ToolDefinition, found: ErrorDetails) -> tuple[str, str]:
    field = ".".join(str(part)[:80] for part in found["loc"]) or "arguments"
    if found["type"] != "extra_forbidden":
        return _printable(field), found["msg"]
    known = list(definition.parameters.model_fields)
    near = closest(str(found["loc"][-1]), known, 1) if len(found["loc"]) == 1 else []
    hint = f"; did you mean {near[0]}?" if near else ""
    return _printable(field), f"unknown parameter (known: {', '.join(known)}){hint}"


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _invalid(message: str, fields: dict[str, str]) -> ToolError:
    detail = {"fields": fields} if fields else {}
    return ToolError("invalid_params", message, detail=detail, rpc_code=RPC_INVALID_PARAMS)
