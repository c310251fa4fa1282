"""The events and audit rows of prompts that have new texts or cannot be read.

Owns: these events and their rows. Never: reading prompts (`store`), or which sessions get them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from app.events.payload import EventPayload
from app.events.sessions import PromptFailed, PromptReloaded, UnusablePrompt
from app.harness.dsl.paths import display_path
from app.harness.dsl.workflow_view import prompts_for
from app.harness.projects.prompts.store import PromptFailure
from app.ids import now_ms
from app.storage.models import AuditEvent
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork


def prompt_events(
    session: SessionRow, changed: tuple[str, ...], failed: Collection[PromptFailure], root: Path
) -> tuple[list[EventPayload], Callable[[UnitOfWork], None]] | None:
    """Return the events for a session, of the prompts that it uses, with the work that puts them into the
    audit trail; None when it uses none of them."""
    events: list[EventPayload] = []
    if own := prompts_for(session, changed):
        events.append(PromptReloaded(agents=own))
    unusable = tuple(
        UnusablePrompt(agent_path=seen, file=display_path(Path(failure.file), root), message=failure.message)
        for failure in failed
        for seen in prompts_for(session, (failure.agent_path,))
    )
    if unusable:
        events.append(PromptFailed(prompts=unusable))
    if not events:
        return None
    rows = [_row(session, event) for event in events]
    return events, lambda uow: uow.audit.add_many(rows)


def _row(session: SessionRow, event: EventPayload) -> AuditEvent:
    return AuditEvent(
        created_at=now_ms(),
        event=event.TYPE,
        actor="daemon",
        project_id=session.project_id,
        session_id=session.id,
        data=event.wire(),
    )
