"""Tasks that an agent does not wait for: what becomes of their end.

Owns: telling the agent that started one, at its next boundary, or with a run of its own when the session
is idle. Never: running the child. The end of the run and the message about it are stored in one unit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from app.errors import KagedError, StorageOutage, ToolError
from app.events.payload import EventPayload
from app.harness.conversation.inbox import Inbox
from app.harness.conversation.session_rows import posted_event, put_all
from app.harness.delegation.answers import answer_of
from app.harness.delegation.delegations import Delegations, ended_facts
from app.harness.delegation.hooks import Delegation
from app.harness.delegation.rows import task_result_row
from app.harness.loop.active_run import ActiveRun
from app.harness.sessions.capacity import Claim
from app.harness.sessions.session_record import SessionRecord
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.session_waits import SessionWaits
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.models import AuditEvent, Message
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.child_answer import ChildAnswer

log = logging.getLogger("kaged.delegation")

ROOT_AGENT = "primary"


class Starter(Protocol):
    """The session that the tasks belong to. Its runs begin and its state moves under `lock` alone."""

    lock: asyncio.Lock
    stream: SessionStream
    record: SessionRecord
    inbox: Inbox
    active: ActiveRun | None
    closed: bool
    delegations: Delegations
    waits: SessionWaits

    @property
    def id(self) -> str: ...

    @property
    def row(self) -> SessionRow: ...

    def claim(self) -> Claim: ...

    def release_place(self) -> None: ...

    def wait_for_capacity(self) -> None: ...

    async def begin(self, message: Message | None, event: SessionEvent) -> ActiveRun: ...


class BackgroundTasks:
    """The background tasks of one session."""

    def __init__(self, session: Starter, services: SessionServices) -> None:
        self._session = session
        self._services = services

    async def task_ended(
        self,
        delegation: Delegation,
        active: ActiveRun,
        events: Sequence[EventPayload],
        store: Callable[[UnitOfWork], None],
    ) -> None:
        """Store the end of a task, and tell the agent that started it, or the root agent when that one
        is over itself. After an operator's cancel nothing is started because of it."""
        session = self._session
        async with session.lock:
            del session.delegations.live[active.run_id]
            try:
                await self._notify(delegation, active, events, store)
            finally:
                if session.active is None:
                    session.release_place()
                session.waits.look()

    async def forward(self, rows: list[Message], *, held: bool) -> None:
        """Tell the root agent what an agent was to be told that has ended without having read it; after an
        operator's cancel (`held`) nothing is started because of it."""
        session = self._session
        changes = {"agent_path": ROOT_AGENT, **({"delivery": "held"} if held else {})}
        moved = [row.model_copy(update=changes) for row in rows]
        async with session.lock:
            await session.stream.record([], put_all(moved))
            waiting = [row for row in moved if row.delivery != "held"]
            session.inbox.restore([row for row in moved if row.delivery == "held"])
            for row in waiting:
                session.inbox.add(row)
            if waiting:
                await self.dispatch(waiting[0])

    async def _notify(
        self,
        delegation: Delegation,
        active: ActiveRun,
        events: Sequence[EventPayload],
        store: Callable[[UnitOfWork], None],
    ) -> None:
        session, run = self._session, active.context
        starter = session.delegations.live.get(delegation.parent.scope.run_id)
        listening = starter is not None and starter.active.outcome is None
        path = delegation.parent.scope.agent_path if listening else ROOT_AGENT
        held = run.controls.stopping == "cancel"
        row, answer = self._row(delegation, active, path)
        if held:
            row = row.model_copy(update={"delivery": "held"})
        noted = self._audit(delegation, active)

        def unit(uow: UnitOfWork) -> None:
            store(uow)
            uow.messages.add(row)
            uow.audit.add_many([noted])

        # Recorded in one turn of the loop, so that both are one unit.
        stored = session.stream.record(
            events,
            unit,
            run_id=run.scope.run_id,
            agent_path=run.scope.agent_path,
            parent_tool_call_id=run.scope.parent_call_id,
            durable=True,
            kept=True,
        )
        posted = session.stream.record([posted_event(row, queued=True)], agent_path=path, kept=True)
        try:
            await asyncio.gather(stored, posted)
        except StorageOutage:  # both are stored after it; the message goes with the next one
            session.inbox.restore([row.model_copy(update={"delivery": "held"})])
            raise
        if answer is not None:
            await session.delegations.propose(delegation, active, answer)
        if listening and starter is not None:
            starter.late.append(row)
        else:
            if held:
                session.inbox.restore([row])
            else:
                session.inbox.add(row)
                await self.dispatch(row)

    async def dispatch(self, row: Message) -> None:
        """Start a run because of a message about a task, when the session is idle; hold its lock."""
        session, services = self._session, self._services
        if session.record.state is not SessionState.IDLE or session.closed or services.tasks.stopping:
            return
        try:
            await services.check_runnable(session.row, None)
            if services.capacity.try_acquire(session.claim()):
                await session.begin(row, SessionEvent.MESSAGE_POSTED)
                return
            await session.record.move(SessionEvent.MESSAGE_POSTED_AT_LIMIT, reason="capacity")
            session.wait_for_capacity()
        except KagedError as problem:
            log.warning(
                "the result of a task of %s waits for the next message: %s", session.id, problem.message
            )

    def _row(
        self, delegation: Delegation, active: ActiveRun, path: str
    ) -> tuple[Message, ChildAnswer | None]:
        """Return the message about a task's end, and the answer when it has one."""
        run, outcome = active.context, active.outcome
        state = outcome.state if outcome is not None else "failed"
        starter, child = delegation.parent.scope.agent_path, run.scope.agent_path
        text = f"The task in the background that {starter} gave to {child}"
        answer: ChildAnswer | None = None
        try:
            if outcome is None:
                raise ToolError("agent_failed", "It broke off.")
            answer = answer_of(run, outcome, [])
            content = f"{text} (run {run.scope.run_id}) is done.\n{answer.message}"
        except ToolError as error:
            content = f"{text} (run {run.scope.run_id}) was not done.\nError {error.code}: {error.message}"
        row = task_result_row(
            run.scope.session_id,
            path,
            content,
            child_path=child,
            run_id=run.scope.run_id,
            state=state,
        )
        return row, answer

    def _audit(self, delegation: Delegation, active: ActiveRun) -> AuditEvent:
        run = active.context
        return AuditEvent(
            created_at=now_ms(),
            event="delegation.completed",
            actor=run.scope.actor,
            project_id=run.scope.project_id,
            session_id=run.scope.session_id,
            run_id=delegation.parent.scope.run_id,
            agent_path=delegation.parent.scope.agent_path,
            data=run.journal.redactor.data(ended_facts(delegation, active)),
        )
