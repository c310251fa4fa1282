"""An answer to a question that no run waits for: stored, and made the result of its call.

Owns: the one unit of work that closes the question and ends the call. Never: checking the answer
(`checking`), or whether the session goes on (`session`, which holds its lock while it calls this).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.events.payload import EventPayload, Origin
from app.harness.conversation.message_rows import tool_result
from app.harness.loop.run_services import RunServices
from app.harness.questions.rows import PERMISSION, answered_audit, closed_values
from app.harness.run.run_context import OpenStep
from app.harness.run.tool_results import result_event
from app.harness.sessions.mode_changes import audited, scope_of
from app.harness.sessions.open_calls import OpenCall, open_calls, result_message
from app.harness.sessions.session_parts import SessionParts
from app.harness.sessions.session_record import updated_event
from app.ids import now_ms
from app.states import InteractionState, ToolCallState, move
from app.storage.keyed_effect import effect
from app.storage.models import AuditEvent, Interaction, Message
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.modes import ModeName


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer that fits its question. `envelope` is the result of the call, None when the call is let run
    by the next run; `event` is that of the answer, `statements` store what comes with it in the same unit.
    `mode` is the one that the answer puts the session into."""

    answer: dict[str, Any]
    event: EventPayload
    envelope: ToolEnvelope | None
    statements: Callable[[UnitOfWork], None]
    mode: ModeName | None = None


class Answering:
    """The answers of one session. Callers hold its lock. `step` gives the calls of its active run that are
    at work now."""

    def __init__(
        self, parts: SessionParts, services: RunServices, step: Callable[[], OpenStep | None]
    ) -> None:
        self._parts = parts
        self._services = services
        self._step = step
        self.taken_by_step = False
        """Whether the run that asked has taken the answer, and continues with it."""

    async def find(self, interaction_id: str) -> OpenCall | None:
        """Return the call that waits for an answer; None when none does."""
        storage, session_id = self._services.storage, self._parts.id
        found = await storage.read(lambda uow: open_calls(uow, session_id))
        return next((one for one in found if one.question and one.question.id == interaction_id), None)

    async def store(self, one: OpenCall, checked: CheckedAnswer, actor: str) -> Interaction | None:
        """Store the answer with all that comes of it; None when the question was closed meanwhile."""
        question = one.question
        assert question is not None
        step, history = self.step_of(one), await self._parts.conversation.load()
        place = None if step is None else step.waiting_call(one.call.call_id)
        row: Message | None = None
        events = [checked.event]
        if checked.envelope is not None:
            row = result_message(one.call, place or history.take_position(), checked.envelope)
            events.append(
                result_event(row.session_id, one.call.message_id or "", row.id, tool_result(row), None)
            )
        record, mode = self._parts.record, checked.mode
        changed = record.row if mode is None else record.row.model_copy(update={"mode": mode})
        mode_audit = audited(record.row, changed.mode, actor)
        if mode is not None:
            events.append(updated_event(changed))
        state = InteractionState.ANSWERED
        values = closed_values(question, state, answer=checked.answer, actor=actor)
        audit = self._audit(one, checked, actor)

        def statements(uow: UnitOfWork) -> bool:
            if not uow.interactions.close(question.id, **values):
                return False
            checked.statements(uow)
            if mode is not None:
                uow.sessions.update(changed.id, mode=mode)
                mode_audit(uow)
            if row is not None and checked.envelope is not None:
                uow.messages.add(row)
                uow.tool_calls.update(one.call.id, **_ended(one, checked.envelope, row))
            uow.audit.add_many(audit)
            return True

        closed = question.model_copy(update=values)
        kept = effect(statements, lambda done: closed if done else None)
        stored = await asyncio.shield(
            self._parts.stream.record(
                events, kept, origin=Origin(question.run_id, question.agent_path), durable=True
            )
        )
        if not stored:
            return None
        if mode is not None:
            record.row = record.row.model_copy(update={"mode": mode})
            self._services.questions.rules.changed(scope_of(record.row))
        if row is not None:
            result = tool_result(row)
            if step is not None and self.step_of(one) is step:
                step.take_result(row.id, result)
                self.taken_by_step = True
            else:
                history.answer_call(one.call.call_id, row.id, result)
        return closed

    def step_of(self, one: OpenCall) -> OpenStep | None:
        """Return the step that the call belongs to while its other calls are at work."""
        step = self._step()
        waits = step is not None and step.waiting_call(one.call.call_id) is not None
        return step if waits and one.question is not None and one.question.kind != PERMISSION else None

    # -- inside -----------------------------------------------------------------------------

    def _audit(self, one: OpenCall, checked: CheckedAnswer, actor: str) -> list[AuditEvent]:
        question, call, at = one.question, one.call, now_ms()
        assert question is not None
        project_id, redactor = self._parts.record.row.project_id, self._services.redactor
        noted = answered_audit(question, project_id, actor, checked.answer, redactor)
        if checked.envelope is None:
            return [noted]
        completed: dict[str, Any] = {
            "tool_name": call.name,
            "call_id": call.call_id,
            "duration_ms": at - question.created_at,
            "success": not checked.envelope.is_error,
        }
        if checked.envelope.is_error:
            completed["code"] = checked.envelope.code
        ended = noted.model_copy(update={"event": "tool.completed", "data": completed})
        return [noted, ended]


def _ended(one: OpenCall, envelope: ToolEnvelope, row: Message) -> dict[str, Any]:
    state = ToolCallState.FAILED if envelope.is_error else ToolCallState.SUCCEEDED
    return {
        "state": move(ToolCallState(one.call.state), state).value,
        "error_code": envelope.code,
        "result_message_id": row.id,
        "ended_at": now_ms(),
    }
