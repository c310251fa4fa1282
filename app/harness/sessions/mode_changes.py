"""A session's new mode: what is stored with it, and from when on it holds.

Owns: the audit row, and that no call is judged by the mode before. Never: the rules of a mode
(`tools.contract.modes`), or who changes it.
"""

from __future__ import annotations

from app.harness.conversation.session_rows import session_audit
from app.harness.projects.permissions import RuleScope
from app.harness.questions.queue import Questions
from app.harness.sessions.session_record import Statements
from app.storage.models import Session as SessionRow


def audited(row: SessionRow, mode: str, actor: str) -> Statements:
    """Return the statements that keep who has changed the mode of a session."""
    change = session_audit(row, "session.mode_changed", actor, {"mode": mode, "previous": row.mode})
    return lambda uow: uow.audit.add_many([change])


def scope_of(row: SessionRow) -> RuleScope:
    return RuleScope(row.project_id, row.id)


async def settle_open_requests(questions: Questions, row: SessionRow, mode: str, actor: str) -> None:
    """Refuse the open permission requests of a session that its new mode denies, and answer those that it
    allows."""
    await questions.refuse_denied(scope_of(row))
    await questions.apply_rules(scope_of(row), actor, f"mode:{mode}")
