"""A checklist as text: what agents read, and what pages show as Markdown.

Owns: the marks of the states and where notes are shown. Pure. Never: which entries there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from app.states import IssueTodoState
from app.storage.models import IssueTodo

MARKS = {
    IssueTodoState.PENDING.value: "[ ]",
    IssueTodoState.IN_PROGRESS.value: "[>]",
    IssueTodoState.COMPLETED.value: "[x]",
    IssueTodoState.ABANDONED.value: "[-]",
}


def markdown(rows: Iterable[IssueTodo]) -> str:
    """Return one line for each entry; the notes of the one in progress stand below it."""
    return "\n".join(line for row in rows for line in (_line(row), *_notes(row)))


def bounded_line(row: IssueTodo, characters: int) -> str:
    """Return the line of one entry with so much of its content at most."""
    return _line(row, characters)


def bounded_notes(row: IssueTodo, characters: int, count: int) -> list[str]:
    """Return the newest notes of an entry as lines, so much of each at most."""
    return [_note(note, characters) for note in _newest(row.notes, count)]


def _line(row: IssueTodo, characters: int | None = None) -> str:
    content = _cut(row.content, characters)
    return f"- {MARKS.get(row.status, '[ ]')} {content}{_remark(row)}"


def _remark(row: IssueTodo) -> str:
    if row.kind != "criterion":
        return ""
    if row.accepted_at is not None:
        return " (criterion, accepted)"
    if row.status == IssueTodoState.COMPLETED.value:
        return " (criterion, claimed)"
    return " (criterion)"


def _notes(row: IssueTodo) -> list[str]:
    if row.status != IssueTodoState.IN_PROGRESS.value:
        return []
    return [_note(note, None) for note in row.notes]


def _note(note: Any, characters: int | None) -> str:
    text = str(note.get("text", "")) if isinstance(note, dict) else str(note)
    return f"  → {_cut(' '.join(text.split()), characters)}"


def _newest(notes: Sequence[Any], count: int) -> Sequence[Any]:
    return notes[max(0, len(notes) - count) :]


def _cut(text: str, characters: int | None) -> str:
    return text if characters is None or len(text) <= characters else f"{text[:characters]}..."
