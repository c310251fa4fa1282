"""Tasks that an agent does not wait for: what becomes of their end.

Owns: telling the agent that started one, at its next boundary, or with a run of its own when the session
is idle. Never: running the child. The end of the run and the message about it are stored in one unit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.errors import KagedError, ToolError
from app.events import EventPayload
from app.harness.delegation.answers import answer_of
from app.harness.delegation.delegations import ended_told
from app.harness.delegation.hooks import Delegation
from app.harness.delegation.rows import task_result_row
from app.harness.session_rows import posted_event, put_all
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.models import AuditEvent, Message
from app.storage.unit_of_work import UnitOfWork
from app.tools.agents.answer import ChildAnswer

if TYPE_CHECKING:
    from app.harness.active_run import ActiveRun
    from app.harness.session_runs import SessionRuns
    from app.harness.session_services import SessionServices

log = logging.getLogger("kaged.delegation")

ROOT_AGENT = "primary"


class BackgroundTasks:
    """The background tasks of one session."""

    def __init__(self, session: SessionRuns, services: SessionServices) -> None:
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
                await self._tell(delegation, active, events, store)
            finally:
                if session.active is None:
                    session.release_place()

    async def hand_up(self, rows: list[Message], *, held: bool) -> None:
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
                await self.take_up(waiting[0])

    async def _tell(
        self,
        delegation: Delegation,
        active: ActiveRun,
        events: Sequence[EventPayload],
        store: Callable[[UnitOfWork], None],
    ) -> None:
        session, run = self._session, active.context
        starter = session.delegations.live.get(delegation.parent.run_id)
        listening = starter is not None and starter.active.outcome is None
        path = delegation.parent.agent_path if listening else ROOT_AGENT
        held = run.stopping == "cancel"
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
            run_id=run.run_id,
            agent_path=run.agent_path,
            parent_tool_call_id=run.parent_call_id,
            durable=True,
        )
        told = session.stream.record([posted_event(row, queued=True)], agent_path=path)
        await asyncio.gather(stored, told)
        if answer is not None:
            await session.delegations.propose(delegation, active, answer)
        if listening and starter is not None:
            starter.late.append(row)
        else:
            if held:
                session.inbox.restore([row])
            else:
                session.inbox.add(row)
                await self.take_up(row)

    async def take_up(self, row: Message) -> None:
        """Start a run because of a message about a task, when the session is idle; hold its lock."""
        session, services = self._session, self._services
        if session.record.state is not SessionState.IDLE or session.closed or services.stopping():
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
                "what a task of %s came to waits for the next message: %s", session.id, problem.message
            )

    def _row(
        self, delegation: Delegation, active: ActiveRun, path: str
    ) -> tuple[Message, ChildAnswer | None]:
        """Return the message about a task's end, and the answer when it has one."""
        run, outcome = active.context, active.outcome
        state = outcome.state if outcome is not None else "failed"
        told = f"The task in the background that {delegation.parent.agent_path} gave to {run.agent_path}"
        answer: ChildAnswer | None = None
        try:
            if outcome is None:
                raise ToolError("agent_failed", "It broke off.")
            answer = answer_of(run, outcome, [])
            content = f"{told} (run {run.run_id}) is done.\n{answer.message}"
        except ToolError as error:
            content = f"{told} (run {run.run_id}) was not done.\nError {error.code}: {error.message}"
        row = task_result_row(
            run.session_id, path, content, child_path=run.agent_path, run_id=run.run_id, state=state
        )
        return row, answer

    def _audit(self, delegation: Delegation, active: ActiveRun) -> AuditEvent:
        run = active.context
        return AuditEvent(
            created_at=now_ms(),
            event="delegation.completed",
            actor=run.actor,
            project_id=run.project_id,
            session_id=run.session_id,
            run_id=delegation.parent.run_id,
            agent_path=delegation.parent.agent_path,
            data=run.redactor.data(ended_told(delegation, active)),
        )
