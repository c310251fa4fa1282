"""What operators do with one run: cancel it alone, try a failed one again, see its warnings.

Owns: which run that is, and whether it may be done. Never: how a run ends (`active_run`) or begins
(`session_runs`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from app.errors import Conflict, NotFound
from app.events.budgets import BudgetSeen
from app.events.payload import Origin
from app.harness.conversation.session_rows import Again
from app.harness.loop.active_run import ActiveRun
from app.harness.sessions.session_parts import SessionParts
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.session_waits import SessionWaits
from app.states import RunState, SessionState
from app.storage.models import Message, Run
from app.storage.unit_of_work import UnitOfWork

_BROKEN = ("error", "aborted")
"""Why an answer stopped that a run which is tried again does not go on from."""


class CommandedRuns(Protocol):
    """The runs of one session."""

    active: ActiveRun | None
    parts: SessionParts
    waits: SessionWaits

    def command(self) -> AbstractAsyncContextManager[None]: ...

    def under_way(self, run_id: str) -> ActiveRun | None: ...

    async def begin_at_once(self, message: Message | None, *, again: Again | None = None) -> Run: ...


class RunCommands:
    """Those of all sessions. `find` loads a session's runs, raises `NotFound`."""

    def __init__(self, services: SessionServices, find: Callable[[str], Awaitable[CommandedRuns]]) -> None:
        self._services = services
        self._find = find
        self._shielded = services.tasks.shielded

    async def cancel(self, run_id: str, actor: str) -> Run:
        """Stop one run with the runs below it, and wait for its end; everything else of the session goes on.

        Raises `NotFound`, and `Conflict` when the run is not under way."""
        return await self._shielded(self._cancel(run_id, actor))

    async def see_warnings(self, run_id: str) -> None:
        """Note that a person has seen which limits of a run are near: they leave the inbox, until a further
        one is. Raises `NotFound`."""
        await self._shielded(self._see_warnings(run_id))

    async def retry(self, run_id: str, actor: str, *, model: str | None = None) -> Run:
        """Begin a run with the message of a failed one, and with `model` if it is given. What that one has
        done stays in the conversation, without the answer that broke off. Raises `NotFound`, `Conflict`,
        and `ValidationFailed` for an unknown model."""
        self._services.tasks.refuse_when_stopping()
        if model is not None:
            self._services.runs.router.resolve(model)
        return await self._shielded(self._retry(run_id, model))

    # -- inside -----------------------------------------------------------------------------

    async def _cancel(self, run_id: str, actor: str) -> Run:
        found = await self._get(run_id)
        runs = await self._find(found.session_id)
        async with runs.command():
            active = runs.under_way(run_id)
            if active is None:
                raise Conflict(
                    f"The run is {found.state}; only a run that is under way can be cancelled.",
                    reason="run_not_active",
                    details={"state": found.state},
                )
            active.stop("cancel", by=actor)
            if active is runs.active:
                await runs.waits.take_back()
        await active.ended()
        return await self._get(run_id)

    async def _see_warnings(self, run_id: str) -> None:
        found = await self._get(run_id)
        if found.budget_warned_at is None:
            return
        stream = (await self._find(found.session_id)).parts.stream
        origin = Origin(run_id, found.agent_path, found.parent_call_id)

        def store(uow: UnitOfWork) -> None:
            uow.runs.update(run_id, budget_warnings=None, budget_warned_at=None)

        await stream.record([BudgetSeen(run_id=run_id)], store, origin=origin)

    async def _retry(self, run_id: str, model: str | None) -> Run:
        found = await self._get(run_id)
        runs = await self._find(found.session_id)
        async with runs.command():
            parts = runs.parts
            if parts.record.state is not SessionState.IDLE:
                raise parts.record.illegal("retry")
            message, broken = await self._services.runs.storage.read(lambda uow: _tried(uow, found.id))
            asked = None if message is None else message.details.get("model")
            again = Again(found, model or asked)
            await self._services.check_runnable(parts.record.row, again.model)
            if broken:
                await self._services.runs.storage.write(
                    lambda uow: uow.messages.supersede_ids(parts.id, broken, by=None), durable=True
                )
                parts.conversation.forget()
            return await runs.begin_at_once(None, again=again)

    async def _get(self, run_id: str) -> Run:
        found = await self._services.runs.storage.read(lambda uow: uow.runs.get(run_id))
        if found is None:
            raise NotFound(f"There is no run {run_id}.")
        return found


def _tried(uow: UnitOfWork, run_id: str) -> tuple[Message | None, list[str]]:
    """Return the message of a failed run and the ids of its answers that broke off; raise `Conflict` when
    it cannot be tried again."""
    run = uow.runs.get(run_id)
    assert run is not None
    newest = uow.runs.list(run.session_id, roots_only=True, limit=1).items
    if run.parent_run_id is not None:
        raise _refused("A subagent's run is not tried again: its caller decides about that.", run)
    if run.state != RunState.FAILED.value:
        raise _refused(f"The run is {run.state}; only a failed run can be tried again.", run)
    message = uow.messages.get(run.trigger_message_id or "")
    if newest[0].id != run.id or (message is not None and message.superseded):
        raise _refused("The session has gone on since this run; post a message.", run)
    rows = uow.messages.of_runs(run.session_id, [run.id])
    broken = [
        row.id
        for row in rows
        if row.agent_path == run.agent_path
        and row.role == "primary"
        and row.details.get("stopReason") in _BROKEN
        and not any(block.get("type") == "tool_call" for block in row.details.get("contentBlocks", ()))
    ]
    return message, broken


def _refused(message: str, run: Run) -> Conflict:
    return Conflict(message, reason="cannot_retry", details={"state": run.state})
