"""The sticky reminder: what is still to be done, said again with every model call.

Owns: its text, and when it says nothing because the model has just read the list. Pure. Never: sending it
(the turn does) or keeping it: it is built each time and is no part of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.issues.checklist_text import bounded_line, bounded_notes
from app.harness.issues.matching import is_open
from app.messages import ModelMessage, ToolResultsMessage, UserMessage
from app.states import IssueTodoState
from app.storage.models import IssueTodo

TOOL = "kaged.todo"
MOST_ITEMS = 5
_CONTENT_CHARACTERS, _NOTE_CHARACTERS, _NOTES = 300, 300, 3


def reminder(number: int, rows: Sequence[IssueTodo], *, has_tool: bool = True) -> str | None:
    """Return the reminder of an issue's checklist; None when nothing on it is open. `has_tool`: the agent
    can change the list."""
    still = [row for row in rows if is_open(row)]
    if not still:
        return None
    lines = [f"Reminder from kaged, not from a human: open tasks of issue #{number}, which you work on."]
    for row in _window(still):
        lines.append(bounded_line(row, _CONTENT_CHARACTERS))
        if row.status == IssueTodoState.IN_PROGRESS.value:
            lines += bounded_notes(row, _NOTE_CHARACTERS, _NOTES)
    if len(still) > MOST_ITEMS:
        where = f" ({TOOL}, action view, shows them all)" if has_tool else ""
        lines.append(f"{len(still) - MOST_ITEMS} more are open{where}.")
    if has_tool:
        lines.append(
            f"Keep the list up to date with {TOOL}: `start` a task when you begin it, `done` when it is "
            "finished."
        )
    return "\n".join(lines)


def _window(still: Sequence[IssueTodo]) -> Sequence[IssueTodo]:
    """Return at most five neighbours, from the one in progress on where enough follow it."""
    at = next((i for i, row in enumerate(still) if row.status == IssueTodoState.IN_PROGRESS.value), 0)
    begin = max(0, min(at, len(still) - MOST_ITEMS))
    return still[begin : begin + MOST_ITEMS]


def just_shown(messages: Sequence[ModelMessage]) -> bool:
    """Tell whether the newest turn of a conversation has shown the list already: a result of the tool,
    with nothing after it but what was put in between."""
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            continue
        return isinstance(message, ToolResultsMessage) and any(
            result.name == TOOL and not result.is_error for result in message.results
        )
    return False
