"""The agent loop: model call, tool calls, again, until something says stop.

Owns: what ends a run and with which reason. Never: storage of messages (turn, tool_calls) or
session state (session).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import orjson
import xxhash

from app.errors import KagedError, ValidationFailed
from app.harness.compaction.compactor import Compactor
from app.harness.compaction.ports import CompactionServices
from app.harness.conversation.history import Mark
from app.harness.issues.reminder import TOOL, just_shown
from app.harness.loop.budget_warnings import used_up
from app.harness.loop.daemon_words import add_message
from app.harness.loop.pipeline.policy import TRUNCATE_TO
from app.harness.loop.plan_note import plan_note
from app.harness.loop.run_hooks import HOOK_DENIED, RunHooks
from app.harness.loop.run_services import CallServices
from app.harness.loop.tool_calls import resumed_calls
from app.harness.loop.turn import Turn, TurnOutcome
from app.harness.providers.errors import ProviderError
from app.harness.providers.router import ProviderRouter
from app.harness.run.compaction_requests import CompactionRequests
from app.harness.run.processor import PolicyViolation, ProcessorPipeline
from app.harness.run.run_context import RunContext
from app.harness.run.withholding import withhold
from app.messages import AssistantMessage, ModelMessage, ToolCallBlock, ToolResultsMessage
from app.storage.models import Message
from app.tools.dispatch.service import ToolService

log = logging.getLogger("kaged.run")

CUT_OFF = "The answer broke off before this call could be started; it was not run."
STOPPED = "The operator stopped the run before this call was started; it was not run."

INTERACTION = "interaction"
"""Why a run ends, and the reason of the checkpoint, when a call of it waits for a person."""
STUCK = "stuck"
"""Why a run ends whose model asks for the same again and again."""
AWAITING_COMPACTION = "awaiting_compaction"
COMPACTION_PENDING = "compaction_pending"
"""The reason of the checkpoint at which an operator decides on a compaction."""
SAME_STEPS = 6
"""So many identical steps in a row (same calls, same results) are a loop."""


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """How a run ended. `pause` holds the checkpoint reason when the session must pause."""

    state: Literal["succeeded", "failed", "cancelled", "interrupted"]
    reason: str
    error: dict[str, Any] | None = None
    pause: str | None = None


class StuckDetector:
    """Counts identical steps in a row."""

    def __init__(self) -> None:
        self._last = b""
        self._count = 0

    def observe(self, messages: Sequence[ModelMessage]) -> bool:
        """Look at the newest answer and its results; return True when the run goes in circles."""
        if len(messages) < 2:
            return False
        asked, answered = messages[-2], messages[-1]
        if not (isinstance(asked, AssistantMessage) and isinstance(answered, ToolResultsMessage)):
            return False
        calls = [(b.name, b.arguments, b.raw_arguments) for b in asked.blocks if isinstance(b, ToolCallBlock)]
        results = [(r.content, r.is_error) for r in answered.results]
        digest = xxhash.xxh3_128_digest(orjson.dumps([calls, results]))
        self._count = self._count + 1 if digest == self._last else 1
        self._last = digest
        return self._count >= SAME_STEPS


class AgentLoop:
    """Runs one agent until it is done. `take_steers` gives messages to inject at a boundary."""

    def __init__(
        self,
        run: RunContext,
        calls: CallServices,
        *,
        router: ProviderRouter,
        pipeline: ProcessorPipeline,
        tools: ToolService,
        compaction: CompactionServices,
        hooks: RunHooks,
        take_steers: Callable[[], list[Message]],
    ) -> None:
        self._run = run
        self._calls = calls
        self._router = router
        self._catalog = router.catalog
        self._pipeline = pipeline
        self._tools = tools
        self._take_steers = take_steers
        self._hooks = hooks
        self._stuck = StuckDetector()
        self._retried = False
        self._compactor = Compactor(run, compaction)
        run.controls.compactions = CompactionRequests()

    async def run(self) -> LoopOutcome:
        """Run to the end. A cancellation is raised again after everything is answered.

        When the model has asked for a checkpoint the outcome says so, however else it ended. Then an
        answer to what it has asked is kept until the operator, who was to look, resumes."""
        outcome = await self._run_to_end()
        made = self._run.controls.checkpoints.made
        if made is not None and outcome.pause == INTERACTION:
            # Also of an agent below: the step that would have stopped for it does not come.
            return replace(outcome, pause="model")
        if made is None or outcome.pause is not None or made.agent_path != self._run.scope.agent_path:
            return outcome
        return replace(outcome, pause="model")

    async def _run_to_end(self) -> LoopOutcome:  # noqa: C901
        run = self._run
        if run.plan.prepare is not None:
            await run.plan.prepare(run)
        withheld = await self._hooks.take_prompts()
        if withheld is not None:
            return self._failed(HOOK_DENIED, withheld)
        if run.plan.waiting_calls:
            await self._go_on_with_waiting_calls()
        while not run.history.waiting:
            await self._calls.waits.place(run)
            stop = self._before_step()
            if stop is not None:
                return stop
            await self._take_late_note()
            await self._take_news()
            if await self._made_room():
                return LoopOutcome("interrupted", AWAITING_COMPACTION, pause=COMPACTION_PENDING)
            run.meter.step += 1
            mark = run.history.mark()
            try:
                outcome = await self._step()
            except PolicyViolation as violation:
                run.meter.step -= 1  # nothing was sent: there is no such step
                return self._failed(violation.code, violation.message)
            if outcome.error is not None:
                if outcome.error.kind != "context_length":
                    return self._provider_failed(outcome.error)
                end = await self._after_overflow(outcome, outcome.error, mark)
                if end is not None:
                    return end
                continue
            if outcome.stop_reason != "toolUse":
                if not await self._goes_on(outcome.stop_reason):
                    return LoopOutcome("succeeded", outcome.stop_reason)
                continue
            if run.history.waiting:
                break
            await self._hooks.inject(self._take_steers())
            if self._stuck.observe(run.history.messages):
                return LoopOutcome("interrupted", STUCK)
        return LoopOutcome("interrupted", INTERACTION, pause=INTERACTION)

    async def _step(self) -> TurnOutcome:
        """Make one model call and run the tools that it asks for."""
        with contextlib.suppress(ValidationFailed):  # not there any more: the call itself says so
            route = self._router.resolve(self._run.plan.route.alias)
            self._run.plan = replace(self._run.plan, route=route)
        self._run.controls.reminder = await due_reminder(self._run)
        await withhold(self._run, self._run.meter.step)
        turn = Turn(
            self._run,
            self._calls,
            router=self._router,
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
            await self._run.journal.settle()
        elif calls is not None:
            await calls.run()
        return outcome

    async def _go_on_with_waiting_calls(self) -> None:
        """Run the calls of an earlier run that have waited for a person's consent."""
        run = self._run
        calls = resumed_calls(run, self._calls, self._tools, takes_images=self._takes_images())
        if calls is not None:
            marks = calls.mark_ready()
            await run.journal.record(statements=marks, durable=calls.changes)
            await calls.run()

    def _takes_images(self) -> bool:
        candidate = self._run.plan.route.candidates[0]
        return self._catalog.takes_images(candidate.provider, candidate.model)

    async def _made_room(self) -> bool:
        """Keep the context below the model's window; true when an operator must decide how."""
        if await self._run.controls.compactions.serve(self._compactor):
            return True
        return await self._compactor.before_call()

    async def _after_overflow(
        self, outcome: TurnOutcome, error: ProviderError, mark: Mark
    ) -> LoopOutcome | None:
        """Take back an answer that a provider refused as too long; once in a run make the conversation
        shorter and go on. Returns how the run ends otherwise."""
        run = self._run
        gone = {outcome.message_id, *run.history.cut(mark)}
        run.journal.record(
            statements=lambda uow: uow.messages.supersede_ids(run.scope.session_id, sorted(gone), by=None),
            kept=True,
        )
        if self._retried:
            return self._provider_failed(error)
        self._retried = True
        compacted = await self._compactor.compact("provider_overflow_retry")
        if compacted.outcome == "proposed":
            return LoopOutcome("interrupted", AWAITING_COMPACTION, pause=COMPACTION_PENDING)
        if compacted.outcome == "completed":
            return None
        target = run.estimate.room(int(run.meter.context_tokens * TRUNCATE_TO))
        if run.plan.on_overflow != "truncate" or not run.history.truncate(target):
            return self._provider_failed(error)
        run.journal.audit(
            "policy.truncated", {"step": run.meter.step, "estimate": run.meter.context_tokens, "window": None}
        )
        return None

    def _before_step(self) -> LoopOutcome | None:
        """Return how the run ends when it must not make another model call."""
        run = self._run
        if run.controls.stopping == "pause":
            return LoopOutcome("interrupted", "paused", pause="operator")
        if run.controls.checkpoints.stops_before_step(run.scope.agent_path):
            return LoopOutcome("interrupted", "checkpoint", pause="model")
        if run.meter.limits.max_steps is not None and run.meter.step >= run.meter.limits.max_steps:
            return LoopOutcome("succeeded", "max_steps")
        if run.controls.ending is not None:
            return LoopOutcome("succeeded", run.controls.ending)
        unit = used_up(run)
        return None if unit is None else LoopOutcome("interrupted", f"budget_{unit}", pause="budget")

    async def _take_late_note(self) -> None:
        """Add what language servers found after edits were answered."""
        run = self._run
        note = await self._tools.late_note(run.scope.session_id, run.scope.agent_path)
        if note is not None:
            add_message(run, note, {"kind": "diagnostics_after_edit"})

    async def _take_news(self) -> None:
        """Add instruction files that are new to the agent, or have changed. Compaction keeps them for as
        long as no later message is about the same files."""
        news = await self._run.guidance.news(self._run.history, date.today())
        if news is not None:
            add_message(self._run, news.text, {"kind": "instructions", "told": news.files})

    async def _goes_on(self, stop_reason: str) -> bool:
        """Tell whether the agent has something to do after an answer without calls: a message that came
        meanwhile, or the words of a hook."""
        if self._run.controls.checkpoints.made is not None:
            return False
        return await self._hooks.inject(self._take_steers()) or await self._hooks.sends_back(stop_reason)

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


async def due_reminder(run: RunContext) -> str | None:
    """Return what the next call of the model ends with; None for nothing. Does not raise: a call without
    its reminder is better than none."""
    try:
        planning = plan_note(await run.rules(), run.plan.allowed_tools)
    except KagedError as problem:
        log.warning("run %s continues without the note on its mode: %s", run.scope.run_id, problem.message)
        planning = None
    return "\n\n".join(note for note in (planning, await _open_tasks(run)) if note is not None) or None


async def _open_tasks(run: RunContext) -> str | None:
    if run.plan.remind is None or just_shown(run.history.visible):
        return None
    try:
        return await run.plan.remind(has_tool=f"{TOOL}.done" in run.plan.allowed_tools)
    except KagedError as problem:
        log.warning("run %s continues without its reminder: %s", run.scope.run_id, problem.message)
        return None
