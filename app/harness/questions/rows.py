"""Questions to people as rows and events. Pure.

Owns: the rows, events and audit rows of questions of every kind. Never: waiting or storing.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import orjson

from app.events.interactions import InteractionAnswered, InteractionRequested
from app.events.payload import EventPayload
from app.events.union import INLINE_BYTES
from app.harness.questions.consent_rows import answered_event, interaction_row
from app.harness.run.scope import Scope
from app.ids import now_ms
from app.observability import Redactor
from app.states import InteractionState, move
from app.storage.models import AuditEvent, Interaction
from app.tools.contract.ports import HumanQuestion
from app.tools.dispatch.redaction import redacted

PERMISSION = "permission"
AskedKind = Literal["ask", "form", "question", "plan"]


def asked_row(scope: Scope, call_id: str, question: HumanQuestion) -> Interaction:
    """Return the row of a new question of a tool call."""
    return interaction_row(scope, call_id, question.kind, question.request)


def asked_data(row: Interaction) -> dict[str, Any]:
    """Return what the audit keeps of a new question."""
    call = {"interaction_id": row.id, "call_id": row.tool_call_id, "kind": row.kind}
    return {**call, "request": redacted(row.request)}


def requested_event(row: Interaction) -> InteractionRequested:
    """Return the event of a new question."""
    inline = _inline(row.request)
    return InteractionRequested(
        interaction_id=row.id,
        tool_call_id=row.tool_call_id or "",
        kind=cast(AskedKind, row.kind),
        request=row.request if inline else None,
        request_ref=None if inline else address_of(row),
    )


def closed_event(
    row: Interaction,
    state: InteractionState,
    *,
    answer: dict[str, Any] | None = None,
    actor: str | None = None,
) -> EventPayload:
    """Return the event of a question that is not open any more. An answer that consents, or does not, has
    an event of its own (`consent_rows`)."""
    if row.kind == PERMISSION:
        return answered_event(row, state=state)
    inline = answer is None or _inline(answer)
    return InteractionAnswered(
        interaction_id=row.id,
        tool_call_id=row.tool_call_id or "",
        kind=cast(AskedKind, row.kind),
        state=state.value,
        answer=answer if inline else None,
        answer_ref=None if inline else address_of(row),
        answered_by=actor,
    )


def closed_values(
    row: Interaction,
    state: InteractionState,
    *,
    answer: dict[str, Any] | None = None,
    actor: str | None = None,
) -> dict[str, Any]:
    """Return the columns of a question that is closed now."""
    values: dict[str, Any] = {"state": move(InteractionState(row.state), state).value, "closed_at": now_ms()}
    if state is InteractionState.ANSWERED:
        values |= {"answer": answer, "answered_by": actor}
    return values


def answered_audit(
    row: Interaction, project_id: str, actor: str, answer: dict[str, Any], redactor: Redactor
) -> AuditEvent:
    """Return the audit row of an answer."""
    permission, state = row.kind == PERMISSION, InteractionState.ANSWERED
    data = {
        "interaction_id": row.id,
        "call_id": row.tool_call_id,
        "kind": row.kind,
        "state": state.value,
        **(answer if permission else {"answer": redacted(answer)}),
    }
    return AuditEvent(
        created_at=now_ms(),
        event="permission.answered" if permission else "interaction.answered",
        actor=actor,
        project_id=project_id,
        session_id=row.session_id,
        run_id=row.run_id,
        agent_path=row.agent_path,
        data=redactor.data(data),
    )


def address_of(row: Interaction) -> str:
    """Return where the whole question can be read."""
    return f"/api/v1/sessions/{row.session_id}/interactions/{row.id}"


def _inline(value: dict[str, Any]) -> bool:
    return len(orjson.dumps(value)) <= INLINE_BYTES
