"""The agent loop: model call, tool calls, again, until something says stop.

Owns: what ends a run and with which reason. Never: storage of messages (turn, tool_calls) or
session state (session).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.errors import ValidationFailed
from app.events import BudgetWarning
from app.harness.compaction.compactor import Compactor
from app.harness.compaction.requests import CompactionRequests
from app.harness.history import Mark
from app.harness.limits import judge
from app.harness.pipeline.policy import TRUNCATE_TO
from app.harness.pipeline.processor import PolicyViolation
from app.harness.pipeline.reminders import due_reminder
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.providers.catalog import Catalog
from app.harness.providers.errors import ProviderError
from app.harness.providers.router import ProviderRouter
from app.harness.run_context import RunContext
from app.harness.session_rows import late_findings, placed_in, posted_event, put_all
from app.harness.stuck import StuckDetector
from app.harness.tool_calls import resumed_calls
from app.harness.turn import Turn, TurnOutcome
from app.storage.models import Message
from app.tools.service import ToolService

CUT_OFF = "The answer broke off before this call could be started; it was not run."
STOPPED = "The operator stopped the run before this call was started; it was not run."


INTERACTION = "interaction"
"""Why a run ends, and the reason of the checkpoint, when a call of it waits for a person."""
AWAITING_COMPACTION = "awaiting_compaction"
COMPACTION_PENDING = "compaction_pending"
"""The reason of the checkpoint at which an operator decides on a compaction."""


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """How a run ended. `pause` holds the checkpoint reason when the session must pause."""

    state: Literal["succeeded", "failed", "cancelled", "interrupted"]
    reason: str
    error: dict[str, Any] | None = None
    pause: str | None = None


class AgentLoop:
    """Runs one agent until it is done. `take_steers` gives messages to inject at a boundary."""

    def __init__(
        self,
        run: RunContext,
        *,
        router: ProviderRouter,
        catalog: Catalog,
        pipeline: ProcessorPipeline,
        tools: ToolService,
        take_steers: Callable[[], list[Message]],
    ) -> None:
        self._run = run
        self._router = router
        self._catalog = catalog
        self._pipeline = pipeline
        self._tools = tools
        self._take_steers = take_steers
        self._stuck = StuckDetector()
        self._retried = False
        self._compactor = Compactor(run, run.compaction) if run.compaction is not None else None
        run.compaction_requests = CompactionRequests()

    async def run(self) -> LoopOutcome:
        """Run to the end. A cancellation is raised again after everything is answered.

        When the model has asked for a checkpoint the outcome says so, however else it ended. Then an
        answer to what it has asked is kept until the operator, who was to look, resumes."""
        outcome = await self._run_to_end()
        made = self._run.checkpoints.made
        if made is not None and outcome.pause == INTERACTION:
            # Also of an agent below: the step that would have stopped for it does not come.
            return replace(outcome, pause="model")
        if made is None or outcome.pause is not None or made.agent_path != self._run.agent_path:
            return outcome
        return replace(outcome, pause="model")

    async def _run_to_end(self) -> LoopOutcome:
        run = self._run
        if run.prepare is not None:
            await run.prepare(run)
        if run.waiting_calls:
            await self._go_on_with_waiting_calls()
        while not run.history.waiting:
            stop = self._before_step()
            if stop is not None:
                return stop
            await self._take_late_note()
            if await self._made_room():
                return LoopOutcome("interrupted", AWAITING_COMPACTION, pause=COMPACTION_PENDING)
            run.step += 1
            mark = run.history.mark()
            try:
                outcome = await self._step()
            except PolicyViolation as violation:
                run.step -= 1  # nothing was sent: there is no such step
                return self._failed(violation.code, violation.message)
            if outcome.error is not None:
                if outcome.error.kind != "context_length":
                    return self._provider_failed(outcome.error)
                end = await self._after_overflow(outcome, outcome.error, mark)
                if end is not None:
                    return end
                continue
            if outcome.stop_reason != "toolUse":
                steers = [] if run.checkpoints.made is not None else self._take_steers()
                if not steers:
                    return LoopOutcome("succeeded", outcome.stop_reason)
                self._inject(steers)
                continue
            if run.history.waiting:
                break
            self._inject(self._take_steers())
            if self._stuck.observe(run.history.messages):
                return LoopOutcome("succeeded", "stuck")
        return LoopOutcome("interrupted", INTERACTION, pause=INTERACTION)

    async def _step(self) -> TurnOutcome:
        """Make one model call and run the tools that it asks for."""
        with contextlib.suppress(ValidationFailed):  # not there any more: the call itself says so
            self._run.route = self._router.resolve(self._run.route.alias)
        self._run.reminder = await due_reminder(self._run)
        turn = Turn(
            self._run,
            router=self._router,
            catalog=self._catalog,
            pipeline=self._pipeline,
            service=self._tools,
        )
        try:
            outcome = await turn.run()
        except BaseException as stopped:
            # Whatever ends a call of the model: what it asked for until then gets its answer.
            calls = turn.pending_calls()
            if calls is not None:
                aborted = isinstance(stopped, asyncio.CancelledError)
                calls.close_refused("cancelled", STOPPED, "aborted" if aborted else "error")
            raise
        calls = turn.pending_calls()
        if calls is not None and outcome.error is not None:
            calls.close_refused("not_run", CUT_OFF, "error")
            await self._run.settle()
        elif calls is not None:
            await calls.run()
        return outcome

    async def _go_on_with_waiting_calls(self) -> None:
        """Run the calls of an earlier run that have waited for a person's consent."""
        run = self._run
        calls = resumed_calls(run, self._tools, takes_images=self._takes_images())
        if calls is not None:
            await run.record(work=calls.mark_ready())
            await calls.run()

    def _takes_images(self) -> bool:
        candidate = self._run.route.candidates[0]
        return self._catalog.takes_images(candidate.provider, candidate.model)

    async def _made_room(self) -> bool:
        """Keep the context below the model's window; true when an operator must decide how."""
        if self._compactor is None:
            return False
        assert self._run.compaction_requests is not None
        if await self._run.compaction_requests.serve(self._compactor):
            return True
        return await self._compactor.before_call()

    async def _after_overflow(
        self, outcome: TurnOutcome, error: ProviderError, mark: Mark
    ) -> LoopOutcome | None:
        """Take back an answer that a provider refused as too long; once in a run make the conversation
        shorter and go on. Returns how the run ends otherwise."""
        run = self._run
        gone = {outcome.message_id, *run.history.cut(mark)}
        run.record(work=lambda uow: uow.messages.supersede_ids(run.session_id, sorted(gone), by=None))
        if self._retried:
            return self._provider_failed(error)
        self._retried = True
        if self._compactor is not None:
            compacted = await self._compactor.compact("provider_overflow_retry")
            if compacted.outcome == "proposed":
                return LoopOutcome("interrupted", AWAITING_COMPACTION, pause=COMPACTION_PENDING)
            if compacted.outcome == "completed":
                return None
        target = run.estimate.room(int(run.context_tokens * TRUNCATE_TO))
        if run.on_overflow != "truncate" or not run.history.truncate(target):
            return self._provider_failed(error)
        run.audit("policy.truncated", {"step": run.step, "estimate": run.context_tokens, "window": None})
        return None

    def _before_step(self) -> LoopOutcome | None:
        """Return how the run ends when it must not make another model call."""
        run = self._run
        if run.stopping == "pause":
            return LoopOutcome("interrupted", "paused", pause="operator")
        if run.checkpoints.stops_before_step(run.agent_path):
            return LoopOutcome("interrupted", "checkpoint", pause="model")
        if run.limits.max_steps is not None and run.step >= run.limits.max_steps:
            return LoopOutcome("succeeded", "max_steps")
        if run.ending is not None:
            return LoopOutcome("succeeded", run.ending)
        for verdict in judge(run.limits, run.spent()):
            key = f"{verdict.unit}:{verdict.reached}"
            if key not in run.warned:
                run.warned.add(key)
                run.record(
                    BudgetWarning(
                        unit=verdict.unit, limit=verdict.limit, used=verdict.used, reached=verdict.reached
                    )
                )
            if verdict.reached:
                return LoopOutcome("interrupted", f"budget_{verdict.unit}", pause="budget")
        for above in run.lineage():
            used_up = next((one for one in judge(above.limits, above.spent()) if one.reached), None)
            if used_up is not None:
                return LoopOutcome("interrupted", f"budget_{used_up.unit}", pause="budget")
        return None

    async def _take_late_note(self) -> None:
        """Put what came late about the agent's edits at the end of the conversation, where the model
        reads it with its next call. A run that ends before leaves it to the next one."""
        run = self._run
        note = await self._tools.late_note(run.session_id, run.agent_path)
        if note is not None:
            row = placed_in(run.history, late_findings(run.session_id, run.agent_path, note), run.run_id)
            run.record(posted_event(row, queued=False), work=put_all([row]))
            run.history.add_user(row)

    def _inject(self, steers: list[Message]) -> None:
        for row in steers:
            self._run.history.add_user(row)

    def _failed(self, code: str, message: str) -> LoopOutcome:
        return LoopOutcome("failed", code, error={"code": code, "message": message})

    def _provider_failed(self, error: ProviderError) -> LoopOutcome:
        code = "context_overflow" if error.kind == "context_length" else error.kind
        detail: dict[str, Any] = {
            "code": code,
            "message": error.message,
            "provider": error.provider,
            "model": error.model,
        }
        if error.status is not None:
            detail["status"] = error.status
        return LoopOutcome("failed", code, error=detail)
