"""One model call of a run: request, pipeline, stream, and the stored answer.

Owns: `message.start` to `message.end` of one message, its rows, partial saves; each start has one end, also
after a failure. Never: tool calls (`tool_calls`), or what comes next (`loop`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from app.events.budgets import BudgetWarning
from app.events.union import (
    MessageDelta,
    MessageStart,
    MessageToolCall,
    StepEnded,
    StepStarted,
    head_of,
    message_address,
)
from app.harness.loop.broken_attempt import bucket_of, emit_retry, take_back
from app.harness.loop.run_services import CallServices
from app.harness.loop.tool_calls import StepCalls
from app.harness.providers.deltas import (
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
    UsageSoFar,
)
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest, Provider, WireRequest
from app.harness.providers.route import AttemptFailed, AttemptStarted, Candidate
from app.harness.providers.router import ProviderRouter
from app.harness.run.model_answer import Answer, RecordedCall
from app.harness.run.processor import ProcessorPipeline
from app.harness.run.run_context import RunContext
from app.harness.run.telemetry import ModelCallRecord
from app.ids import new_id, now_ms
from app.messages import StopReason, ToolCallBlock
from app.storage.models import MessageDetails
from app.storage.unit_of_work import UnitOfWork
from app.tools.dispatch.service import ToolService

log = logging.getLogger("kaged.run")

PARTIAL_SAVE_SECONDS = 0.25
PARTIAL_SAVE_CHARACTERS = 64 * 1024


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What one model call gave. `error` is set when it failed; the partial answer is stored."""

    message_id: str
    stop_reason: StopReason
    error: ProviderError | None = None


class Turn:
    """Runs one model call. Make a new one for each step."""

    def __init__(
        self,
        run: RunContext,
        services: CallServices,
        *,
        router: ProviderRouter,
        pipeline: ProcessorPipeline,
        service: ToolService,
    ) -> None:
        self._run = run
        self._services = services
        self._service = service
        self._router = router
        self._pipeline = pipeline
        self._message_id = new_id("msg")
        self._position = run.history.take_position()
        self._answer = Answer(run.history.call_ids, run.plan.tools)
        self._record = ModelCallRecord(run)
        self._asked = run.plan.route.candidates[0]
        self._attempt = 1
        self._message_started = False
        self._finished = False
        self._calls: StepCalls | None = None
        self._save_timer: asyncio.TimerHandle | None = None

    def pending_calls(self) -> StepCalls | None:
        """Return the calls that the answer asked for so far, none of them started."""
        if self._calls is None and self._answer.calls():
            self._calls = StepCalls(
                self._run,
                self._services,
                self._service,
                self._message_id,
                self._answer.calls(),
                self._answer.recorded,
                takes_images=self._takes_images(self._asked),
            )
        return self._calls

    async def run(self) -> TurnOutcome:
        """Call the model and store what it says.

        Raises `PolicyViolation` before anything is sent; provider errors are in the outcome;
        a cancellation is stored as an aborted message and raised again."""
        run = self._run
        run.controls.phase = "model"
        request = self._pipeline.before_step(run, run.meter.step, self._request())
        self._start_step()
        try:
            await self._consume(request)
        except ProviderError as error:
            outcome = self._finish("error", error)
        except BaseException as stopped:
            # What has arrived is handed to the storage before the cancellation (or a defect) goes
            # on; nothing is awaited, so that a second cancellation finds nothing half done.
            self._finish("aborted" if isinstance(stopped, asyncio.CancelledError) else "error", None)
            raise
        else:
            stop: StopReason = "toolUse" if self._answer.calls() else self._answer.stop_reason
            outcome = self._finish(stop, None)
        await run.journal.settle()
        return outcome

    def _request(self) -> ModelRequest:
        run = self._run
        return ModelRequest(
            model=run.plan.route.candidates[0].model,
            system=run.plan.system(),
            messages=run.history.visible,
            tools=run.plan.tools,
            max_output_tokens=run.meter.limits.max_output_tokens,
            session_id=run.scope.session_id,
            cache=run.history.cache,
            reminder=run.controls.reminder,
        )

    async def _consume(self, request: ModelRequest) -> None:
        run = self._run

        def build(candidate: Candidate) -> ModelRequest:
            messages, cache = request.messages, request.cache
            if messages is run.history.visible:
                messages, cache = run.history.shown_to(images=self._takes_images(candidate))
            return replace(request, model=candidate.model, messages=messages, cache=cache)

        def seal(provider: Provider, sealed: ModelRequest) -> WireRequest:
            wire = provider.encode(sealed)
            self._pipeline.on_sealed(run, run.meter.step, provider.name, sealed, wire)
            return wire

        async with aclosing(self._router.stream(run.plan.route, build, seal=seal)) as stream:
            async for item in stream:
                if isinstance(item, AttemptStarted):
                    self._attempt, self._asked = item.attempt, Candidate(item.provider, item.model)
                    self._answer.opened()
                    self._record.started(item, request)
                elif isinstance(item, AttemptFailed):
                    self._retry(item)
                else:
                    delta = self._answer.tamed(item)
                    self._answer.add(delta)
                    if not isinstance(delta, UsageSoFar):
                        self._relay(delta)

    def _takes_images(self, candidate: Candidate) -> bool:
        return self._router.catalog.takes_images(candidate.provider, candidate.model)

    def _retry(self, failed: AttemptFailed) -> None:
        self._record.failed(failed.error)
        if failed.delay is None and failed.fallback_to is None:
            return  # nothing follows: the error is the call's own
        if failed.begun:
            cost = self._router.catalog.cost(self._asked.provider, self._asked.model, self._answer.usage)
            take_back(self._run, self._message_id, self._answer, cost)
        emit_retry(self._run, failed)

    def _relay(self, delta: object) -> None:
        """Publish one delta; the first one opens the message."""
        run = self._run
        if not self._message_started:
            self._start_message()
        if isinstance(delta, TextDelta | ThinkingDelta):
            run.journal.emit(
                MessageDelta(
                    message_id=self._message_id,
                    delta=delta.text,
                    kind="text" if isinstance(delta, TextDelta) else "thinking",
                    attempt=self._attempt,
                )
            )
            self._save_soon()
        elif isinstance(delta, ToolCallReady):
            self._record_call(delta.call)
        elif isinstance(delta, ThinkingClosed):
            self._save_soon()

    def _start_step(self) -> None:
        run = self._run
        step: dict[str, Any] = {
            "run_id": run.scope.run_id,
            "number": run.meter.step,
            "message_id": self._message_id,
            "provider": self._asked.provider,
            "model": self._asked.model,
            "started_at": now_ms(),
        }
        run.journal.record(
            StepStarted(step=run.meter.step, message_id=self._message_id),
            statements=lambda uow: uow.runs.insert_step(**step),
            kept=True,
        )

    def _start_message(self) -> None:
        self._message_started = True
        row = self._row(complete=False, details={"step": self._run.meter.step})
        self._run.journal.record(
            MessageStart(
                run_id=self._run.scope.run_id,
                message_id=self._message_id,
                provider=self._asked.provider,
                model=self._asked.model,
                attempt=self._attempt,
            ),
            statements=lambda uow: uow.messages.put_values(**row),
            kept=True,
        )

    def _record_call(self, call: ToolCallBlock) -> None:
        run = self._run
        recorded = RecordedCall(new_id("tcl"))
        row: dict[str, Any] = {
            "id": recorded.id,
            "session_id": run.scope.session_id,
            "run_id": run.scope.run_id,
            "step": run.meter.step,
            "message_id": self._message_id,
            "agent_path": run.scope.agent_path,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "state": recorded.state.value,
        }
        self._answer.recorded[call.id] = recorded
        arguments = call.arguments if call.argument_error is None else call.raw_arguments
        event = MessageToolCall(
            message_id=self._message_id,
            id=call.id,
            name=call.name,
            arguments=arguments,
            attempt=self._attempt,
        )
        if head_of(str(arguments)) is not None:
            address = message_address(run.scope.session_id, self._message_id)
            event = event.model_copy(update={"arguments": None, "arguments_ref": address})
        run.journal.record(event, statements=lambda uow: uow.tool_calls.insert(**row), kept=True)

    def _save_soon(self) -> None:
        if self._save_timer is None:
            loop = asyncio.get_running_loop()
            pause = partial_save_pause(self._answer.characters)
            self._save_timer = loop.call_later(pause, self._save_partial)

    def _save_partial(self) -> None:
        self._save_timer = None
        row = self._row(complete=False, details=self._answer.partial_details(self._run.meter.step))

        def store(uow: UnitOfWork) -> None:
            if not self._finished:  # a late save must not overwrite the whole answer
                uow.messages.put_values(**row)

        self._run.journal.record(statements=store)

    def _row(self, *, complete: bool, details: MessageDetails) -> dict[str, Any]:
        run = self._run
        return {
            "id": self._message_id,
            "session_id": run.scope.session_id,
            "run_id": run.scope.run_id,
            "agent_path": run.scope.agent_path,
            "position": self._position,
            "role": "primary",
            "content": self._answer.text(),
            "details": details,
            "complete": complete,
            "created_at": now_ms(),
        }

    def _finish(self, stop_reason: StopReason, error: ProviderError | None) -> TurnOutcome:
        """Record the answer, whole or partial, and close the message."""
        run = self._run
        self._finished = True
        if self._save_timer is not None:
            self._save_timer.cancel()
        if not self._message_started:
            self._start_message()
        usage = self._answer.usage
        cost = (
            self._router.catalog.cost(self._asked.provider, self._asked.model, usage) if usage.total else None
        )
        run.meter.spend(usage, cost)
        if cost is None and usage.total and run.meter.limits.cost_usd is not None:
            self._emit_unpriced(run.meter.limits.cost_usd)
        end = self._answer.message_end(self._message_id, stop_reason, cost, error)
        generation = self._answer.generation(
            run.meter.step, self._asked.provider, self._asked.model, stop_reason, cost
        )
        self._pipeline.after_step(run, generation)
        self._record.answered(self._answer, generation, error)
        calls = self._answer.calls()
        closing = StepEnded(
            step=run.meter.step, message_id=self._message_id, stop_reason=stop_reason, tool_calls=len(calls)
        )
        details = self._answer.details(
            self._asked.provider,
            self._asked.model,
            end,
            run.controls.request_digest,
            error,
            run.journal.sent_system,
        )
        if run.history.gate is not None:
            details["gateDigest"] = run.history.gate.digest
        row = self._row(complete=True, details=details)
        pending = self.pending_calls() if stop_reason == "toolUse" else None
        mark_ready = pending.mark_ready() if pending is not None else None
        stats = end.stats.model_dump(by_alias=True) if end.stats else {}
        stats["context"] = run.estimate.shares(run.history.counted())
        if run.meter.compactor_cost is not None:
            stats["compactor_cost"] = run.meter.compactor_cost.model_dump(by_alias=True)
            run.meter.compactor_cost = None

        def store(uow: UnitOfWork) -> None:
            uow.messages.put_values(**row)
            if mark_ready is not None:
                mark_ready(uow)
            self._store_totals(uow, stats, stop_reason)

        durable = pending is not None and pending.changes
        run.journal.record(end, *(() if calls else (closing,)), statements=store, durable=durable, kept=True)
        run.history.add_assistant(self._message_id, self._answer.blocks(), complete=stop_reason == "stop")
        if error is None and usage.total:
            run.estimate.calibrate(
                run.meter.context_tokens,
                usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            )
        return TurnOutcome(self._message_id, stop_reason, error)

    def _emit_unpriced(self, limit: float) -> None:
        """Say, once in a run, that a limit of cost does not hold."""
        run, model = self._run, str(self._asked)
        if "usd:unpriced" in run.meter.warned:
            return
        run.meter.warned.add("usd:unpriced")
        log.warning("run %s has a cost limit without effect: %s has no price", run.scope.run_id, model)
        used = run.meter.cost_usd or 0.0
        unpriced = BudgetWarning(unit="usd", limit=limit, used=used, reached=False, unpriced_model=model)
        run.journal.record(unpriced, kept=True)

    def _store_totals(self, uow: UnitOfWork, stats: dict[str, Any], stop_reason: StopReason) -> None:
        run = self._run
        usage = self._answer.usage
        cost = stats.get("cost")
        uow.runs.update_step(
            run.scope.run_id,
            run.meter.step,
            provider=self._asked.provider,
            model=self._asked.model,
            stop_reason=stop_reason,
            request_digest=run.controls.request_digest,
            stats={
                **{name: value for name, value in stats.items() if value is not None},
                "usage": usage.model_dump(exclude_defaults=True),
                "attempts": self._attempt,
            },
            ended_at=now_ms(),
        )
        uow.runs.update(
            run.scope.run_id,
            step_count=run.meter.step,
            cost_usd=run.meter.cost_usd,
            **run.meter.usage.model_dump(),
        )
        uow.sessions.add_usage(run.scope.session_id, usage, cost["total"] if cost else None, bucket_of(run))


def partial_save_pause(characters: int) -> float:
    """Return after how many seconds an answer that is so long is saved again.

    Each save has all of it: a long answer is saved less often, so that no more is written in a second."""
    return PARTIAL_SAVE_SECONDS * max(1.0, characters / PARTIAL_SAVE_CHARACTERS)
