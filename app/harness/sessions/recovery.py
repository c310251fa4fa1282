"""Start-up after a crash: everything that was under way is ended, answered and reported.

Owns: interrupted runs, a result for every open call (but one that a person was asked about), the end of every
open message, a checkpoint to resume from; one unit per session. Never: going on with a run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import ToolError
from app.events.payload import EventPayload, Origin
from app.events.sessions import SessionStateChanged
from app.events.union import MessageEnd, RunEnded, StepEnded
from app.harness.conversation.message_rows import tool_result
from app.harness.conversation.session_rows import (
    checkpoint_event,
    checkpoint_of,
    posted_event,
    session_audit,
)
from app.harness.delegation.rows import TASK_RESULT, task_result_row
from app.harness.loop.loop import INTERACTION
from app.harness.questions.rows import closed_event
from app.harness.run.answers import consents_of
from app.harness.run.tool_results import result_event
from app.harness.sessions.open_calls import result_message
from app.harness.stream.event_hub import EventHub
from app.ids import ROOT_AGENT, now_ms
from app.messages import Usage
from app.states import (
    InteractionState,
    RunState,
    SessionEvent,
    SessionState,
    ToolCallState,
    move,
    move_session,
)
from app.storage.models import (
    AuditEvent,
    Interaction,
    Message,
    MessageDetails,
    Run,
    Step,
    ToolCall,
)
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolEnvelope

log = logging.getLogger("kaged.recovery")

REASON = "daemon_restart"
ABORTED = "aborted by daemon restart; it may have partly run"
NOT_STARTED = "not started (daemon restart)"
NOT_RUN = "aborted by daemon restart while it waited for consent; it was not run"


async def recover(storage: Storage, hub: EventHub, project_id: str | None = None) -> int:
    """Put every session right in which something ran or was left open; return how many there were. With
    `project_id` only those of a project that another daemon owned."""
    await storage.write(lambda uow: uow.tool_calls.interrupt_direct(now_ms(), project_id))
    rows = [row for row in await storage.read(_under_way) if project_id in (None, row.project_id)]
    for row in rows:
        recovered = await storage.read(lambda uow, row=row: _Wreck(uow, row))  # type: ignore[misc]
        stream = await hub.stream(row.id)
        closings = recovered.closings()
        # Recorded in one turn of the loop, so that all of it is one unit.
        stored = [
            stream.record(
                closing.events,
                recovered.store if closing is closings[-1] else None,
                origin=closing.origin,
                durable=True,
            )
            for closing in closings
        ]
        await asyncio.gather(*stored)
        log.warning("session %s was running when the daemon stopped; it is %s now", row.id, recovered.after)
    await storage.write(lambda uow: _expire_all(uow, project_id))
    return len(rows)


async def to_wake(storage: Storage, project_id: str | None = None) -> list[str]:
    """Return the idle sessions in which an agent waits for the end of a background task; of one project when
    given."""
    return await storage.read(lambda uow: _waiting_for_a_task(uow, project_id))


def _under_way(uow: UnitOfWork) -> list[SessionRow]:
    """Return the sessions that are running, those with a task in the background, and those in which a run
    that has ended left a call or a message open: an outage of the storage does that."""
    found = {row.id: row for row in uow.sessions.in_states([SessionState.RUNNING.value])}
    for run in uow.runs.in_states([RunState.RUNNING.value, RunState.PENDING.value]):
        session = found.get(run.session_id) or uow.sessions.get(run.session_id)
        if session is not None:
            found[session.id] = session
    for session_id in {*uow.tool_calls.sessions_with_unfinished(), *uow.messages.sessions_with_incomplete()}:
        session = found.get(session_id) or uow.sessions.get(session_id)
        if session is not None:
            found[session.id] = session
    return list(found.values())


def _waiting_for_a_task(uow: UnitOfWork, project_id: str | None) -> list[str]:
    stopped = uow.runs.in_states([RunState.INTERRUPTED.value])
    found = []
    for session_id in dict.fromkeys(run.session_id for run in stopped if run.background):
        session = uow.sessions.get(session_id)
        if session is None or session.state != SessionState.IDLE.value:
            continue
        if project_id not in (None, session.project_id):
            continue
        if any(row.details.get("kind") == TASK_RESULT for row in uow.messages.queued(session_id)):
            found.append(session_id)
    return found


@dataclass(frozen=True, slots=True)
class _Closing:
    """The events of one run, or of the session."""

    events: list[EventPayload]
    origin: Origin


def _expire_all(uow: UnitOfWork, project_id: str | None) -> None:
    """Close the questions that no call waits for, which only a failing database leaves open."""
    for row in uow.interactions.pending_anywhere():
        session = uow.sessions.get(row.session_id)
        if project_id is not None and (session is None or session.project_id != project_id):
            continue
        paused = session is not None and session.state == SessionState.PAUSED.value
        if not (paused and _asked_by(row, uow.tool_calls.waiting(row.session_id))):
            _expire(uow, row, now_ms())


def _asked_by(question: Interaction, calls: Sequence[ToolCall]) -> bool:
    """Tell whether one of the calls has asked this, and the root agent for it."""
    ids = {call.call_id for call in calls if call.agent_path == ROOT_AGENT}
    return question.agent_path == ROOT_AGENT and question.tool_call_id in ids


def _expire(uow: UnitOfWork, row: Interaction, at: int) -> None:
    state = move(InteractionState(row.state), InteractionState.EXPIRED).value
    uow.interactions.close(row.id, state=state, closed_at=at)


class _Wreck:
    """What a crash left of one session, and the events and rows that put it right."""

    def __init__(self, uow: UnitOfWork, session: SessionRow) -> None:
        self.session = session
        self.runs = [
            run
            for run in uow.runs.in_states([RunState.RUNNING.value, RunState.PENDING.value])
            if run.session_id == session.id
        ]
        self.totals = uow.runs.totals([run.id for run in self.runs])
        self.messages = uow.messages.incomplete(session.id)
        self.was_running = session.state == SessionState.RUNNING.value or self._kept_its_run()
        unfinished = [call for call in uow.tool_calls.unfinished(session.id) if call.run_id is not None]
        pending, waiting = uow.interactions.pending(session.id), uow.tool_calls.waiting(session.id)
        asked = [*pending, *self._answered_without_place(uow, unfinished)]
        kept = [one for one in unfinished if any(_asked_by(question, [one]) for question in asked)]
        self.kept = kept if self.was_running else []
        self.calls = [call for call in unfinished if call not in self.kept]
        self.questions = [one for one in pending if not _asked_by(one, [*self.kept, *waiting])]
        ids = [run.id for run in self.runs]
        left = [message.run_id for message in self.messages] + [call.run_id for call in self.calls]
        every_id = dict.fromkeys([*ids, *sorted(one for one in left if one is not None)])
        self.steps = [step for one in every_id for step in uow.runs.steps(one) if step.ended_at is None]
        self.answered_steps = [
            step for run in self.runs for step in uow.runs.steps(run.id)[-1:] if step.ended_at is not None
        ]
        self.at = now_ms()
        position = uow.messages.last_position(session.id)
        self.results = [self._result(call, position + 1 + n) for n, call in enumerate(self.calls)]
        own = [row for row in self.results if row.agent_path == ROOT_AGENT]
        last = own[-1].id if own else self._last_message(uow)
        reason = INTERACTION if self.kept or waiting else REASON
        self.checkpoint = checkpoint_of(
            session.id, self.run_id, reason=reason, detail=None, created_by="daemon", cursor=last
        )
        self.task_results = [self._task_result(run) for run in self.runs if run.background]
        self.undelivered = [row.id for row in uow.messages.queued(session.id) if row.agent_path != ROOT_AGENT]

    @property
    def run_id(self) -> str | None:
        """The run of the root agent that was under way."""
        return next((run.id for run in reversed(self.runs) if run.parent_run_id is None), None)

    @property
    def after(self) -> SessionState:
        """The state of the session from now on."""
        before = SessionState(self.session.state)
        return move_session(before, SessionEvent.DAEMON_RESTARTED) if self.was_running else before

    def _kept_its_run(self) -> bool:
        """Tell whether the session had given up its place, with a run that was to go on."""
        waits = (SessionState.PAUSED.value, INTERACTION), (SessionState.QUEUED.value, "capacity")
        return self.run_id is not None and (self.session.state, self.session.state_reason) in waits

    def _answered_without_place(self, uow: UnitOfWork, calls: Sequence[ToolCall]) -> list[Interaction]:
        """Return the consents that the calls of a queued session have, none of which went on with it."""
        if self.session.state != SessionState.QUEUED.value:
            return []
        found = [one for call in calls for one in uow.interactions.of_call(call.session_id, call.call_id)]
        return [one for one in found if one.run_id == self.run_id and consents_of([one])]

    def closings(self) -> list[_Closing]:
        """The frames that close what clients have seen opened: children before their parents, each in
        the order of a normal run; the session last."""
        closings = [
            _Closing(self._events_of(run), Origin(run.id, run.agent_path, run.parent_call_id))
            for run in reversed(self.runs)
        ]
        if not self.runs:
            closings = [_Closing(self._events_of(None), Origin())]
        last: list[EventPayload] = [posted_event(row, queued=True) for row in self.task_results]
        if self.was_running:
            last.append(checkpoint_event(self.checkpoint))
            before, after = self.session.state, self.after.value
            if (before, self.session.state_reason) != (after, self.checkpoint.reason):
                last.append(SessionStateChanged(state=after, previous=before, reason=self.checkpoint.reason))
        return [*closings, _Closing(last, Origin(self.run_id))]

    def _events_of(self, run: Run | None) -> list[EventPayload]:
        """Return what closes one run; the first one's is also what belongs to none that was under way."""
        known = {one.id for one in self.runs[1:]}

        def own(run_id: str | None) -> bool:
            return run_id == run.id if run is not None and run.id in known else run_id not in known

        events: list[EventPayload] = [
            MessageEnd(message_id=message.id, stop_reason="aborted", error_message=ABORTED)
            for message in self.messages
            if own(message.run_id)
        ]
        expired = InteractionState.EXPIRED
        events += [closed_event(one, expired) for one in self.questions if own(one.run_id)]
        answered = zip(self.calls, self.results, strict=True)
        events += [
            result_event(row.session_id, call.message_id or "", row.id, tool_result(row), None)
            for call, row in answered
            if own(call.run_id)
        ]
        events += [
            StepEnded(
                step=step.number,
                message_id=step.message_id,
                stop_reason="aborted",
                tool_calls=sum(1 for call in self.calls if call.message_id == step.message_id),
            )
            for step in self._open_steps()
            if own(step.run_id)
        ]
        if run is not None:
            events.append(self._run_ended(run))
        return events

    def _task_result(self, run: Run) -> Message:
        content = (
            f"The task in the background that was given to {run.agent_path} (run {run.id}) was not done: "
            f"{ABORTED}. Give it again if it is still needed."
        )
        return task_result_row(
            run.session_id,
            ROOT_AGENT,
            content,
            child_path=run.agent_path,
            run_id=run.id,
            state=RunState.INTERRUPTED.value,
        )

    def store(self, uow: UnitOfWork) -> None:
        for message in self.messages:
            uow.messages.update(message.id, complete=True, details=self._details(message))
        for question in self.questions:
            _expire(uow, question, self.at)
        for call, row in zip(self.calls, self.results, strict=True):
            uow.messages.add(row)
            state = move(ToolCallState(call.state), ToolCallState.INTERRUPTED).value
            uow.tool_calls.update(
                call.id, state=state, error_code="aborted", result_message_id=row.id, ended_at=self.at
            )
        for call in self.kept:
            uow.tool_calls.update(call.id, state=move(ToolCallState(call.state), ToolCallState.WAITING).value)
        for step in self.steps:
            uow.runs.update_step(step.run_id, step.number, stop_reason="aborted", ended_at=self.at)
        for run in self.runs:
            state = move(RunState(run.state), RunState.INTERRUPTED).value
            uow.runs.update(run.id, state=state, reason=REASON, ended_at=self.at)
        for row in self.task_results:
            uow.messages.add(row)
        for message_id in self.undelivered:  # its waiter is gone: the root agent gets it
            uow.messages.update(message_id, agent_path=ROOT_AGENT)
        if self.was_running:
            uow.checkpoints.add(self.checkpoint)
            values = {
                "state": self.after.value,
                "state_reason": self.checkpoint.reason,
                "updated_at": self.at,
            }
            uow.sessions.update(self.session.id, **values)
        uow.audit.add_many([self._audit()])

    def _details(self, message: Message) -> MessageDetails:
        """Return what is stored beside the partial text, with the calls that were asked for.

        A call is stored when it is asked for, the message only now and then: without this a model
        that goes on would see neither the call nor its result."""
        details: MessageDetails = {**message.details, "stopReason": "aborted", "errorMessage": ABORTED}
        blocks = list(details.get("contentBlocks", ()))
        known = {block.get("id") for block in blocks}
        asked = [c for c in self.calls if c.message_id == message.id and c.call_id not in known]
        if asked:
            if not blocks and message.content:
                blocks.append({"type": "text", "text": message.content})
            blocks += [
                {"type": "tool_call", "id": c.call_id, "name": c.name, "arguments": c.arguments}
                for c in asked
            ]
            details["contentBlocks"] = blocks
        return details

    def _open_steps(self) -> list[Step]:
        """Steps without an event of their end: the model call was cut off, or its calls were."""
        cut_off_calls = {(call.run_id, call.step) for call in (*self.calls, *self.kept)}
        answered = [step for step in self.answered_steps if (step.run_id, step.number) in cut_off_calls]
        return [*self.steps, *answered]

    def _result(self, call: ToolCall, position: int) -> Message:
        unstarted = NOT_STARTED if call.state == ToolCallState.PENDING.value else ABORTED
        unanswered = any(question.tool_call_id == call.call_id for question in self.questions)
        text = NOT_RUN if unanswered else unstarted
        return result_message(call, position, ToolEnvelope.of_error(ToolError("aborted", text)))

    def _run_ended(self, run: Run) -> RunEnded:
        usage = Usage(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            reasoning_tokens=run.reasoning_tokens,
            cache_read_tokens=run.cache_read_tokens,
            cache_write_tokens=run.cache_write_tokens,
        )
        return RunEnded(
            run_id=run.id,
            state=RunState.INTERRUPTED.value,
            reason=REASON,
            steps=run.step_count,
            usage=usage,
            cost_usd=run.cost_usd,
            total_usage=self.totals[run.id].usage,
            total_cost_usd=self.totals[run.id].cost_usd,
            duration_ms=None,
        )

    def _last_message(self, uow: UnitOfWork) -> str | None:
        history = uow.messages.history(self.session.id, ROOT_AGENT)
        return history[-1].id if history else None

    def _audit(self) -> AuditEvent:
        data = {"calls": len(self.calls), "messages": len(self.messages), "steps": len(self.steps)}
        return session_audit(self.session, "session.recovered", "daemon", data, run_id=self.run_id)
