"""The observability processor: one structured log record for each model call."""

from __future__ import annotations

import logging

from app.harness.pipeline.processor import Generation
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run_context import RunContext

log = logging.getLogger("kaged.agent")


class ObservabilityProcessor:
    """Passes every request through unchanged and logs what came of it."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        return request

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        return None

    def after_step(self, run: RunContext, generation: Generation) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        log.info(
            "agent.generation",
            extra={
                "fields": {
                    "event": "agent.generation",
                    "session_id": run.session_id,
                    "run_id": run.run_id,
                    "agent": run.agent_path,
                    "model": f"{generation.provider}:{generation.model}",
                    "tokens_in": generation.usage.input_tokens
                    + generation.usage.cache_read_tokens
                    + generation.usage.cache_write_tokens,
                    "tokens_out": generation.usage.output_tokens,
                    "duration_ms": round(generation.duration_ms, 1),
                    "stop_reason": generation.stop_reason,
                    "tool_calls": list(generation.tool_calls),
                }
            },
        )
