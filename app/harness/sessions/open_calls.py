"""Calls of the root agent that wait for a person while no run waits for them.

Owns: which they are, with the questions that they wait for, and how they are closed without an answer.
Never: answering (`answering`) or running them (`loop`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.errors import ToolError
from app.events.payload import EventPayload
from app.harness.conversation.history import History
from app.harness.conversation.message_rows import tool_result
from app.harness.questions.rows import closed_event, closed_values
from app.harness.run.answers import WaitingCall, consents_of
from app.harness.run.tool_results import result_event
from app.ids import ROOT_AGENT, new_id, now_ms
from app.states import InteractionState, ToolCallState, move
from app.storage.models import Interaction, Message, MessageDetails, ToolCall
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolEnvelope

RESUMED = "The session went on without an answer to this. Go on with your best guess, or ask again."
STOPPED = "The session was stopped before this was answered; the call was not run."
ROLLED_BACK = "The session was rolled back before this was answered; the call was not run."
COPIED = "This was still unanswered where the conversation was copied; nobody answers it here."


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that waits. `question` is the one that is open; without one it waits to be run by the next
    run, with the consent that was given."""

    call: ToolCall
    question: Interaction | None


@dataclass(slots=True)
class Closing:
    """The end of open calls: the events, and what is stored in the same unit."""

    events: list[EventPayload] = field(default_factory=list)
    rows: list[Message] = field(default_factory=list)
    _questions: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def store(self, uow: UnitOfWork) -> None:
        for interaction_id, values in self._questions:
            uow.interactions.close(interaction_id, **values)
        for row in self.rows:
            uow.messages.add(row)
        for call_id, values in self._calls:
            uow.tool_calls.update(call_id, **values)

    def add_to(self, history: History) -> None:
        """Put the results into the conversation in memory."""
        for row in self.rows:
            result = tool_result(row)
            history.answer_call(result.tool_call_id, row.id, result)

    def close(self, one: OpenCall, position: int, envelope: ToolEnvelope) -> None:
        """Add the end of a call that was not answered."""
        if one.question is not None:
            state = InteractionState.CANCELLED
            self._questions.append((one.question.id, closed_values(one.question, state)))
            self.events.append(closed_event(one.question, state))
        row = result_message(one.call, position, envelope)
        self.rows.append(row)
        self.events.append(
            result_event(row.session_id, one.call.message_id or "", row.id, tool_result(row), None)
        )
        state_now = move(ToolCallState(one.call.state), ToolCallState.CANCELLED).value
        ended = {"error_code": envelope.code, "result_message_id": row.id, "ended_at": now_ms()}
        self._calls.append((one.call.id, {"state": state_now, **ended}))


def open_calls(uow: UnitOfWork, session_id: str) -> list[OpenCall]:
    """Return the calls of a session that wait, in the order asked."""
    waiting = uow.tool_calls.waiting(session_id)
    if not waiting:
        return []
    asked = uow.interactions.pending(session_id)
    questions = {one.tool_call_id: one for one in asked if one.agent_path == ROOT_AGENT}
    return [OpenCall(call, questions.get(call.call_id)) for call in waiting]


def closing_of(calls: Sequence[OpenCall], first_position: int, text: str) -> Closing:
    """Return the end of calls without an answer; their results take places from `first_position` on."""
    closing = Closing()
    envelope = ToolEnvelope.of_error(ToolError("not_answered", text))
    for place, one in enumerate(calls, first_position):
        closing.close(one, place, envelope)
    return closing


def unanswered_results(calls: Sequence[OpenCall], rows: Sequence[Message]) -> list[Message]:
    """Return results for the calls that wait in the step at the end of a copied conversation: nobody
    answers them there."""
    if not calls or calls[0].call.message_id not in {row.id for row in rows}:
        return []
    envelope = ToolEnvelope.of_error(ToolError("not_answered", COPIED))
    last = max(row.position or 0 for row in rows)
    return [result_message(one.call, last + n, envelope) for n, one in enumerate(calls, 1)]


async def close_open_calls(
    storage: Storage, session_id: str, history: History, text: str, *, only_unanswered: bool = False
) -> Closing:
    """Return the end of a session's open calls, empty when there are none; hold its lock.

    With `only_unanswered` those stay that wait for the next run alone."""
    if not history.waiting:
        return Closing()
    found = await storage.read(lambda uow: open_calls(uow, session_id))
    if only_unanswered:
        found = [one for one in found if one.question is not None]
    return closing_of(found, history.take_position(len(found)), text) if found else Closing()


def result_message(call: ToolCall, position: int | None, envelope: ToolEnvelope) -> Message:
    """Return the message with the result of a stored call."""
    details: MessageDetails = {"toolCallId": call.call_id, "toolName": call.name}
    if envelope.is_error:
        details["isError"], details["code"] = True, envelope.code
    return Message(
        id=new_id("msg"),
        session_id=call.session_id,
        run_id=call.run_id,
        agent_path=call.agent_path,
        position=position,
        role="tool",
        content=envelope.model_text(),
        details=details,
        created_at=now_ms(),
    )


async def waiting_calls(storage: Storage, session_id: str, history: History) -> tuple[WaitingCall, ...]:
    """Return the calls of a session that wait to be run, each with the consents given to it; those that a
    question is open for are not among them."""
    if not history.waiting:
        return ()

    def read(uow: UnitOfWork) -> tuple[WaitingCall, ...]:
        found = [one.call for one in open_calls(uow, session_id) if one.question is None]
        return tuple(WaitingCall(call, consents_of(_asked_by(uow, call))) for call in found)

    return await storage.read(read)


def _asked_by(uow: UnitOfWork, call: ToolCall) -> list[Interaction]:
    """Return what a call has asked since it was started; providers may use the same id again and again."""
    asked = uow.interactions.of_call(call.session_id, call.call_id)
    since = call.started_at or 0
    return [one for one in asked if one.agent_path == call.agent_path and one.created_at >= since]
