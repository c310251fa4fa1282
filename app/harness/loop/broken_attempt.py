"""An attempt of a model call that failed, when another one follows within the same message.

Owns: its events, its cost, and the end of the calls that it asked for. Never:
whether another attempt follows (`providers.router`).
"""

from __future__ import annotations

from app.events.union import MessageToolResult, ModelRetry
from app.harness.providers.route import AttemptFailed
from app.harness.run.model_answer import Answer
from app.harness.run.run_context import RunContext
from app.ids import ROOT_AGENT, now_ms
from app.messages import Cost
from app.states import ToolCallState, move
from app.storage.repositories.sessions import Bucket
from app.storage.unit_of_work import UnitOfWork

BROKEN_OFF = "The stream broke off and the model was asked again; this call was not run."


def bucket_of(run: RunContext) -> Bucket:
    """Return whose cost a run's model calls are."""
    return "primary" if run.scope.agent_path == ROOT_AGENT else "subagents"


def emit_retry(run: RunContext, failed: AttemptFailed) -> None:
    """Tell that an attempt failed and what follows."""
    run.journal.record(
        ModelRetry(
            step=run.meter.step,
            attempt=failed.attempt,
            provider=failed.provider,
            model=failed.model,
            error=failed.error.kind,
            message=failed.error.message,
            delay_ms=None if failed.delay is None else int(failed.delay * 1000),
            fallback_to=failed.fallback_to,
        ),
        kept=True,
    )


def take_back(run: RunContext, message_id: str, answer: Answer, cost: Cost | None) -> None:
    """Book what a broken attempt has cost, and close the calls that it asked for: none was run.

    Its text stays in the answer until the next attempt says something."""
    usage = answer.usage
    if usage.total:
        run.meter.spend(usage, cost)
        booked, bucket = None if cost is None else cost.total, bucket_of(run)
        run.journal.record(
            statements=lambda uow: uow.sessions.add_usage(run.scope.session_id, usage, booked, bucket),
            kept=True,
        )
    asked = answer.calls()
    if not asked:
        return
    answer.forget()
    rows = [answer.recorded[call.id] for call in asked]
    notes = [
        MessageToolResult(
            message_id=message_id, tool_call_id=call.id, name=call.name, content=BROKEN_OFF, is_error=True
        )
        for call in asked
    ]
    at = now_ms()

    def store(uow: UnitOfWork) -> None:
        for row in rows:
            state = move(row.state, ToolCallState.CANCELLED).value
            uow.tool_calls.update(row.id, state=state, error_code="not_run", ended_at=at)

    run.journal.record(*notes, statements=store, kept=True)
