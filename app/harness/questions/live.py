"""Questions of subagents, which wait for their answers as their parents wait for them.

Owns: the questions that are open now, each answered once or withdrawn with its run. Never: those of root
agents, which outlive their runs (`open_calls`), or consents (`consent`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from app.errors import KagedError, ToolError
from app.harness.questions.rows import asked_row, closed_event, closed_values, requested_event
from app.harness.run.run_context import RunContext
from app.ids import now_ms
from app.states import InteractionState
from app.storage.keyed_effect import effect
from app.storage.models import AuditEvent, Interaction
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import HumanQuestion
from app.tools.dispatch.redaction import redacted

STOPPED = "The run was stopped before this was answered."


class _Waiting:
    """One open question. `closing` is the write that closes it, once there is one."""

    __slots__ = ("closing", "given", "refusal", "row", "run")

    def __init__(self, row: Interaction, run: RunContext) -> None:
        self.row = row
        self.run = run
        self.given: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self.closing: asyncio.Future[Any] | None = None
        self.refusal = ToolError("cancelled", STOPPED)


class LiveQuestions:
    """Every question of a subagent that is open in this daemon."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, run: RunContext, call_id: str, question: HumanQuestion) -> dict[str, Any]:
        """Store and publish a question, and wait for the answer for as long as it takes.

        When cancelled the question is withdrawn. Raises ToolError `cancelled` when `withdraw` was
        called for the run."""
        row = asked_row(run.scope.session_id, run.scope.run_id, run.scope.agent_path, call_id, question)
        waiting = self._waiting[row.id] = _Waiting(row, run)
        data = {"interaction_id": row.id, "call_id": call_id, "kind": row.kind}
        run.journal.audit("interaction.requested", {**data, "request": redacted(row.request)})
        try:
            await asyncio.shield(
                run.journal.record(
                    requested_event(row), statements=lambda uow: uow.interactions.add(row), durable=True
                )
            )
            given = await waiting.given
        except asyncio.CancelledError:
            self._withdraw(waiting)
            raise
        finally:
            del self._waiting[row.id]
        if given is None:
            raise waiting.refusal
        return given

    def get(self, interaction_id: str) -> Interaction | None:
        """Return a question that is open now."""
        waiting = self._waiting.get(interaction_id)
        return None if waiting is None or waiting.closing is not None else waiting.row

    async def answer(self, interaction_id: str, answer: dict[str, Any], actor: str) -> Interaction | None:
        """Store a checked answer and let the call go on with it; None when the question is not open any
        more. When storing fails it stays open."""
        waiting = self._waiting.get(interaction_id)
        while waiting is not None and waiting.closing is not None:
            await asyncio.wait([waiting.closing])  # until it is gone, or open again
            waiting = self._waiting.get(interaction_id)
        if waiting is None:
            return None
        row, run, state = waiting.row, waiting.run, InteractionState.ANSWERED
        values = closed_values(row, state, answer=answer, actor=actor)
        noted = answered_audit(row, run.scope.project_id, actor, run.journal.redactor.data(redacted(answer)))

        def store(uow: UnitOfWork) -> None:
            uow.interactions.close(row.id, **values)
            uow.audit.add_many([noted])

        closed = row.model_copy(update=values)
        waiting.closing = run.journal.stream.record(
            [closed_event(row, state, answer=answer, actor=actor)],
            effect(store, lambda _: closed),
            run_id=run.scope.run_id,
            agent_path=run.scope.agent_path,
            durable=True,
        )
        try:
            await asyncio.shield(waiting.closing)
        except KagedError:
            waiting.closing = None
            raise
        if not waiting.given.done():
            waiting.given.set_result(answer)
        return closed

    def withdraw(self, run_id: str) -> None:
        """Close the open questions of a run that is being stopped."""
        for waiting in list(self._waiting.values()):
            if waiting.run.scope.run_id == run_id:
                self._withdraw(waiting)
                if not waiting.given.done():
                    waiting.given.set_result(None)

    def give_up(self, session_id: str, text: str) -> None:
        """Close the open questions of a session without an answer; their runs go on, and are told `text`."""
        for waiting in list(self._waiting.values()):
            if waiting.row.session_id == session_id and waiting.closing is None:
                waiting.refusal = ToolError("not_answered", text)
                self._withdraw(waiting)
                if not waiting.given.done():
                    waiting.given.set_result(None)

    def _withdraw(self, waiting: _Waiting) -> None:
        if waiting.closing is not None:
            return
        row, state = waiting.row, InteractionState.CANCELLED
        values = closed_values(row, state)
        waiting.run.journal.audit("interaction.answered", {"interaction_id": row.id, "state": state.value})
        waiting.closing = waiting.run.journal.record(
            closed_event(row, state), statements=lambda uow: _close(uow, row.id, values), kept=True
        )


def answered_audit(row: Interaction, project_id: str, actor: str, answer: Any) -> AuditEvent:
    """Return the audit row of an answer; `answer` is redacted already."""
    return AuditEvent(
        created_at=now_ms(),
        event="interaction.answered",
        actor=actor,
        project_id=project_id,
        session_id=row.session_id,
        run_id=row.run_id,
        agent_path=row.agent_path,
        data={
            "interaction_id": row.id,
            "call_id": row.tool_call_id,
            "kind": row.kind,
            "state": InteractionState.ANSWERED.value,
            "answer": answer,
        },
    )


def _close(uow: UnitOfWork, interaction_id: str, values: dict[str, Any]) -> None:
    uow.interactions.close(interaction_id, **values)
