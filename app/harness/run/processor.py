"""The processors and their pipeline: who may look at, change or stop a model call before it leaves.

Owns: the fixed order, and that what the last one returns is what is sent, byte for byte. Never: what a
processor does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run.run_context import RunContext
from app.messages import Cost, StopReason, Usage


class PolicyViolation(Exception):
    """A processor stopped the call; `code` is stable, the message is for the operator."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Generation:
    """One finished model call. Times are milliseconds; `cost` is null when not known."""

    step: int
    provider: str
    model: str
    stop_reason: StopReason
    usage: Usage
    cost: Cost | None
    duration_ms: float
    tool_calls: tuple[str, ...]


class Processor:
    """One stage, which lets everything pass. Its methods are called on the event loop and must not block."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        """Return the request to go on with; raise `PolicyViolation` to stop the run."""
        return request

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        """See the exact bytes of one attempt, right before they are sent."""

    def after_step(self, run: RunContext, generation: Generation) -> None:
        """See what came of it."""


class ProcessorPipeline:
    """An ordered chain: audit, policy, observability."""

    def __init__(self, processors: Sequence[Processor]) -> None:
        self._processors = tuple(processors)

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        for processor in self._processors:
            request = processor.before_step(run, step, request)
        return request

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        for processor in self._processors:
            processor.on_sealed(run, step, provider, request, wire)

    def after_step(self, run: RunContext, generation: Generation) -> None:
        for processor in self._processors:
            processor.after_step(run, generation)
