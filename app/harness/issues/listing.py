"""A checklist as agents and clients get it.

Owns: which entries are shown, and how. Pure. Never: their order or their state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.events.issues import TodoChange, TodoChanged, WireTodo
from app.events.union import INLINE_BYTES
from app.harness.issues.checklist_text import markdown
from app.harness.issues.matching import is_live, is_open
from app.storage.models import Issue, IssueTodo
from app.tools.planning.todo import TodoEntry, TodoResult

MOST_ABANDONED = 20
"""What was given up is history: of more than these an agent sees the newest."""


def listing_of(rows: Sequence[IssueTodo]) -> TodoResult:
    """Return a list as an agent is answered; `rows` are in their order."""
    given_up = [row.id for row in rows if not is_live(row)]
    left_out = set(given_up[: max(0, len(given_up) - MOST_ABANDONED)])
    shown = [row for row in rows if row.id not in left_out]
    entries = [_entry(row) for row in shown]
    return TodoResult(todos=entries, markdown=markdown(shown), left_out=len(left_out) or None)


def todo_event(issue: Issue, rows: Sequence[IssueTodo], change: TodoChange, actor: str) -> TodoChanged:
    """Return the event of a change; a list that is too long for a frame is named by its address."""
    live = [row for row in rows if is_live(row)]
    small = sum(len(row.content.encode()) + 300 for row in live) <= INLINE_BYTES
    return TodoChanged(
        issue_id=issue.id,
        number=issue.number,
        project_id=issue.project_id,
        change=change,
        actor=actor,
        open=sum(map(is_open, live)),
        total=len(live),
        todos=tuple(_wire(row) for row in live) if small else None,
        todos_ref=None if small else f"/api/v1/projects/{issue.project_id}/issues/{issue.number}/todos",
    )


def _entry(row: IssueTodo) -> TodoEntry:
    values: dict[str, Any] = {
        "id": row.id,
        "content": row.content,
        "status": row.status,
        "kind": row.kind,
        "phase": row.phase,
        "position": row.position,
        "completed_at": None if row.completed_at is None else row.completed_at // 1000,
        "accepted": row.accepted_at is not None if row.kind == "criterion" else None,
        "origin_agent": row.origin_agent,
        "notes": [str(note.get("text", "")) for note in row.notes if isinstance(note, dict)] or None,
    }
    return TodoEntry(**values)


def _wire(row: IssueTodo) -> WireTodo:
    values = {name: getattr(row, name) for name in WireTodo.model_fields if name != "accepted"}
    return WireTodo(**values, accepted=row.accepted_at is not None)
