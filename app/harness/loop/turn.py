"""One model call of a run: request, pipeline, stream, and the stored answer.

Owns: `message.start` to `message.end` of one message, its row, its step row, partial saves.
Never: tool calls (`tool_calls`) or deciding what comes next (`loop`). Every started message is
ended exactly once, also when the call fails or is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from app.events import (
    BudgetWarning,
    MessageDelta,
    MessageStart,
    MessageToolCall,
    ModelRetry,
    StepEnded,
    StepStarted,
    head_of,
    message_address,
)
from app.harness.answer import Answer, RecordedCall
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.providers.catalog import Catalog
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
from app.harness.run_context import RunContext
from app.harness.telemetry import ModelCallRecord
from app.harness.tool_calls import StepCalls
from app.ids import new_id, now_ms
from app.messages import StopReason, ToolCallBlock, Usage
from app.storage.repositories.sessions import Bucket
from app.storage.unit_of_work import UnitOfWork
from app.tools.service import ToolService

log = logging.getLogger("kaged.run")

PARTIAL_SAVE_SECONDS = 0.25
PARTIAL_SAVE_CHARACTERS = 64 * 1024


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What one model call gave. `error` is set when it failed; the partial answer is stored."""

    message_id: str
    stop_reason: StopReason
    usage: Usage
    error: ProviderError | None = None


class Turn:
    """Runs one model call. Make a new one for each step."""

    def __init__(
        self,
        run: RunContext,
        *,
        router: ProviderRouter,
        catalog: Catalog,
        pipeline: ProcessorPipeline,
        service: ToolService,
    ) -> None:
        self._run = run
        self._service = service
        self._router = router
        self._catalog = catalog
        self._pipeline = pipeline
        self._message_id = new_id("msg")
        self._position = run.history.take_position()
        self._answer = Answer(run.history.call_ids)
        self._record = ModelCallRecord(run)
        self._provider, self._model = run.route.candidates[0].provider, run.route.candidates[0].model
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
                self._service,
                self._message_id,
                self._answer.calls(),
                self._answer.recorded,
                takes_images=self._takes_images(Candidate(self._provider, self._model)),
            )
        return self._calls

    async def run(self) -> TurnOutcome:
        """Call the model and store what it says.

        Raises `PolicyViolation` before anything is sent; provider errors are in the outcome;
        a cancellation is stored as an aborted message and raised again."""
        run = self._run
        run.phase = "model"
        request = self._pipeline.before_step(run, run.step, self._request())
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
        await run.settle()
        return outcome

    def _request(self) -> ModelRequest:
        run = self._run
        return ModelRequest(
            model=run.route.candidates[0].model,
            system=run.system(),
            messages=run.history.visible,
            tools=run.tools,
            max_output_tokens=run.limits.max_output_tokens,
            session_id=run.session_id,
            cache=run.history.cache,
            reminder=run.reminder,
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
            self._pipeline.on_sealed(run, run.step, provider.name, sealed, wire)
            return wire

        async with aclosing(self._router.stream(run.route, build, seal=seal)) as stream:
            async for item in stream:
                if isinstance(item, AttemptStarted):
                    self._attempt, self._provider, self._model = item.attempt, item.provider, item.model
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
        return self._catalog.takes_images(candidate.provider, candidate.model)

    def _retry(self, failed: AttemptFailed) -> None:
        self._record.failed(failed.error)
        if failed.delay is None and failed.fallback_to is None:
            return  # nothing follows: the error is the call's own
        self._run.record(
            ModelRetry(
                step=self._run.step,
                attempt=failed.attempt,
                provider=failed.provider,
                model=failed.model,
                error=failed.error.kind,
                message=failed.error.message,
                delay_ms=None if failed.delay is None else int(failed.delay * 1000),
                fallback_to=failed.fallback_to,
            )
        )

    def _relay(self, delta: object) -> None:
        """Publish one delta; the first one opens the message."""
        run = self._run
        if not self._message_started:
            self._start_message()
        if isinstance(delta, TextDelta | ThinkingDelta):
            run.emit(
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
            "run_id": run.run_id,
            "number": run.step,
            "message_id": self._message_id,
            "provider": self._provider,
            "model": self._model,
            "started_at": now_ms(),
        }
        run.record(
            StepStarted(step=run.step, message_id=self._message_id),
            work=lambda uow: uow.runs.insert_step(**step),
        )

    def _start_message(self) -> None:
        self._message_started = True
        row = self._row(complete=False, details={"step": self._run.step})
        self._run.record(
            MessageStart(
                run_id=self._run.run_id,
                message_id=self._message_id,
                provider=self._provider,
                model=self._model,
                attempt=self._attempt,
            ),
            work=lambda uow: uow.messages.put_values(**row),
        )

    def _record_call(self, call: ToolCallBlock) -> None:
        run = self._run
        recorded = RecordedCall(new_id("tcl"))
        row: dict[str, Any] = {
            "id": recorded.id,
            "session_id": run.session_id,
            "run_id": run.run_id,
            "step": run.step,
            "message_id": self._message_id,
            "agent_path": run.agent_path,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "state": recorded.state.value,
        }
        self._answer.recorded[call.id] = recorded
        arguments = call.arguments if call.argument_error is None else call.raw_arguments
        told = MessageToolCall(
            message_id=self._message_id,
            id=call.id,
            name=call.name,
            arguments=arguments,
            attempt=self._attempt,
        )
        if head_of(str(arguments)) is not None:
            address = message_address(run.session_id, self._message_id)
            told = told.model_copy(update={"arguments": None, "arguments_ref": address})
        run.record(told, work=lambda uow: uow.tool_calls.insert(**row))

    def _save_soon(self) -> None:
        if self._save_timer is None:
            loop = asyncio.get_running_loop()
            pause = partial_save_pause(self._answer.characters)
            self._save_timer = loop.call_later(pause, self._save_partial)

    def _save_partial(self) -> None:
        self._save_timer = None
        row = self._row(complete=False, details=self._answer.partial_details(self._run.step))

        def store(uow: UnitOfWork) -> None:
            if not self._finished:  # a late save must not overwrite the whole answer
                uow.messages.put_values(**row)

        self._run.record(work=store)

    def _row(self, *, complete: bool, details: dict[str, Any]) -> dict[str, Any]:
        run = self._run
        return {
            "id": self._message_id,
            "session_id": run.session_id,
            "run_id": run.run_id,
            "agent_path": run.agent_path,
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
        cost = self._catalog.cost(self._provider, self._model, usage) if usage.total else None
        run.spend(usage, cost)
        if cost is None and usage.total and run.limits.cost_usd is not None:
            self._tell_unpriced(run.limits.cost_usd)
        end = self._answer.message_end(self._message_id, stop_reason, cost, error)
        generation = self._answer.generation(run.step, self._provider, self._model, stop_reason, cost)
        self._pipeline.after_step(run, generation)
        self._record.answered(self._answer, generation, error)
        calls = self._answer.calls()
        closing = StepEnded(
            step=run.step, message_id=self._message_id, stop_reason=stop_reason, tool_calls=len(calls)
        )
        details = self._answer.details(
            self._provider, self._model, end, run.request_digest, error, run.sent_system
        )
        row = self._row(complete=True, details=details)
        has_calls = bool(calls)
        pending = self.pending_calls() if stop_reason == "toolUse" else None
        mark_ready = pending.mark_ready() if pending is not None else None

        stats = end.stats.model_dump(by_alias=True) if end.stats else {}
        if run.compactor_cost is not None:
            stats["compactor_cost"] = run.compactor_cost.model_dump(by_alias=True)
            run.compactor_cost = None

        def store(uow: UnitOfWork) -> None:
            uow.messages.put_values(**row)
            if mark_ready is not None:
                mark_ready(uow)
            self._store_totals(uow, stats, stop_reason)

        run.record(end, *(() if has_calls else (closing,)), work=store)
        run.history.add_assistant(self._message_id, self._answer.blocks(), complete=stop_reason == "stop")
        if error is None and usage.total:
            run.estimate.calibrate(
                run.context_tokens,
                usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            )
        return TurnOutcome(message_id=self._message_id, stop_reason=stop_reason, usage=usage, error=error)

    def _tell_unpriced(self, limit: float) -> None:
        """Say, once in a run, that a limit of cost does not hold."""
        run, model = self._run, f"{self._provider}:{self._model}"
        if "usd:unpriced" in run.warned:
            return
        run.warned.add("usd:unpriced")
        log.warning("run %s has a limit of cost that does not hold: %s has no price", run.run_id, model)
        used = run.cost_usd or 0.0
        run.record(BudgetWarning(unit="usd", limit=limit, used=used, reached=False, unpriced_model=model))

    def _store_totals(self, uow: UnitOfWork, stats: dict[str, Any], stop_reason: StopReason) -> None:
        run = self._run
        usage = self._answer.usage
        cost = stats.get("cost")
        uow.runs.update_step(
            run.run_id,
            run.step,
            provider=self._provider,
            model=self._model,
            stop_reason=stop_reason,
            request_digest=run.request_digest,
            stats={
                **{name: value for name, value in stats.items() if value is not None},
                "usage": usage.model_dump(exclude_defaults=True),
                "attempts": self._attempt,
            },
            ended_at=now_ms(),
        )
        uow.runs.update(
            run.run_id,
            step_count=run.step,
            cost_usd=run.cost_usd,
            **run.usage.model_dump(),
        )
        bucket: Bucket = "primary" if run.agent_path == "primary" else "subagents"
        uow.sessions.add_usage(run.session_id, usage, cost["total"] if cost else None, bucket)


def partial_save_pause(characters: int) -> float:
    """Return after how many seconds an answer that is so long is saved again.

    Each save has all of it: a long answer is saved less often, so that no more is written in a second."""
    return PARTIAL_SAVE_SECONDS * max(1.0, characters / PARTIAL_SAVE_CHARACTERS)
