"""JSON Schemas that plugins and project files bring: checked themselves, then used to check values.

Owns: the bounds on such a schema, and that neither a reference nor a pattern in it can do harm: nothing
is fetched, and patterns take linear time. Never: what the values are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_SCHEMA_BYTES = 32 * 1024
MAX_SCHEMA_DEPTH = 32
MAX_VIOLATIONS = 10
_MAX_SAID = 300
_COMPILED_BYTES = 4 * 1024 * 1024


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a schema, None when nothing is. Takes milliseconds."""
    if is_deeper(schema, MAX_SCHEMA_DEPTH):
        return f"is nested more than {MAX_SCHEMA_DEPTH} deep; write a flatter schema"
    try:
        text = orjson.dumps(schema)
    except (TypeError, ValueError) as problem:
        return f"is no JSON ({problem}); write plain text, numbers, lists and maps"
    if len(text) > MAX_SCHEMA_BYTES:
        return f"has {len(text)} bytes; write at most {MAX_SCHEMA_BYTES}"
    if outside := _reference_outside(schema):
        return f"refers to `{outside[:80]}`; write references as `#/$defs/name`"
    if schema.get("type") != "object":
        return "describes no object; write `type: object` at its top"
    try:
        _compiled(text)
    except Exception as problem:  # noqa: BLE001  (the library has an exception of its own for each part)
        return f"is no valid JSON Schema: {_words(problem)}"
    return None


def violations(schema: Mapping[str, Any], value: Any, *, is_secret: bool = False) -> list[str]:
    """Return what a value breaks of a schema that has no problem, a sentence each, which says nothing of the
    value itself when that `is_secret`."""
    found = islice(_compiled(orjson.dumps(schema), is_secret).iter_errors(value), MAX_VIOLATIONS)
    return [f"{_place(error.instance_path)}: {_words(error.message)}" for error in found]


def is_deeper(value: Any, limit: int) -> bool:
    """Tell whether a JSON value is nested deeper than `limit`. Blocks for what is large."""
    level = [value]
    for _ in range(limit):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def _inner(value: Any) -> Any:
    """Return the maps and lists within a map or list."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in values if isinstance(one, dict | list)]


@lru_cache(maxsize=256)
def _compiled(text: bytes, is_secret: bool = False) -> Validator:
    from jsonschema_rs import RegexOptions, validator_for

    return validator_for(
        orjson.loads(text),
        offline=True,
        mask="its value" if is_secret else None,
        pattern_options=RegexOptions(size_limit=_COMPILED_BYTES, dfa_size_limit=_COMPILED_BYTES),
    )


def _reference_outside(schema: Any) -> str | None:
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            for key in ("$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema"):
                target = one.get(key)
                if isinstance(target, str) and not target.startswith("#") and key.endswith(("Ref", "ref")):
                    return target
            left += one.values()
        elif isinstance(one, list):
            left += one
    return None


def _place(path: list[str | int]) -> str:
    return ".".join(str(step) for step in path)[:200] or "the whole"


def _words(problem: object) -> str:
    return " ".join(str(getattr(problem, "message", problem)).split())[:_MAX_SAID]
