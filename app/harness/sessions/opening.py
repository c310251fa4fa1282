"""A new session that begins with a conversation that its client brings.

Owns: the session's rows and those of the messages before its first one. Never: the message that it then runs
(`session`), or a client's protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.harness.conversation.session_rows import session_audit
from app.harness.dsl.agent_view import OVERRIDE
from app.ids import ROOT_AGENT, new_id, now_ms
from app.storage.models import Message, MessageDetails
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

Role = Literal["operator", "primary", "system"]
CLIENT_SYSTEM = "client_system"
"""What kind of message of the daemon has the instructions of a client."""
_BEGINS = "The conversation begins with an answer of the assistant."


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation: an operator's, an answer, or instructions of the client (`system`)."""

    role: Role
    content: str
    attachments: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """The agent that a new session talks to, by its path, and what was said before. Nobody is asked in it
    while it is `headless`."""

    project_id: str
    agent_path: str
    turns: Sequence[Turn] = ()
    title: str = ""
    headless: bool = True


def opened_session(opening: Opening, compiled_digest: str, actor: str) -> SessionRow:
    """Return the row of the new session."""
    at = now_ms()
    return SessionRow(
        id=new_id("ses"),
        project_id=opening.project_id,
        title=opening.title,
        headless=opening.headless,
        overrides={} if opening.agent_path == ROOT_AGENT else {OVERRIDE: opening.agent_path},
        compiled_digest=compiled_digest,
        created_by=actor,
        created_at=at,
        updated_at=at,
    )


def storing(session: SessionRow, turns: Sequence[Turn]) -> Callable[[UnitOfWork], None]:
    """Return the work of storing a session with its conversation."""
    if turns and turns[0].role == "primary":  # which not every provider takes as the first message
        turns = (Turn("system", _BEGINS), *turns)
    rows = [_row(session, turn, place) for place, turn in enumerate(turns, start=1)]
    audit = session_audit(session, "session.opened_with", session.created_by, {"messages": len(rows)})

    def statements(uow: UnitOfWork) -> None:
        uow.sessions.add(session)
        if rows:
            uow.messages.add_many(rows)
            uow.audit.add_many([audit])

    return statements


def _row(session: SessionRow, turn: Turn, place: int) -> Message:
    return Message(
        id=new_id("msg"),
        session_id=session.id,
        position=place,
        role=turn.role,
        content=_instructions(turn.content) if turn.role == "system" else turn.content,
        details=_details(turn, session.created_by),
        created_at=session.created_at,
    )


def _details(turn: Turn, actor: str) -> MessageDetails:
    if turn.role == "primary":
        return {"stopReason": "stop"}
    details: MessageDetails = {"createdBy": actor}
    if turn.role == "system":
        details["kind"] = CLIENT_SYSTEM
    if turn.attachments:
        details["attachments"] = [dict(attachment) for attachment in turn.attachments]
    return details


def _instructions(text: str) -> str:
    return f"<client_instructions>\n{text}\n</client_instructions>"
