"""What a child is asked: its input in words, and how its answer is to look.

Owns: the text of the delegation. Never: what is forwarded of the parent's conversation (`forwarding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from app.harness.dsl.compiled import CompiledAgent

_BY_SCHEMA = (
    "Your last message must be one JSON object, and nothing else, that fulfils this JSON Schema:\n{schema}"
)


def prompt_of(child: CompiledAgent, given: Mapping[str, Any]) -> str:
    """Return the prompt: the task itself where that is all there is, else the input as JSON."""
    task = given.get("task")
    asked = task if len(given) == 1 and isinstance(task, str) else _json(given)
    if child.output is None:
        return asked
    return f"{asked}\n\n{_BY_SCHEMA.format(schema=_json(child.output))}"


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(value), option=orjson.OPT_INDENT_2).decode()
