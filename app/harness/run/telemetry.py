"""The spans and metrics of a run: agents, model calls, tool calls, compactions.

Owns: names and attributes of spans, by OpenTelemetry's conventions for generative AI, and their numbers.
Never: how spans are sent (`observability.otel`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.harness.providers.drivers import DRIVERS
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest
from app.harness.providers.route import AttemptStarted
from app.harness.run.model_answer import Answer
from app.harness.run.processor import Generation
from app.harness.run.run_context import RunContext
from app.ids import ROOT_AGENT
from app.messages import AssistantMessage, TextBlock, ToolCallBlock, Usage, UserMessage
from app.observability import Span, metrics
from app.observability.tracing import error_type_of
from app.storage.models import Compaction, Message
from app.tools.contract.call import ToolEnvelope

PROVIDERS = {
    **{one.name: one.telemetry_name for one in DRIVERS.values() if one.telemetry_name is not None},
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""Names that the conventions spell otherwise; any other provider has its name in the config."""
FINISH_REASONS = {"toolUse": "tool_calls", "stop": "stop", "length": "length"}
_CONTENT_MESSAGES = 400
"""The newest messages of a request that are taken into content at most."""


@contextmanager
def agent_span(run: RunContext, asked: Message | None = None) -> Iterator[Span]:
    """Open the span of one agent's run under `run.span` and put it there while the agent runs.

    `asked` is the message that the agent answers."""
    parent = run.journal.span
    name = agent_name(run.scope.agent_path)
    span = parent.child(
        f"invoke_agent {name}",
        {
            "gen_ai.operation.name": "invoke_agent",
            **_identity(run),
            "gen_ai.provider.name": provider_name(run.provider_name),
            "gen_ai.request.model": run.plan.route.candidates[0].model,
            "kaged.project.id": run.scope.project_id,
            "kaged.request.id": asked.details.get("requestId") if asked is not None else None,
        },
    )
    if span.captures and asked is not None:
        span.content("gen_ai.input.messages", (UserMessage(blocks=(TextBlock(text=asked.content),)),))
    run.journal.span = span
    try:
        with span:
            yield span
    finally:
        run.journal.span = parent


def agent_ended(run: RunContext, state: str, reason: str, error: dict[str, Any] | None = None) -> None:
    """Say on the agent's span, and in the metrics, how its run ended."""
    span = run.journal.span
    span.set(
        {
            **usage_attributes(run.meter.usage),
            "gen_ai.response.finish_reasons": (reason,),
            "kaged.run.state": state,
            "kaged.run.steps": run.meter.step,
            "kaged.cost.usd": run.meter.cost_usd,
        }
    )
    if span.captures:
        span.content("gen_ai.output.messages", run.history.messages[-1:])
    if state == "failed":
        span.fail((error or {}).get("code") or reason, str((error or {}).get("message", "")))
    elif state != "succeeded":
        span.set({"error.type": reason})
    run.journal.metrics.count(metrics.RUNS, state)
    run.journal.metrics.observe(metrics.RUN_SECONDS, state, value=time.monotonic() - run.meter.started)
    if run.scope.agent_path != ROOT_AGENT:
        run.journal.metrics.count(metrics.DELEGATIONS, state)


def tool_span(run: RunContext, call: ToolCallBlock) -> Span:
    """Open the span of one tool call under the agent's."""
    span = run.journal.span.child(
        f"execute_tool {call.name}",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            **_identity(run),
            "kaged.step": run.meter.step,
        },
    )
    if span.captures:
        span.content("gen_ai.tool.call.arguments", call.raw_arguments or call.arguments)
    return span


def tool_ended(run: RunContext, span: Span, name: str, envelope: ToolEnvelope, *, known: bool) -> None:
    """Say how a tool call ended; `known` is false for a tool that the model made up."""
    if span.captures:
        span.content("gen_ai.tool.call.result", envelope.model_text())
    if envelope.is_error:
        span.fail(envelope.code or "error", envelope.error_text or "")
    label = name if known else "unknown"
    run.journal.metrics.count(metrics.TOOL_CALLS, label, envelope.code or "ok" if envelope.is_error else "ok")
    run.journal.metrics.observe(
        metrics.TOOL_SECONDS, label, value=(envelope.metadata.duration_ms or 0) / 1000
    )


@contextmanager
def compaction_span(run: RunContext, strategy: str, trigger: str) -> Iterator[Span]:
    """Open the span of one compaction under the agent's; one that fails is counted here, any other by
    `compaction_ended`.

    The model calls that it makes are recorded with `ModelCallRecord(run, parent=span)`."""
    span = run.journal.span.child(
        f"compact {strategy}",
        {**_identity(run), "kaged.compaction.strategy": strategy, "kaged.compaction.trigger": trigger},
    )
    try:
        with span:
            yield span
    except BaseException as error:
        run.journal.metrics.count(metrics.COMPACTIONS, strategy, trigger, error_type_of(error))
        raise


def compaction_ended(run: RunContext, span: Span, record: Compaction, outcome: str) -> None:
    """Say what came of a compaction: `completed`, `noop` or `proposed`."""
    span.set(
        {
            "kaged.compaction.id": record.id,
            "kaged.compaction.outcome": outcome,
            "kaged.compaction.tokens_before": record.threshold_estimate,
            "kaged.compaction.tokens_after": record.after_estimate,
            "kaged.compaction.superseded": len(record.superseded_message_ids),
        }
    )
    run.journal.metrics.count(metrics.COMPACTIONS, record.strategy, record.trigger, outcome)


class ModelCallRecord:
    """The spans and numbers of one model call: one span for each attempt, under `parent` or the agent."""

    def __init__(self, run: RunContext, *, parent: Span | None = None) -> None:
        self._run = run
        self._parent = parent if parent is not None else run.journal.span
        self._span: Span | None = None
        self._provider = self._model = ""
        self._opened = 0.0

    def started(self, attempt: AttemptStarted, request: ModelRequest) -> None:
        """A request goes out now."""
        model = attempt.model
        self._provider, self._model, self._opened = attempt.provider, model, time.monotonic()
        span = self._span = self._parent.child(
            f"chat {model}",
            {
                "gen_ai.operation.name": "chat",
                **_identity(self._run),
                "gen_ai.provider.name": provider_name(attempt.provider),
                "gen_ai.request.model": model,
                "gen_ai.request.max_tokens": request.max_output_tokens,
                "gen_ai.request.stream": True,
                "kaged.step": self._run.meter.step,
                "kaged.attempt": attempt.attempt,
            },
            kind="client",
        )
        if span.captures:
            span.content("gen_ai.system_instructions", request.system)
            span.content("gen_ai.input.messages", request.messages[-_CONTENT_MESSAGES:])

    def failed(self, error: ProviderError) -> None:
        """The attempt has failed and another one may follow."""
        self._close(error.kind, error.message)

    def answered(self, answer: Answer, generation: Generation, error: ProviderError | None = None) -> None:
        """The answer is over: whole, broken off by `error`, or stopped."""
        span = self._span
        if span is None:
            return
        stats = answer.stats(None)
        ttft_ms = stats.ttft if stats is not None else None
        cost = generation.cost.total if generation.cost is not None else None
        span.set(
            {
                **usage_attributes(generation.usage),
                "gen_ai.response.model": generation.model,
                "gen_ai.response.id": answer.response_id,
                "gen_ai.response.finish_reasons": (
                    FINISH_REASONS.get(generation.stop_reason, generation.stop_reason),
                ),
                "gen_ai.response.time_to_first_chunk": None if ttft_ms is None else ttft_ms / 1000,
                "kaged.cost.usd": cost,
            }
        )
        if span.captures:
            span.content("gen_ai.output.messages", (AssistantMessage(blocks=answer.blocks()),))
        self._count(generation.usage, cost, ttft_ms)
        if error is not None:
            self._close(error.kind, error.message)
        elif generation.stop_reason in ("error", "aborted"):
            self._close("cancelled" if generation.stop_reason == "aborted" else "error", "")
        else:
            self._close(None, "")

    def _close(self, error_type: str | None, message: str) -> None:
        span, self._span = self._span, None
        if span is None:
            return
        if error_type is not None:
            span.fail(error_type, message)
        span.end()
        numbers, labels = self._run.journal.metrics, (self._provider, self._model)
        numbers.count(metrics.MODEL_CALLS, *labels, error_type or "ok")
        numbers.observe(metrics.MODEL_SECONDS, *labels, value=time.monotonic() - self._opened)

    def _count(self, usage: Usage, cost: float | None, ttft_ms: float | None) -> None:
        numbers, labels = self._run.journal.metrics, (self._provider, self._model)
        for kind, tokens in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        ):
            if tokens:
                numbers.count(metrics.TOKENS, *labels, kind, amount=tokens)
        if cost:
            numbers.count(metrics.COST, *labels, amount=cost)
        if ttft_ms is not None:
            numbers.observe(metrics.FIRST_TOKEN_SECONDS, *labels, value=ttft_ms / 1000)


def agent_name(path: str) -> str:
    """Return an agent's own key, the last part of its path in the tree."""
    return path.rpartition(".")[2]


def provider_name(name: str) -> str:
    return PROVIDERS.get(name, name)


def usage_attributes(usage: Usage) -> dict[str, int | None]:
    """Return token counts by the conventions: what came from a cache is part of the input."""
    if not usage.total:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens or None,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
    }


def _identity(run: RunContext) -> dict[str, str | None]:
    return {
        "gen_ai.conversation.id": run.scope.session_id,
        "gen_ai.agent.name": agent_name(run.scope.agent_path),
        "gen_ai.agent.id": run.scope.agent_path,
        "kaged.run.id": run.scope.run_id or None,
        "user.id": run.scope.actor,
    }
