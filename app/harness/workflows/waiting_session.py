"""A new session that waits, with its first message, for a place to run.

Owns: its rows. They are stored in one unit with whatever asks for the session: from then on it begins by
itself, also after a restart. Never: storing or starting it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.harness.conversation.session_rows import operator_message, waiting_message
from app.ids import new_id, now_ms
from app.states import SessionState
from app.storage.models import Message, Workspace
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """The rows of a session that waits for capacity, of the message that it begins with, and of the folder of
    its own in which it works, if any."""

    row: SessionRow
    message: Message
    workspace: Workspace | None = None

    def placed_in(self, workspace: Workspace) -> WaitingSession:
        """Return the same in a folder of its own, of which the row is stored with it."""
        row = self.row.model_copy(update={"workspace_id": workspace.id})
        return replace(self, row=row, workspace=workspace.model_copy(update={"session_id": row.id}))

    def store(self, uow: UnitOfWork) -> None:
        """Add all of them to a unit of work."""
        uow.sessions.add(self.row)
        if self.workspace is not None:
            uow.workspaces.add(self.workspace)
        uow.messages.add(self.message)


def waiting_session(
    project_id: str,
    compiled_digest: str | None,
    content: str,
    *,
    title: str,
    created_by: str,
    kind: str = "chat",
    issue_number: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> WaitingSession:
    """Return the rows of a session that runs `content` as soon as there is capacity."""
    at = now_ms()
    row = SessionRow(
        id=new_id("ses"),
        project_id=project_id,
        title=short_title(title),
        kind=kind,
        state=SessionState.QUEUED.value,
        state_reason="capacity",
        issue_number=issue_number,
        overrides=dict(overrides or {}),
        compiled_digest=compiled_digest,
        created_by=created_by,
        created_at=at,
        updated_at=at,
    )
    message = operator_message(row.id, content, (), None, created_by)
    return WaitingSession(row, waiting_message(message, steer=False))


def short_title(text: str) -> str:
    """Return a text as one line that fits into a title."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"
