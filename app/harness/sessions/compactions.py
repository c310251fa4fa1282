"""What operators do with compactions of a session: compact, preview, approve, edit, reject, judge.

Owns: when it may be done, and the context of an agent that does not run; during a run it waits for the next
boundary. Never: a compaction itself (`compactor`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, cast

from app.errors import Conflict, NotFound, ValidationFailed
from app.events.compaction import CompactionDecided, CompactionFlagged
from app.events.payload import Origin
from app.harness.compaction.compactor import Compacted, Compactor
from app.harness.compaction.proposals import edited, plan_of
from app.harness.compaction.records import summary_row
from app.harness.conversation.session_rows import session_audit
from app.harness.loop.active_run import ActiveRun
from app.harness.loop.run_factory import RootAgent, root_context
from app.harness.run.compaction_requests import StrategyName
from app.harness.run.run_context import RunContext
from app.harness.sessions.session_parts import RestCompaction, SessionParts
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.session_waits import SessionWaits
from app.ids import ROOT_AGENT, now_ms
from app.states import CompactionState, SessionState, move
from app.storage.models import Compaction
from app.storage.unit_of_work import UnitOfWork

BOUNDARY_SECONDS = 60.0
"""How long an answer waits for the next boundary of a run."""

WORK_SECONDS = 900.0
"""How long a compaction of a session at rest may take, a summarizer's calls included."""

Flag = Literal["good", "bad", "neutral"]


class CompactedSession(Protocol):
    """The session whose context is compacted."""

    active: ActiveRun | None
    compaction: RestCompaction
    parts: SessionParts
    root: RootAgent
    waits: SessionWaits

    def command(self) -> AbstractAsyncContextManager[None]: ...


class CompactionCommands:
    """Those of all sessions. `find` loads a session; raises `NotFound`."""

    def __init__(self, services: SessionServices, find: Callable[[str], Awaitable[CompactedSession]]) -> None:
        self._services = services
        self._find = find

    async def compact(
        self, session_id: str, strategy: StrategyName | None, agent_path: str, actor: str
    ) -> Compacted:
        """Compact an agent's context now, or at the next boundary of its run.

        Raises `Conflict` when the agent does not run and has no context, when no boundary comes within a
        minute or before a person answers, or when a stop cuts the compaction off; it is not done then."""
        runs = await self._find(session_id)
        await self._check(runs, strategy, agent_path)
        if runs.active is not None:
            done = await self._at_boundary(runs, strategy, agent_path)
            if done is not None:
                return done
        async with runs.command():
            context = await self._at_rest(runs, agent_path, actor)
            done = await self._compact_at_rest(runs, context, strategy)
            if done.outcome == "completed":
                runs.parts.record.row = runs.parts.record.row.model_copy(update={"context_overflow": False})
            return done

    async def preview(
        self, session_id: str, strategy: StrategyName | None, agent_path: str, actor: str
    ) -> Compacted:
        """Return what a compaction would do now; nothing is stored and nothing changes."""
        runs = await self._find(session_id)
        await self._check(runs, strategy, agent_path)
        context = _live(runs, agent_path)
        if context is None:
            async with runs.command():
                context = await self._at_rest(runs, agent_path, actor, active_too=True)
        async with asyncio.timeout(WORK_SECONDS):
            return await Compactor(context, self._services.runs.compaction).compact(
                "operator_manual", strategy, dry_run=True
            )

    # -- proposals --------------------------------------------------------------------------

    async def approve(self, session_id: str, compaction_id: str, actor: str) -> Compaction:
        """Carry a proposal out. Raises `Conflict` when it is decided or out of date, or a run is active."""
        runs = await self._find(session_id)
        async with runs.command():
            proposal, context = await self._proposal(runs, compaction_id, actor)
            plan = plan_of(proposal, context)
            summary = summary_row(proposal, plan)
            if summary is not None:
                proposal.summary_message_id, proposal.summary = summary.id, summary.content
            self._decide(context, proposal, "approved", actor)
            compactor = Compactor(context, self._services.runs.compaction)
            await compactor.carry_out(proposal, plan, summary, began=time.monotonic())
            await compactor.notify_plugins(proposal, plan)
            await context.journal.settle()
            runs.parts.record.row = runs.parts.record.row.model_copy(update={"context_overflow": False})
            return proposal

    async def edit(
        self, session_id: str, compaction_id: str, actor: str, *, ids: Sequence[str] | None, text: str | None
    ) -> Compaction:
        """Change which messages a proposal takes away, or its summary; it stays a proposal."""
        runs = await self._find(session_id)
        async with runs.command():
            proposal, context = await self._proposal(runs, compaction_id, actor)
            values = edited(proposal, context, ids, text)
            values["details"] = self._decide(context, proposal, "edited", actor)
            context.journal.record(
                statements=lambda uow: uow.compactions.decide(compaction_id, **values), durable=True
            )
            await context.journal.settle()
            return proposal.model_copy(update=values)

    async def reject(self, session_id: str, compaction_id: str, actor: str) -> Compaction:
        """Leave the context as it is; the run that is resumed asks again when it has grown by a tenth."""
        runs = await self._find(session_id)
        async with runs.command():
            proposal, context = await self._proposal(runs, compaction_id, actor)
            state = move(CompactionState(proposal.state), CompactionState.REJECTED).value
            values = {"state": state, "details": self._decide(context, proposal, "rejected", actor)}
            context.journal.record(
                statements=lambda uow: uow.compactions.decide(compaction_id, **values), durable=True
            )
            await context.journal.settle()
            return proposal.model_copy(update=values)

    async def flag(
        self, session_id: str, compaction_id: str, flag: Flag | None, notes: str | None, actor: str
    ) -> Compaction:
        """Note what an operator thinks of a compaction."""
        runs = await self._find(session_id)
        found = await self.get(session_id, compaction_id)
        values = {"operator_flag": flag, "operator_notes": notes}
        data = {"compaction_id": compaction_id, "flag": flag, "notes_length": len(notes or "")}
        row = session_audit(
            runs.parts.record.row,
            "compaction.flagged",
            actor,
            data,
            run_id=found.run_id,
            agent_path=found.agent_path,
        )

        def store(uow: UnitOfWork) -> None:
            uow.compactions.update(compaction_id, **values)
            uow.audit.add_many([row])

        await runs.parts.stream.record(
            [CompactionFlagged(**data)], store, origin=Origin(agent_path=found.agent_path), durable=True
        )
        return found.model_copy(update=values)

    async def get(self, session_id: str, compaction_id: str) -> Compaction:
        """Return a compaction of the session. Raises `NotFound`."""
        found = await self._services.runs.storage.read(lambda uow: uow.compactions.get(compaction_id))
        if found is None or found.session_id != session_id:
            raise NotFound(f"The session has no compaction {compaction_id}.")
        return found

    # -- inside -----------------------------------------------------------------------------

    async def _check(self, runs: CompactedSession, strategy: StrategyName | None, agent_path: str) -> None:
        """Refuse an unknown agent, and a strategy that its project file does not prepare."""
        project = await self._services.runs.projects.of_session(runs.parts.record.row)
        agent = next((one for one in project.agents() if one.path == agent_path), None)
        if agent is None:
            raise NotFound(f"The project has no agent {agent_path}.")
        missing = {
            "summarize": agent.compaction.summarize is None,
            "delegate": agent.compaction.delegate is None,
        }
        if strategy is not None and missing.get(strategy, False):
            message = f"The agent's `compaction` has no `{strategy}` block in the project file."
            raise ValidationFailed(message, fields={"strategy": message}, reason="strategy_not_configured")

    async def _at_boundary(
        self, runs: CompactedSession, strategy: StrategyName | None, agent_path: str
    ) -> Compacted | None:
        """Have a running agent compact; None when the run has ended meanwhile."""
        active, live = runs.active, _live(runs, agent_path)
        if active is None:
            return None
        if live is None or live.controls.compactions is None:
            raise _not_running(agent_path)
        ended = asyncio.ensure_future(active.ended())
        asks = asyncio.ensure_future(runs.waits.given_up())
        try:
            async with live.controls.compactions.asked(strategy) as request:
                either: set[asyncio.Future[Any]] = {request.answer, ended}
                first = asyncio.FIRST_COMPLETED
                await asyncio.wait({*either, asks}, timeout=BOUNDARY_SECONDS, return_when=first)
                if request.begun:
                    await asyncio.wait(either, timeout=WORK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if request.answer.done():
                    return cast(Compacted, request.answer.result())
                if request.begun:
                    raise _given_up(stopped=ended.done())
                if ended.done():
                    return None
                if asks.done():
                    raise _asks(runs)
        finally:
            ended.cancel()
            asks.cancel()
        raise Conflict(
            f"The run came to no boundary within {BOUNDARY_SECONDS:.0f} s; nothing was compacted. "
            "Try again, or pause the run first.",
            reason="run_in_progress",
            details={"state": runs.parts.record.row.state},
        )

    async def _compact_at_rest(
        self, runs: CompactedSession, context: RunContext, strategy: StrategyName | None
    ) -> Compacted:
        """Compact while nothing else begins. A cancel and the daemon's stop do not wait for it: they have
        its deadline pass."""
        generation = context.history.generation
        try:
            async with runs.compaction.within(WORK_SECONDS):
                done = await Compactor(context, self._services.runs.compaction).compact(
                    "operator_manual", strategy
                )
                await context.journal.settle()
                return done
        except TimeoutError:
            changed = context.history.generation != generation
            raise _given_up(stopped=runs.compaction.stopped, changed=changed) from None

    async def _at_rest(
        self, runs: CompactedSession, agent_path: str, actor: str, *, active_too: bool = False
    ) -> RunContext:
        """Return the context of the root agent while no run is active. The lock is held."""
        self._services.tasks.refuse_when_stopping()
        if runs.parts.record.state is SessionState.ARCHIVED:
            raise runs.parts.record.illegal("compact")
        if agent_path != ROOT_AGENT:
            raise _not_running(agent_path)
        if runs.active is not None and not active_too:
            raise Conflict(
                "A run is active: decide on proposals and compact while the session is paused or idle.",
                reason="run_in_progress",
                details={"state": runs.parts.record.row.state},
            )
        row = runs.parts.record.row
        return await root_context(self._services.runs, runs.root, row, run_id="", actor=actor)

    async def _proposal(
        self, runs: CompactedSession, compaction_id: str, actor: str
    ) -> tuple[Compaction, RunContext]:
        found = await self.get(runs.parts.id, compaction_id)
        if found.state != "proposed":
            raise Conflict(
                f"This compaction is {found.state}; there is nothing to decide.",
                reason="not_proposed",
                details={"state": found.state},
            )
        return found, await self._at_rest(runs, found.agent_path, actor)

    def _decide(
        self,
        context: RunContext,
        proposal: Compaction,
        decision: Literal["approved", "edited", "rejected"],
        actor: str,
    ) -> dict[str, Any]:
        """Note the decision; return the record's details with it. It is stored with the next write."""
        data = {"compaction_id": proposal.id, "decision": decision}
        context.journal.audit("compaction.decided", data)
        context.journal.record(
            CompactionDecided(compaction_id=proposal.id, decision=decision, decided_by=actor)
        )
        proposal.details = {
            **proposal.details,
            "decision": decision,
            "decided_by": actor,
            "decided_at": now_ms(),
        }
        return proposal.details


def _live(runs: CompactedSession, agent_path: str) -> RunContext | None:
    """Return the context of a running agent: the root's, or one below it."""
    if runs.active is None:
        return None
    known = (runs.active.context, *runs.active.context.below())
    return next((context for context in known if context.scope.agent_path == agent_path), None)


def _given_up(*, stopped: bool, changed: bool = False) -> Conflict:
    """Return the error of a compaction that was cut off; `changed`: it had been carried out by then."""
    how = "was stopped" if stopped else f"took more than {WORK_SECONDS:.0f} s and was given up"
    what = "nothing has changed. Compact again" + ("." if stopped else " with another strategy.")
    if changed:
        what = "the conversation had been changed by then, as its record says."
    return Conflict(
        f"The compaction {how}; {what}",
        reason="compaction_stopped" if stopped else "compaction_timeout",
    )


def _asks(runs: CompactedSession) -> Conflict:
    return Conflict(
        "The run waits in the middle of a step for an answer or a place; nothing was compacted. Answer its "
        "questions or cancel it, then try again.",
        reason="run_in_progress",
        details={"state": runs.parts.record.row.state, "state_reason": runs.parts.record.row.state_reason},
    )


def _not_running(agent_path: str) -> Conflict:
    return Conflict(
        f"{agent_path} does not run now, and a subagent has a context only while it runs.",
        reason="agent_not_running",
        details={"agent_path": agent_path},
    )
