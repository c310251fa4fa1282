"""Plain JSON Schema for models: no references, no titles, nothing that a provider may refuse.

Owns: the reduction of pydantic's schema. Never: validation.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=512)
def _cached(model: type[BaseModel], mode: str) -> dict[str, Any]:
    if mode == "serialization":
        raw = model.model_json_schema(mode="serialization")
    else:
        raw = model.model_json_schema(mode="validation")
    definitions = raw.pop("$defs", {})
    plain = _plain(raw, definitions, properties=False)
    assert isinstance(plain, dict)
    return plain


def parameters_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema that a model or client is shown for a tool's parameters."""
    return copy.deepcopy(_cached(model, "validation"))


def result_schema(model: type[BaseModel]) -> dict[str, Any]:
    return copy.deepcopy(_cached(model, "serialization"))


def _plain(node: Any, definitions: dict[str, Any], *, properties: bool) -> Any:
    """Inline references and drop titles; below `properties`, keys are names and stay."""
    if isinstance(node, list):
        return [_plain(item, definitions, properties=False) for item in node]
    if not isinstance(node, dict):
        return node
    if not properties and "$ref" in node:
        target = definitions[str(node["$ref"]).rsplit("/", 1)[-1]]
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**target, **siblings}, definitions, properties=False)
    plain: dict[str, Any] = {}
    for key, value in node.items():
        if not properties and key == "title":
            continue
        plain[key] = _plain(value, definitions, properties=not properties and key == "properties")
    return plain if properties else _without_null(plain)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Turn "this or null, default null" into a plain optional field."""
    choices = node.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return node
    kept = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if "default" in rest and rest["default"] is None:
        del rest["default"]
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}
