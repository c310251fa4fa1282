"""What a step of a transcript takes over from the conversation it is played in.

Owns: the named groups of what a step expects, and putting them into its answer. Never: which step is
played (`replay`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.harness.providers.drivers.replay.transcript import Part

_PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def captured(pattern: str, text: str) -> dict[str, str] | None:
    """Return the named groups of a pattern by name, None when `text` does not have it."""
    found = re.search(pattern, text)
    return None if found is None else {name: value or "" for name, value in found.groupdict().items()}


def filled(answer: Sequence[Part], groups: Mapping[str, str]) -> tuple[Part, ...]:
    """Return an answer in which `${name}` stands for the group of that name; other places stay as they
    are."""
    return tuple(_filled_part(part, groups) for part in answer) if groups else tuple(answer)


def _filled_part(part: Part, groups: Mapping[str, str]) -> Part:
    if part.tool_call is not None:
        arguments = _filled_value(part.tool_call.arguments, groups)
        return part.model_copy(
            update={"tool_call": part.tool_call.model_copy(update={"arguments": arguments})}
        )
    said = {"text": part.text, "thinking": part.thinking}
    return part.model_copy(
        update={name: _filled_value(text, groups) for name, text in said.items() if text is not None}
    )


def _filled_value(value: Any, groups: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACE.sub(lambda place: groups.get(place[1], place[0]), value)
    if isinstance(value, dict):
        return {key: _filled_value(inner, groups) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled_value(inner, groups) for inner in value]
    return value
