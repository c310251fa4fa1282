"""The calls that wait for consent, as people see them: nobody should allow what they cannot read.

Owns: finding them, masking secrets, and the bound. Never: what is asked (`harness.questions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.api.schemas.interactions import AskedCall, InteractionAnswer
from app.observability import Redactor
from app.states import InteractionState
from app.storage.models import Interaction
from app.storage.unit_of_work import UnitOfWork

MOST_CHARACTERS = 64_000
"""Of all arguments of a call together."""


def with_calls(uow: UnitOfWork, rows: Iterable[Interaction], redactor: Redactor) -> list[InteractionAnswer]:
    """Return questions as they are answered on the wire, those for consent with their calls."""
    listed = list(rows)
    asking = {
        row.id: (row.session_id, row.agent_path, row.tool_call_id or "")
        for row in listed
        if row.kind == "permission" and row.state == InteractionState.PENDING
    }
    calls = uow.tool_calls.open_calls(asking.values())
    found = []
    for row in listed:
        call = calls.get(asking[row.id]) if row.id in asking else None
        shown = None if call is None else asked_call(call.name, redactor.data(call.arguments))
        found.append(InteractionAnswer.model_validate(row).model_copy(update={"call": shown}))
    return found


def asked_call(name: str, arguments: Mapping[str, Any]) -> AskedCall:
    """Return a call with the beginning of its arguments."""
    room = _Room(MOST_CHARACTERS)
    shown = room.within(dict(arguments))
    return AskedCall(name=name, arguments=shown, cut=room.left < 0)


class _Room:
    """How many characters are `left`; below zero something was left out."""

    def __init__(self, left: int) -> None:
        self.left = left

    def within(self, value: Any) -> Any:
        """Return the beginning of JSON-ready `value` that has room."""
        match value:
            case str():
                kept = value[: max(self.left, 0)]
                self.left -= len(value)
                return kept
            case Mapping():
                return {key: self.within(item) for key, item in value.items() if self._fits(str(key))}
            case list() | tuple():
                return [self.within(item) for item in value if self._fits("-")]
            case _:
                return value

    def _fits(self, key: str) -> bool:
        self.left -= len(key)
        return self.left >= 0
