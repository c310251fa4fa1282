"""Tasks that an agent does not wait for: what becomes of their end.

Owns: telling the agent that started one, at its next boundary, or with a run of its own when the session
is idle. Never: running the child. The end of the run and the message about it are stored in one unit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from app.errors import StorageOutage, ToolError
from app.events.payload import EventPayload, Origin
from app.harness.conversation.session_rows import posted_event, put_all
from app.harness.delegation.answers import answer_of
from app.harness.delegation.delegations import Delegations, ended_facts
from app.harness.delegation.folders import in_words
from app.harness.delegation.hooks import Delegation
from app.harness.delegation.rows import task_result_row
from app.harness.loop.active_run import ActiveRun
from app.harness.sessions.session_parts import SessionParts
from app.ids import ROOT_AGENT, now_ms
from app.storage.models import AuditEvent, Message
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import ChildAnswer, ChildFiles

log = logging.getLogger("kaged.delegation")


class TaskSession(Protocol):
    """The session that the tasks belong to. Its runs begin and its state moves under `lock` alone."""

    lock: asyncio.Lock
    delegations: Delegations

    async def start_when_idle(self, row: Message) -> None: ...

    def settle_place(self) -> None: ...


class BackgroundTasks:
    """The background tasks of one session."""

    def __init__(self, session: TaskSession, parts: SessionParts) -> None:
        self._session = session
        self._stream = parts.stream
        self._inbox = parts.inbox

    async def task_ended(
        self,
        delegation: Delegation,
        active: ActiveRun,
        events: Sequence[EventPayload],
        store: Callable[[UnitOfWork], None],
    ) -> None:
        """Store the end of a task, and notify the agent that started it, or the root agent when that one
        is over itself. After an operator's cancel nothing is started because of it."""
        session = self._session
        async with session.lock:
            files = session.delegations.live.pop(active.run_id).files
            try:
                await self._notify(delegation, active, events, store, files)
            finally:
                session.settle_place()

    async def forward(self, rows: list[Message], *, held: bool) -> None:
        """Give the root agent what another agent ended without having read; after an
        operator's cancel (`held`) nothing is started because of it."""
        async with self._session.lock:
            await self._forward(rows, held=held)

    async def _forward(self, rows: list[Message], *, held: bool) -> None:
        """As `forward`. Callers hold the lock."""
        changes = {"agent_path": ROOT_AGENT, **({"delivery": "held"} if held else {})}
        moved = [row.model_copy(update=changes) for row in rows]
        await self._stream.record([], put_all(moved))
        waiting = [row for row in moved if row.delivery != "held"]
        self._inbox.restore([row for row in moved if row.delivery == "held"])
        for row in waiting:
            self._inbox.add(row)
        if waiting:
            await self._session.start_when_idle(waiting[0])

    async def _notify(
        self,
        delegation: Delegation,
        active: ActiveRun,
        events: Sequence[EventPayload],
        store: Callable[[UnitOfWork], None],
        files: ChildFiles | None,
    ) -> None:
        session, run = self._session, active.context
        starter = session.delegations.live.get(delegation.parent.scope.run_id)
        listening = starter is not None and starter.active.outcome is None
        path = delegation.parent.scope.agent_path if listening else ROOT_AGENT
        held = run.controls.stopping == "cancel"
        row, answer = self._row(delegation, active, path, files)
        if held:
            row = row.model_copy(update={"delivery": "held"})
        noted = self._audit(delegation, active)

        def unit(uow: UnitOfWork) -> None:
            store(uow)
            uow.messages.add(row)
            uow.audit.add_many([noted])

        # Recorded in one turn of the loop, so that both are one unit.
        stored = self._stream.record(events, unit, origin=run.scope.origin, durable=True, kept=True)
        origin = Origin(agent_path=path)
        posted = self._stream.record([posted_event(row, queued=True)], origin=origin, kept=True)
        try:
            await asyncio.gather(stored, posted)
        except StorageOutage:  # both are stored after it; the message goes with the next one
            self._inbox.restore([row.model_copy(update={"delivery": "held"})])
            raise
        if answer is not None:
            await session.delegations.propose(delegation, active, answer)
        if listening and starter is not None:
            if not starter.tell(row):  # it has ended while this was stored
                await self._forward([row], held=starter.cancelled)
        elif held:
            self._inbox.restore([row])
        else:
            self._inbox.add(row)
            await session.start_when_idle(row)

    def _row(
        self, delegation: Delegation, active: ActiveRun, path: str, files: ChildFiles | None
    ) -> tuple[Message, ChildAnswer | None]:
        """Return the message about a task's end, and the answer when it has one; `files` are those that the
        child left in a workspace of its own."""
        run, outcome = active.context, active.outcome
        state = outcome.state if outcome is not None else "failed"
        starter, child = delegation.parent.scope.agent_path, run.scope.agent_path
        text = f"The task in the background that {starter} gave to {child}"
        answer: ChildAnswer | None = None
        try:
            if outcome is None:
                raise ToolError("agent_failed", "It broke off.")
            answer = answer_of(run, outcome, [], files)
            left = in_words(files)
            place = "" if left is None else f" {left}"
            content = f"{text} (run {run.scope.run_id}) is done.{place}\n{answer.message}"
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
