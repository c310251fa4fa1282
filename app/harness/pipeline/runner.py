"""Runs the processors in their order. Never adds anything of its own to a request."""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.pipeline.processor import Generation, Processor
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run_context import RunContext


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
