"""Consent: a tool call that waits for a human, and the one answer that it gets.

Owns: the questions that calls of this daemon's runs wait for now, and how each is closed: answered exactly
once, withdrawn with its run, or covered by a rule that another answer stored. Never: when to ask
(`tools.authorisation`), who may answer (`api`), or a question that no run waits for any more
(`sessions.answering`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from app.errors import KagedError, ToolError
from app.harness.projects.permissions import PermissionRules, RuleScope
from app.harness.questions.consent_rows import (
    GivenAnswer,
    answered_event,
    question_of,
    requested_event,
    rules_to_store,
)
from app.harness.run.run_context import RunContext
from app.harness.run.task_ends import Spawn
from app.ids import new_id, now_ms
from app.states import InteractionState, move
from app.storage.keyed_effect import effect
from app.storage.models import AuditEvent, Interaction
from app.storage.unit_of_work import UnitOfWork
from app.tools.authorisation.permission_rules import still_to_ask
from app.tools.contract.ports import CallWaits
from app.tools.contract.rules import ConsentRequest, PermissionRule

log = logging.getLogger("kaged.consent")

STOPPED = "The run was stopped before the operator answered; the call was not run."


class _Waiting:
    """One open question. `closing` is the write that closes it, once there is one; `left_open`: the run
    does not wait any more, and the question stays."""

    __slots__ = ("closing", "given", "left_open", "refusal", "request", "row", "run")

    def __init__(self, row: Interaction, request: ConsentRequest, run: RunContext) -> None:
        self.row = row
        self.request = request
        self.run = run
        self.given: asyncio.Future[GivenAnswer | None] = asyncio.get_running_loop().create_future()
        self.closing: asyncio.Future[Any] | None = None
        self.left_open = False
        self.refusal = ToolError("cancelled", STOPPED)

    @property
    def open(self) -> bool:
        return self.closing is None and not self.left_open

    async def closed(self) -> None:
        """Wait until the write that closes it has ended, one way or the other."""
        if self.closing is not None:
            await asyncio.wait([self.closing])

    def settle(self, given: GivenAnswer | None) -> None:
        if not self.given.done():
            self.given.set_result(given)


class Consents:
    """Every question that is open in this daemon."""

    def __init__(self, rules: PermissionRules, spawn: Spawn) -> None:
        self.rules = rules
        self._spawn = spawn
        self._waiting: dict[str, _Waiting] = {}

    async def ask(self, run: RunContext, call_id: str, request: ConsentRequest) -> GivenAnswer:
        """Store and publish a question, and wait for the answer for as long as it takes.

        When cancelled the question is withdrawn. Raises ToolError `cancelled` when `withdraw` was
        called for the run, and `CallWaits` when `leave_open` was."""
        row = Interaction(
            id=new_id("itx"),
            session_id=run.scope.session_id,
            run_id=run.scope.run_id,
            agent_path=run.scope.agent_path,
            tool_call_id=call_id,
            kind="permission",
            request=question_of(request),
            created_at=now_ms(),
        )
        waiting = self._waiting[row.id] = _Waiting(row, request, run)
        run.journal.audit(
            "permission.requested", {"interaction_id": row.id, "call_id": call_id, **row.request}
        )
        try:
            await asyncio.shield(
                run.journal.record(
                    requested_event(row, request),
                    statements=lambda uow: uow.interactions.add(row),
                    durable=True,
                )
            )
            given = await waiting.given
        except asyncio.CancelledError:
            if waiting.left_open:
                raise CallWaits from None
            self._withdraw(waiting)
            raise
        finally:
            del self._waiting[row.id]
        if waiting.left_open:
            raise CallWaits
        if given is None:
            raise waiting.refusal
        return given

    def withdraw(self, run_id: str) -> None:
        """Close the open questions of a run that is being stopped; their calls are not run."""
        for waiting in self._of_run(run_id):
            self._withdraw(waiting)
            waiting.settle(None)

    def give_up(self, session_id: str, text: str) -> None:
        """Close the open questions of a session without an answer; their runs go on, and are told `text`."""
        for waiting in list(self._waiting.values()):
            if waiting.row.session_id == session_id and waiting.open:
                waiting.refusal = ToolError("not_answered", text)
                self._withdraw(waiting)
                waiting.settle(None)

    def leave_open(self, run_id: str) -> None:
        """Let the calls of a run wait for their answers without it; their questions stay open."""
        for waiting in self._of_run(run_id):
            if waiting.open:
                waiting.left_open = True
                waiting.settle(None)

    async def answer(
        self, session_id: str, interaction_id: str, given: GivenAnswer, actor: str
    ) -> Interaction | None:
        """Store an answer and let the call go on with it; return the closed interaction, or None when
        no run of this daemon waits for it.

        Raises `ValidationFailed` when the answer does not fit the question. Carried out to its end also
        when the client that gave it goes away."""
        task = self._spawn(self._answer(session_id, interaction_id, given, actor), name="answer")
        return await asyncio.shield(task)

    async def apply_rules(self, scope: RuleScope, actor: str, cause: str) -> None:
        """Answer the open questions that the rules of a scope allow by now; `cause` is told with it."""
        for waiting in list(self._waiting.values()):
            if not (waiting.request.about and _within(scope, waiting.run)):
                continue
            rules = await waiting.run.rules()
            if waiting.open and not still_to_ask(waiting.request, rules):
                try:
                    await self._close(waiting, GivenAnswer("always"), actor, (), covered_by=cause)
                except KagedError as problem:
                    log.error(
                        "a question of %s stays open: %s", waiting.run.scope.session_id, problem.message
                    )

    # -- inside -----------------------------------------------------------------------------

    async def _answer(
        self, session_id: str, interaction_id: str, given: GivenAnswer, actor: str
    ) -> Interaction | None:
        waiting = self._waiting.get(interaction_id)
        while waiting is not None and waiting.closing is not None:
            await waiting.closed()
            waiting = self._waiting.get(interaction_id)
        if waiting is None or waiting.left_open or waiting.row.session_id != session_id:
            return None
        rules = rules_to_store(given.rule, waiting.request) if given.answer == "always" else ()
        closed = await self._close(waiting, given, actor, rules)
        if rules:
            await self.apply_rules(_scope_of(given, waiting.run), actor, interaction_id)
        return closed

    async def _close(
        self,
        waiting: _Waiting,
        given: GivenAnswer,
        actor: str,
        rules: Sequence[PermissionRule],
        *,
        covered_by: str | None = None,
    ) -> Interaction:
        """Store an answer, then let the call have it. When storing fails the question stays open."""
        run, scope = waiting.run, _scope_of(given, waiting.run)
        event = answered_event(waiting.row, given, actor, rules, covered_by)
        state = move(InteractionState(waiting.row.state), InteractionState.ANSWERED).value
        answer = event.model_dump(include={"answer", "comment", "rules", "covered_by"}, exclude_none=True)
        answer |= {"scope": given.scope} if rules else {}
        values = {"state": state, "answer": answer, "answered_by": actor, "closed_at": now_ms()}
        noted = _audit_of(waiting, actor, {"state": state, **answer})

        def store(uow: UnitOfWork) -> None:
            self.rules.put_all(uow, scope, rules, actor, interaction_id=waiting.row.id)
            uow.interactions.close(waiting.row.id, **values)
            uow.audit.add_many([noted])

        closed = waiting.row.model_copy(update=values)
        # An answer that a rule gives is not what the request asked for.
        kept = store if covered_by else effect(store, lambda _: closed)
        waiting.closing = run.journal.stream.record(
            [event], kept, run_id=run.scope.run_id, agent_path=run.scope.agent_path, durable=True
        )
        try:
            await asyncio.shield(waiting.closing)
        except KagedError:
            waiting.closing = None
            raise
        if rules:
            self.rules.changed(scope)
        waiting.settle(given)
        return closed

    def _withdraw(self, waiting: _Waiting) -> None:
        if not waiting.open:
            return
        state = move(InteractionState(waiting.row.state), InteractionState.CANCELLED)
        values = {"state": state.value, "closed_at": now_ms()}
        waiting.run.journal.audit(
            "permission.answered", {"interaction_id": waiting.row.id, "state": state.value}
        )
        waiting.closing = waiting.run.journal.record(
            answered_event(waiting.row, state=state),
            statements=lambda uow: _close_row(uow, waiting.row.id, values),
            kept=True,
        )

    def _of_run(self, run_id: str) -> list[_Waiting]:
        return [waiting for waiting in self._waiting.values() if waiting.run.scope.run_id == run_id]


def _close_row(uow: UnitOfWork, interaction_id: str, values: dict[str, Any]) -> None:
    uow.interactions.close(interaction_id, **values)


def _scope_of(given: GivenAnswer, run: RunContext) -> RuleScope:
    return RuleScope(run.scope.project_id, run.scope.session_id if given.scope == "session" else None)


def _within(scope: RuleScope, run: RunContext) -> bool:
    if scope.session_id is not None:
        return scope.session_id == run.scope.session_id
    return scope.project_id == run.scope.project_id


def _audit_of(waiting: _Waiting, actor: str, data: dict[str, Any]) -> AuditEvent:
    run = waiting.run
    return AuditEvent(
        created_at=now_ms(),
        event="permission.answered",
        actor=actor,
        project_id=run.scope.project_id,
        session_id=run.scope.session_id,
        run_id=run.scope.run_id,
        agent_path=run.scope.agent_path,
        data=run.journal.redactor.data(
            {"interaction_id": waiting.row.id, "call_id": waiting.row.tool_call_id, **data}
        ),
    )
