"""The observability processor: one structured log record for each model call, and at the level
`debug` one more with what is sent."""

from __future__ import annotations

import logging

from app.harness.providers.provider import ModelRequest
from app.harness.run.processor import Generation, Processor
from app.harness.run.run_context import RunContext
from app.observability import log_event
from app.observability.span_content import content_json

log = logging.getLogger("kaged.agent")

TRACED_CHARACTERS = 4 * 1024
TRACED_MESSAGES = 20
"""The newest ones, of which as many are logged as fit."""


class ObservabilityProcessor(Processor):
    """Passes every request through unchanged and logs what came of it."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        if log.isEnabledFor(logging.DEBUG):
            self._trace(run, step, request)
        return request

    @staticmethod
    def _trace(run: RunContext, step: int, request: ModelRequest) -> None:
        log_event(
            log,
            "agent.trace",
            level=logging.DEBUG,
            session_id=run.scope.session_id,
            run_id=run.scope.run_id,
            agent=run.scope.agent_path,
            step=step,
            system_messages=content_json(request.system, run.journal.redactor, TRACED_CHARACTERS),
            messages=content_json(
                request.messages[-TRACED_MESSAGES:], run.journal.redactor, TRACED_CHARACTERS
            ),
        )

    def after_step(self, run: RunContext, generation: Generation) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        usage = generation.usage
        log_event(
            log,
            "agent.generation",
            session_id=run.scope.session_id,
            run_id=run.scope.run_id,
            agent=run.scope.agent_path,
            model=f"{generation.provider}:{generation.model}",
            tokens_in=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            tokens_out=usage.output_tokens,
            duration_ms=round(generation.duration_ms, 1),
            stop_reason=generation.stop_reason,
            tool_calls=list(generation.tool_calls),
        )
