"""The questions that tool calls of running agents wait for: permission requests, and questions of subagents.

Owns: the open ones, each answered once, withdrawn with its run, or covered by a rule. Never: when to ask
(`tools.authorisation`), who may answer (`api`), or a question that outlived its run (`sessions.answering`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast

from app.errors import KagedError, ToolError
from app.events.payload import EventPayload, Origin
from app.harness.projects.permissions import PermissionRules, RuleScope
from app.harness.questions.consent_rows import (
    GivenAnswer,
    answered_event,
    permission_row,
    requested_permission,
    rules_to_store,
)
from app.harness.questions.rows import (
    PERMISSION,
    answered_audit,
    asked_data,
    asked_row,
    closed_event,
    closed_values,
    requested_event,
)
from app.harness.run.journal import Journal
from app.harness.run.scope import Scope
from app.harness.run.task_ends import Spawn
from app.states import InteractionState
from app.storage.keyed_effect import effect
from app.storage.models import Interaction
from app.storage.unit_of_work import UnitOfWork
from app.tools.authorisation.permission_rules import denied_by_now, still_to_ask
from app.tools.contract.ports import CallWaits, HumanQuestion
from app.tools.contract.rules import ConsentRequest, PermissionRule

log = logging.getLogger("kaged.consent")

STOPPED = "The run was stopped before this was answered; the call was not run."

Given: TypeAlias = GivenAnswer | dict[str, Any]
"""The answer to a permission request, or the checked answer to another question."""


class Asking(Protocol):
    """A run whose call asks, or a call outside of runs."""

    @property
    def scope(self) -> Scope: ...

    @property
    def journal(self) -> Journal: ...

    async def rules(self) -> tuple[PermissionRule, ...]: ...


class _Waiting:
    """One open question; `request` is set for a permission request. `closing` is the write that closes it,
    once there is one. `left_open`: the run does not wait any more, and the question stays."""

    __slots__ = ("closing", "given", "left_open", "refusal", "request", "row", "run")

    def __init__(self, row: Interaction, request: ConsentRequest | None, run: Asking) -> None:
        self.row = row
        self.request = request
        self.run = run
        self.given: asyncio.Future[Given | None] = asyncio.get_running_loop().create_future()
        self.closing: asyncio.Future[Any] | None = None
        self.left_open = False
        self.refusal = ToolError("cancelled", STOPPED)

    @property
    def open(self) -> bool:
        return self.closing is None and not self.left_open

    def settle(self, given: Given | None) -> None:
        if not self.given.done():
            self.given.set_result(given)


class Questions:
    """Every question that a call of this daemon waits for. Asking stores and publishes the question, and
    waits for the answer for as long as it takes; when cancelled the question is withdrawn."""

    def __init__(self, rules: PermissionRules, spawn: Spawn) -> None:
        self.rules = rules
        self._spawn = spawn
        self._waiting: dict[str, _Waiting] = {}

    async def ask_permission(self, run: Asking, call_id: str, request: ConsentRequest) -> GivenAnswer:
        """Return the answer to a permission request.

        Raises ToolError `cancelled` after `withdraw`, `not_answered` after `give_up`, and `CallWaits` after
        `leave_open`."""
        row = permission_row(run.scope, call_id, request)
        data = {"interaction_id": row.id, "call_id": call_id, **row.request}
        run.journal.audit("permission.requested", data)
        waiting = _Waiting(row, request, run)
        return cast(GivenAnswer, await self._wait(waiting, requested_permission(row, request)))

    async def ask(self, run: Asking, call_id: str, question: HumanQuestion) -> dict[str, Any]:
        """Return the answer to a subagent's question. Raises as `ask_permission` does."""
        row = asked_row(run.scope, call_id, question)
        run.journal.audit("interaction.requested", asked_data(row))
        return cast(dict[str, Any], await self._wait(_Waiting(row, None, run), requested_event(row)))

    def withdraw(self, run_id: str) -> None:
        """Close the open questions of a run that is being stopped; their calls are not run."""
        for waiting in self._of_run(run_id):
            self._withdraw(waiting)

    def give_up(self, session_id: str, text: str) -> None:
        """Close the open questions of a session without an answer; their runs go on and read `text`."""
        for waiting in list(self._waiting.values()):
            if waiting.row.session_id == session_id and waiting.open:
                waiting.refusal = ToolError("not_answered", text)
                self._withdraw(waiting)

    def leave_open(self, run_id: str) -> None:
        """Let the calls of a run wait for their answers without it; their questions stay open."""
        for waiting in self._of_run(run_id):
            if waiting.open:
                waiting.left_open = True
                waiting.settle(None)

    async def answer(
        self, session_id: str, interaction_id: str, given: Given, actor: str
    ) -> Interaction | None:
        """Store an answer and let the call go on with it; return the closed interaction, or None when no
        run of this daemon waits for it.

        Raises `ValidationFailed` when a rule does not fit the request. Carried out to its end also when the
        client that gave it goes away."""
        task = self._spawn(self._answer(session_id, interaction_id, given, actor), name="answer")
        return await asyncio.shield(task)

    async def apply_rules(self, scope: RuleScope, actor: str, cause: str) -> None:
        """Answer the open permission requests that the rules of a scope allow by now; the answer names
        `cause`."""
        for waiting in list(self._waiting.values()):
            request = waiting.request
            if request is None or not request.about or not _within(scope, waiting.run):
                continue
            rules = await waiting.run.rules()
            if waiting.open and not still_to_ask(request, rules):
                try:
                    await self._consent(waiting, GivenAnswer("always"), actor, (), covered_by=cause)
                except KagedError as problem:
                    log.error(
                        "a question of %s stays open: %s", waiting.run.scope.session_id, problem.message
                    )

    async def refuse_denied(self, scope: RuleScope) -> None:
        """Close the open permission requests that rules deny by now; their calls are not run."""
        for waiting in list(self._waiting.values()):
            if waiting.request is not None and _within(scope, waiting.run):
                refusal = denied_by_now(waiting.request, await waiting.run.rules())
                if refusal is not None and waiting.open:
                    waiting.refusal = refusal
                    self._withdraw(waiting)

    # -- inside -----------------------------------------------------------------------------

    async def _wait(self, waiting: _Waiting, event: EventPayload) -> Given:
        row, run = waiting.row, waiting.run
        self._waiting[row.id] = waiting
        try:
            await asyncio.shield(
                run.journal.record(event, statements=lambda uow: uow.interactions.add(row), durable=True)
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

    async def _answer(
        self, session_id: str, interaction_id: str, given: Given, actor: str
    ) -> Interaction | None:
        waiting = self._waiting.get(interaction_id)
        while waiting is not None and waiting.closing is not None:
            await asyncio.wait([waiting.closing])  # until it is gone, or open again
            waiting = self._waiting.get(interaction_id)
        if waiting is None or waiting.left_open or waiting.row.session_id != session_id:
            return None
        if isinstance(given, dict):
            event = closed_event(waiting.row, InteractionState.ANSWERED, answer=given, actor=actor)
            return await self._close(waiting, given, event, given, actor)
        assert waiting.request is not None
        rules = rules_to_store(given.rule, waiting.request) if given.answer == "always" else ()
        closed = await self._consent(waiting, given, actor, rules)
        if rules:
            await self.apply_rules(_scope_of(given, waiting.run), actor, interaction_id)
        return closed

    async def _consent(
        self,
        waiting: _Waiting,
        given: GivenAnswer,
        actor: str,
        rules: Sequence[PermissionRule],
        *,
        covered_by: str | None = None,
    ) -> Interaction:
        """Store the answer to a permission request with the rules that it makes."""
        row, scope = waiting.row, _scope_of(given, waiting.run)
        event = answered_event(row, given, actor, rules, covered_by)
        answer = event.model_dump(include={"answer", "comment", "rules", "covered_by"}, exclude_none=True)
        answer |= {"scope": given.scope} if rules else {}

        def store_rules(uow: UnitOfWork) -> None:
            self.rules.put_all(uow, scope, rules, actor, interaction_id=row.id)

        closed = await self._close(
            waiting, given, event, answer, actor, with_it=store_rules, keyed=covered_by is None
        )
        if rules:
            self.rules.changed(scope)
        return closed

    async def _close(
        self,
        waiting: _Waiting,
        given: Given,
        event: EventPayload,
        answer: dict[str, Any],
        actor: str,
        *,
        with_it: Callable[[UnitOfWork], None] = lambda uow: None,
        keyed: bool = True,
    ) -> Interaction:
        """Store an answer, then let the call have it. When storing fails the question stays open. `keyed`:
        the request asked for it (the answer that a rule gives is not what the request asked for)."""
        row, run = waiting.row, waiting.run
        values = closed_values(row, InteractionState.ANSWERED, answer=answer, actor=actor)
        noted = answered_audit(row, run.scope.project_id, actor, answer, run.journal.redactor)

        def store(uow: UnitOfWork) -> None:
            with_it(uow)
            uow.interactions.close(row.id, **values)
            uow.audit.add_many([noted])

        closed = row.model_copy(update=values)
        waiting.closing = run.journal.stream.record(
            [event],
            effect(store, lambda _: closed) if keyed else store,
            origin=Origin(run.scope.run_id or None, run.scope.agent_path),
            durable=True,
        )
        try:
            await asyncio.shield(waiting.closing)
        except KagedError:
            waiting.closing = None
            raise
        waiting.settle(given)
        return closed

    def _withdraw(self, waiting: _Waiting) -> None:
        """Close a question that is open without an answer, and wake its call."""
        if waiting.open:
            row, state = waiting.row, InteractionState.CANCELLED
            values = closed_values(row, state)
            kind = "permission" if row.kind == PERMISSION else "interaction"
            waiting.run.journal.audit(f"{kind}.answered", {"interaction_id": row.id, "state": state.value})

            def store(uow: UnitOfWork) -> None:
                uow.interactions.close(row.id, **values)

            waiting.closing = waiting.run.journal.record(
                closed_event(row, state), statements=store, kept=True
            )
        waiting.settle(None)

    def _of_run(self, run_id: str) -> list[_Waiting]:
        return [waiting for waiting in self._waiting.values() if waiting.run.scope.run_id == run_id]


def _scope_of(given: GivenAnswer, run: Asking) -> RuleScope:
    return RuleScope(run.scope.project_id, run.scope.session_id if given.scope == "session" else None)


def _within(scope: RuleScope, run: Asking) -> bool:
    if scope.session_id is not None:
        return scope.session_id == run.scope.session_id
    return scope.project_id == run.scope.project_id
