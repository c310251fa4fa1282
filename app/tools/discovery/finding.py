"""Finding tools by a query.

Owns: what is searched of a tool, names that are asked for exactly, and how much one answer has. Pure. Never:
which tools an agent has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from app.messages import ToolSpec
from app.tools.discovery.ranking import Document, ranked

NAME_WEIGHT, ACTION_WEIGHT, PARAMETER_WEIGHT, TEXT_WEIGHT = 4.0, 3.0, 2.0, 1.0
ANSWER_BYTES = 24_000
"""What the tools of one answer have together; the best one is there however long it is."""
MAX_DEPTH = 8
MAX_NODES = 2_000


def found(specs: Sequence[ToolSpec], query: str, most: int) -> tuple[list[ToolSpec], list[ToolSpec]]:
    """Return the tools that answer a query best, at most so many, and further ones that match."""
    order = [*_named(specs, query), *ranked([_document(spec) for spec in specs], query)]
    matches = [specs[index] for index in dict.fromkeys(order)]
    room, best = ANSWER_BYTES, list[ToolSpec]()
    for spec in matches[:most]:
        size = len(orjson.dumps([spec.description, spec.parameters], default=str))
        if best and size > room:
            continue
        best.append(spec)
        room -= size
    return best, [spec for spec in matches if spec not in best]


def _named(specs: Sequence[ToolSpec], query: str) -> list[int]:
    """Return the tools whose names, or whose actions' names, are words of the query."""
    asked = {word.strip("`'\"()").casefold() for word in query.replace(",", " ").split()}
    names = [(spec.name.casefold(), spec.wire_name.casefold()) for spec in specs]
    exact = [index for index, both in enumerate(names) if asked & set(both)]
    actions = [
        index
        for index, spec in enumerate(specs)
        if any(f"{spec.name}.{action}".casefold() in asked for action in _actions(spec.parameters))
    ]
    return [*exact, *actions]


def _document(spec: ToolSpec) -> Document:
    return Document.of(
        [
            (spec.name, NAME_WEIGHT),
            (" ".join(_actions(spec.parameters)), ACTION_WEIGHT),
            (spec.description, TEXT_WEIGHT),
            *_parameters(spec.parameters),
        ]
    )


def _actions(schema: Mapping[str, Any]) -> list[str]:
    properties = schema.get("properties")
    action = properties.get("action") if isinstance(properties, Mapping) else None
    values = action.get("enum") if isinstance(action, Mapping) else None
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield names and descriptions of parameters, those inside others too. The schema may be a stranger's:
    only so much of it is looked at."""
    level: list[Any] = [schema]
    seen = 0
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            seen += 1
            if seen > MAX_NODES or not isinstance(node, Mapping):
                continue
            text = node.get("description")
            if isinstance(text, str) and node is not schema:
                yield text, TEXT_WEIGHT
            properties = node.get("properties")
            for name, inside in properties.items() if isinstance(properties, Mapping) else ():
                yield str(name), PARAMETER_WEIGHT
                below.append(inside)
            choices = node.get("anyOf")
            below += [node.get("items"), *(choices if isinstance(choices, list) else ())]
        level = below[:MAX_NODES]
