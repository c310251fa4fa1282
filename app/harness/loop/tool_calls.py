"""Runs the tool calls of one step, side by side where they do not collide.

Owns: exactly one stored and published result per call, also when it is refused or cancelled; a call that
waits for a person has none yet. Never: a tool's work (the tool service).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from app.errors import ToolError, invalid_params
from app.events.union import StepEnded
from app.harness.checkpoints.file_writes import as_details
from app.harness.conversation.history import waiting_result
from app.harness.loop.call_order import CallOrder
from app.harness.loop.call_ports import CallPorts
from app.harness.loop.run_services import CallServices
from app.harness.loop.tool_limits import call_within_limits
from app.harness.questions.rows import asked_data, asked_row, requested_event
from app.harness.run.model_answer import RecordedCall
from app.harness.run.run_context import RunContext
from app.harness.run.telemetry import tool_ended, tool_span
from app.harness.run.tool_results import result_event, result_row
from app.ids import new_id, now_ms
from app.messages import AssistantMessage, ModelMessage, StopReason, ToolCallBlock, ToolResult
from app.observability import Span
from app.states import ToolCallState, move
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ModelStep, ToolCallContext, ToolEnvelope
from app.tools.contract.definition import Effects
from app.tools.contract.ports import CallWaits, HumanQuestion
from app.tools.dispatch.arguments import validate
from app.tools.dispatch.service import ToolService
from app.workspace import locate

UNFINISHED = "The run was stopped before this call finished; it may have partly run."
NOT_BEGUN = "The run was stopped before this call began."


@dataclass(slots=True)
class _Call:
    """One call on its way: its record, its place among the results, its result when it has one."""

    block: ToolCallBlock
    record: RecordedCall
    position: int
    result: ToolResult | None = None
    waiting: bool = False
    message_id: str = ""
    behind: list[_Call] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    ports: CallPorts | None = None

    @property
    def at_rest(self) -> bool:
        """Whether it has its result, or is left to wait for a person."""
        return self.result is not None or self.waiting

    @property
    def asks(self) -> bool:
        return self.ports is not None and self.ports.asks

    @property
    def blocked(self) -> bool:
        """Whether a call that it collides with is not over yet."""
        return any(not other.at_rest for other in self.behind)


class StepCalls:
    """All tool calls of one model answer; with `resumed`, those of an earlier run's that have waited."""

    def __init__(
        self,
        run: RunContext,
        calls: CallServices,
        service: ToolService,
        message_id: str,
        blocks: Sequence[ToolCallBlock],
        recorded: dict[str, RecordedCall],
        *,
        takes_images: bool = False,
        resumed: bool = False,
    ) -> None:
        self._run = run
        self._services = calls
        self._resumed = resumed
        self._step_closed = resumed
        self._service = service
        self._message_id = message_id
        self._takes_images = takes_images
        self.changes = False
        """Whether a call that `mark_ready` has marked may leave something behind."""
        self._stop_reason: StopReason = "toolUse"
        first = run.history.take_position(len(blocks))
        self._calls: list[_Call] = [
            _Call(block=block, record=recorded[block.id], position=first + index)
            for index, block in enumerate(blocks)
        ]

    def mark_ready(self) -> Callable[[UnitOfWork], None]:
        """Plan the order and return the work that stores which calls may be running from now on.

        The work is stored before any call starts, so that a crash cannot hide one; durably where `changes`
        says so, so that a power failure cannot either."""
        at, started = now_ms(), []
        order: CallOrder[_Call] = CallOrder()
        for call in self._calls:
            call.behind = order.place(self._effects(call.block), call)
            if not call.behind and call.block.argument_error is None:
                self._running(call)
                self.changes = self.changes or self._may_change(call.block)
                started.append(call.record)

        def store(uow: UnitOfWork) -> None:
            for record in started:
                uow.tool_calls.update(record.id, state=record.state.value, started_at=at)

        return store

    async def run(self) -> None:
        """Run all calls and append their results to the history, in the order asked.

        When cancelled, or when storing fails, no call goes on behind the run's back: what has not
        finished is stopped and answered as cancelled before this ends."""
        self._run.controls.phase = "tools"
        self._run.controls.step_calls = self
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._run.plan.files_noted()
            tasks = self._start()
            await asyncio.gather(*tasks)
        finally:
            await wind_down(tasks)
            self._refuse("cancelled", UNFINISHED, not_begun=NOT_BEGUN)
            self._close()

    def waiting_call(self, call_id: str) -> int | None:
        """Return the place that the result of a call has, when the call waits for a person."""
        found = (call for call in self._calls if call.block.id == call_id)
        return next((call.position for call in found if call.waiting and call.result is None), None)

    def only_wait(self) -> bool:
        """Tell whether no call goes on before a person answers, or a subagent's run ends."""
        below = {child.context.scope.parent_call_id for child in self._run.controls.children.values()}
        open_still = [call for call in self._calls if not call.at_rest]
        waiting = [call for call in open_still if call.asks or call.block.id in below]
        begun = [call for call in open_still if call.ports is not None or not call.blocked]
        return bool(waiting) and len(waiting) == len(begun)

    def take_result(self, message_id: str, result: ToolResult) -> None:
        """Take the stored result of a call that has waited, before the step is over."""
        for call in self._calls:
            if call.block.id == result.tool_call_id:
                call.result, call.message_id = result, message_id

    def close_refused(self, code: str, message: str, stop_reason: StopReason) -> None:
        """Answer all calls without running any; used when the answer was cut off."""
        self._stop_reason = stop_reason
        self._refuse(code, message)
        self._close()

    def _refuse(self, code: str, message: str, *, not_begun: str | None = None) -> None:
        """Answer every call that has no result yet, and waits for nobody, with an error; with `not_begun`
        where the call was still waiting for its turn."""
        for call in self._calls:
            if call.result is None and not call.waiting:
                pending = call.record.state is ToolCallState.PENDING
                envelope = ToolEnvelope.of_error(
                    ToolError(code, not_begun if pending and not_begun else message)
                )
                self._record(call, envelope, ToolCallState.CANCELLED)

    def _start(self) -> list[asyncio.Task[None]]:
        """Start every call behind those earlier ones that it collides with."""
        for call in self._calls:
            behind = [other.task for other in call.behind if other.task is not None]
            call.task = asyncio.create_task(self._run_one(call, behind), name=f"tool {call.block.name}")
        return [call.task for call in self._calls if call.task is not None]

    def _effects(self, block: ToolCallBlock) -> Effects:
        definition = self._service.find(block.name, self._run.plan.extra_tools)
        if definition is None or block.argument_error is not None:
            return Effects()
        try:
            effects = definition.effects(validate(definition, block.arguments))
            return Effects(
                reads=self._real_names(effects.reads),
                writes=self._real_names(effects.writes),
                exclusive=effects.exclusive,
            )
        except ToolError:
            return Effects()

    def _may_change(self, block: ToolCallBlock) -> bool:
        definition = self._service.find(block.name, self._run.plan.extra_tools)
        return definition is not None and not definition.read_only

    def _real_names(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return one spelling for each path, so that `./a` and `a` collide."""
        return tuple("/".join(locate(self._run.scope.project_root, path).parts) for path in paths)

    async def _run_one(self, call: _Call, behind: list[asyncio.Task[None]]) -> None:
        if behind:
            await asyncio.wait(behind)
        block = call.block
        if block.argument_error is not None:
            error = invalid_params(f"The arguments are not a JSON object: {block.argument_error}", {})
            self._record(call, ToolEnvelope.of_error(error), ToolCallState.FAILED)
            return
        if behind:
            await self._services.waits.place(self._run)
            await self._mark_running(call)
        with tool_span(self._run, block) as span:
            try:
                context = await self._context(call, span)
                envelope = await call_within_limits(
                    self._run, self._service, block.name, block.arguments, context, lambda: call.asks
                )
            except CallWaits as waits:
                self._wait(call, waits.question)
                self._services.waits.look()
                return
            known = self._service.find(block.name, self._run.plan.extra_tools) is not None
            tool_ended(self._run, span, block.name, envelope, known=known)
        effects = Effects() if envelope.is_error else self._effects(block)
        self._run.guidance.come_to((*effects.reads, *effects.writes), changes=self._may_change(block))
        self._record(call, envelope, ToolCallState.FAILED if envelope.is_error else ToolCallState.SUCCEEDED)
        self._services.waits.look()

    @staticmethod
    def _running(call: _Call) -> None:
        call.record = replace(call.record, state=move(call.record.state, ToolCallState.RUNNING))

    async def _mark_running(self, call: _Call) -> None:
        """Store that a call which had to wait may now be running, before it is."""
        at = now_ms()
        record = replace(call.record, state=move(call.record.state, ToolCallState.RUNNING))

        def store(uow: UnitOfWork) -> None:
            uow.tool_calls.update(record.id, state=record.state.value, started_at=at)

        await self._run.journal.record(statements=store, durable=self._may_change(call.block))
        call.record = record

    def _wait(self, call: _Call, question: HumanQuestion | None) -> None:
        """Store and publish that a call waits for a person; with its question, unless that is there."""
        run = self._run
        call.waiting = True
        call.record = record = replace(call.record, state=move(call.record.state, ToolCallState.WAITING))
        asked = None
        if question is not None:
            asked = asked_row(run.scope, call.block.id, question)
            run.journal.audit("interaction.requested", asked_data(asked))

        def store(uow: UnitOfWork) -> None:
            if asked is not None:
                uow.interactions.add(asked)
            uow.tool_calls.update(record.id, state=record.state.value)

        events = () if asked is None else (requested_event(asked),)
        run.journal.record(*events, *self._closing(), statements=store, durable=True, kept=True)

    async def _context(self, call: _Call, span: Span) -> ToolCallContext:
        run, block = self._run, call.block
        definition = self._service.find(block.name, run.plan.extra_tools)
        call.ports = CallPorts(
            run,
            self._services,
            block.id,
            span,
            given=run.controls.consents_given.pop(block.id, ()),
            audits_itself=definition is not None and definition.audits_itself,
        )
        return ToolCallContext(
            session_id=run.scope.session_id,
            run_id=run.scope.run_id,
            agent_path=run.scope.agent_path,
            project_id=run.scope.project_id,
            project_root=run.scope.project_root,
            cage=run.scope.cage,
            request_id=run.scope.run_id,
            call_id=block.id,
            scratch_dir=run.plan.scratch_dir,
            ports=call.ports,
            rules=await run.rules(),
            headless=run.scope.headless,
            step=ModelStep(run.meter.step, self._takes_images),
        )

    def _record(self, call: _Call, envelope: ToolEnvelope, state: ToolCallState) -> None:
        """Store and publish the one result of a call."""
        run = self._run
        text = envelope.model_text()
        call.result = ToolResult(
            tool_call_id=call.block.id,
            name=call.block.name,
            content=text,
            is_error=envelope.is_error,
            images=envelope.images,
        )
        call.message_id = new_id("msg")
        message = result_row(run, call.message_id, call.position, call.result, envelope)
        if call.ports is not None and call.ports.writes:
            wrote = "wroteApart" if run.scope.root.is_of_child else "wrote"
            message["details"][wrote] = as_details(call.ports.writes)
        ended = now_ms()
        call.record = record = replace(call.record, state=move(call.record.state, state))

        def store(uow: UnitOfWork) -> None:
            uow.messages.insert(**message)
            uow.tool_calls.update(
                record.id,
                state=record.state.value,
                error_code=envelope.code,
                result_message_id=message["id"],
                ended_at=ended,
            )

        duration = envelope.metadata.duration_ms
        event = result_event(run.scope.session_id, self._message_id, call.message_id, call.result, duration)
        run.journal.record(event, *self._closing(), statements=store, kept=True)

    def _closing(self) -> tuple[StepEnded, ...]:
        """Return the end of the step, once, when each call has a result or waits for a person."""
        if self._step_closed or any(call.result is None and not call.waiting for call in self._calls):
            return ()
        self._step_closed = True
        ended = StepEnded(
            step=self._run.meter.step,
            message_id=self._message_id,
            stop_reason=self._stop_reason,
            tool_calls=len(self._calls),
        )
        return (ended,)

    def _close(self) -> None:
        """Put the results into the conversation; from now on a call that waits is the session's."""
        self._run.controls.step_calls = None
        history = self._run.history
        done = [call for call in self._calls if call.result is not None]
        if self._resumed:
            for call in done:
                if call.result is not None:
                    history.answer_call(call.block.id, call.message_id, call.result)
            return
        open_still = [call.block for call in self._calls if call.result is None and call.waiting]
        if done or open_still:
            history.add_results(
                [call.message_id for call in done],
                tuple(call.result or waiting_result(call.block) for call in self._calls),
                waiting=[block.id for block in open_still],
            )


async def wind_down(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel what still runs and wait for its end, however often the waiting is cancelled."""
    for task in tasks:
        task.cancel()
    while any(not task.done() for task in tasks):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)


def resumed_calls(
    run: RunContext, calls: CallServices, service: ToolService, *, takes_images: bool
) -> StepCalls | None:
    """Return the calls of an earlier run that a run resumes; None when there are none."""
    asked = {block.id: block for block in newest_calls(run.history.messages)}
    rows = [one.call for one in run.plan.waiting_calls if one.call.call_id in asked]
    if not rows:
        return None
    run.controls.consents_given.update({one.call.call_id: one.given for one in run.plan.waiting_calls})
    return StepCalls(
        run,
        calls,
        service,
        rows[0].message_id or "",
        [asked[row.call_id] for row in rows],
        {row.call_id: RecordedCall(row.id, ToolCallState(row.state)) for row in rows},
        takes_images=takes_images,
        resumed=True,
    )


def newest_calls(messages: Sequence[ModelMessage]) -> tuple[ToolCallBlock, ...]:
    """Return the calls of the newest answer in a conversation."""
    answers = (message for message in reversed(messages) if isinstance(message, AssistantMessage))
    newest = next(answers, None)
    if newest is None:
        return ()
    return tuple(block for block in newest.blocks if isinstance(block, ToolCallBlock))
