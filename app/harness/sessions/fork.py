"""A new session with another one's conversation up to a message.

Owns: what is copied. Only the root agent's messages are: what its children said is in their results, and
their conversations stay with the session that they were in. Never: changing the session that is forked.
"""

from __future__ import annotations

from collections.abc import Callable

from app.harness.conversation.session_rows import session_audit
from app.harness.sessions.history_at import conversation_at
from app.harness.sessions.open_calls import open_calls, unanswered_results
from app.harness.sessions.point import point_at
from app.ids import ROOT_AGENT, new_id, now_ms
from app.storage.models import Message, PromptEdit
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

MARK = " (fork)"
MAX_TITLE = 200


def fork_of(uow: UnitOfWork, session_id: str, message_id: str) -> tuple[list[Message], list[PromptEdit]]:
    """Return the messages as they were at a point, also those that were superseded since, and the edits
    of prompts that hold. A call that waits for a person has a result in the fork that says so: nobody
    answers it there. Raises `NotFound`, or `Conflict` for a message that is no point."""
    point = point_at(uow, session_id, message_id)
    rows = [row for row in conversation_at(uow, session_id, point) if row.agent_path == ROOT_AGENT]
    rows += unanswered_results(open_calls(uow, session_id), rows)
    edits = {row.target: row for row in uow.prompt_edits.of_session(session_id) if row.applied_at is not None}
    return rows, list(edits.values())


def new_session(source: SessionRow, actor: str) -> SessionRow:
    """Return the row of a fork: the same project as it was compiled, the same overrides and mode, and what
    plugins said at the start, which the conversation goes on from."""
    at = now_ms()
    return SessionRow(
        id=new_id("ses"),
        project_id=source.project_id,
        title=(source.title[: MAX_TITLE - len(MARK)] + MARK).strip(),
        headless=source.headless,
        mode=source.mode,
        overrides=dict(source.overrides),
        compiled_digest=source.compiled_digest,
        recalled_at=source.recalled_at,
        recalled_digest=source.recalled_digest,
        created_by=actor,
        created_at=at,
        updated_at=at,
    )


def storing(
    source_id: str, message_id: str, session: SessionRow, rows: list[Message], edits: list[PromptEdit]
) -> Callable[[UnitOfWork], None]:
    """Return the work of storing a fork with copies of the messages, under ids of their own."""
    copies = [
        row.model_copy(
            update={
                "id": new_id("msg"),
                "session_id": session.id,
                "run_id": None,
                "position": place,
                "superseded": False,
                "superseded_by": None,
            }
        )
        for place, row in enumerate(rows, start=1)
    ]
    kept = [row.model_copy(update={"id": new_id("ped"), "session_id": session.id}) for row in edits]
    data = {"from_session": source_id, "message_id": message_id, "messages": len(copies)}
    audit = session_audit(session, "session.forked", session.created_by, data)

    def statements(uow: UnitOfWork) -> None:
        uow.sessions.add(session)
        uow.messages.add_many(copies)
        uow.prompt_edits.add_many(kept)
        uow.audit.add_many([audit])

    return statements
