"""The policy processor: keeps a request inside the model's context window, or stops the run.

Owns: the choice between abort and truncate when the estimate exceeds the window. Never:
compaction and content gates (`run.withholding`), which have their own places before the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.harness.compaction.threshold import RESERVED_OUTPUT
from app.harness.conversation.estimate import MESSAGE_OVERHEAD, estimate_text
from app.harness.providers.provider import ModelRequest
from app.harness.run.processor import PolicyViolation, Processor
from app.harness.run.run_context import RunContext

TRUNCATE_TO = 0.60
"""A truncation goes down to this share of the window, so that it does not recur every turn."""


class PolicyProcessor(Processor):
    """`window_of` gives a model's context window in tokens, or None when it is not known."""

    def __init__(self, window_of: Callable[[str, str], int | None]) -> None:
        self._window_of = window_of

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        window = self._window_of(run.provider_name, request.model)
        last = 0 if request.reminder is None else MESSAGE_OVERHEAD + estimate_text(request.reminder)
        estimate = run.estimate.request(run.history.tokens() + last, request.system, request.tools)
        run.meter.context_tokens, run.meter.context_window = estimate, window
        if window is None:
            return request
        available = window - min(request.max_output_tokens or RESERVED_OUTPUT, window // 4)
        if estimate <= available:
            return request
        if run.plan.on_overflow == "truncate" and run.history.truncate(
            run.estimate.room(int(window * TRUNCATE_TO))
        ):
            run.journal.audit("policy.truncated", {"step": step, "estimate": estimate, "window": window})
            shortened = replace(request, messages=run.history.visible, cache=run.history.cache)
            if run.estimate.with_messages(run.history.tokens() + last) <= available:
                return shortened
        raise PolicyViolation(
            "context_overflow",
            f"The request is about {estimate} tokens; the model takes {available} beside its answer. "
            "Start a new session, use a model with a larger window, or set limits.on_overflow: truncate.",
        )
