"""What a session is told when prompts have new texts, and what the audit trail keeps of it.

Owns: that event and its row. Never: reading prompts (`store`), or which sessions are told.
"""

from __future__ import annotations

from collections.abc import Callable

from app.events import PromptReloaded
from app.harness.workflows.narrowed import prompts_for
from app.ids import now_ms
from app.storage.models import AuditEvent
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork


def reloaded(
    session: SessionRow, paths: tuple[str, ...]
) -> tuple[PromptReloaded, Callable[[UnitOfWork], None]] | None:
    """Return the event for a session, of the prompts that it uses, with the work that puts it into the
    audit trail; None when it uses none of them."""
    own = prompts_for(session, paths)
    if not own:
        return None
    told = PromptReloaded(agents=own)
    row = AuditEvent(
        created_at=now_ms(),
        event=told.TYPE,
        actor="daemon",
        project_id=session.project_id,
        session_id=session.id,
        data=told.wire(),
    )
    return told, lambda uow: uow.audit.add_many([row])
