"""The processor protocol: who may look at, change or stop a model call before it leaves.

Processors run in a fixed order on the request that is about to be encoded. What the last one
returns is what the provider receives: nothing is added afterwards, and the audit keeps the
digest of the very bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run_context import RunContext
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


class Processor(Protocol):
    """One stage. Every method may be called from the event loop and must not block."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        """Return the request to go on with; raise `PolicyViolation` to stop the run."""
        ...

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        """See the exact bytes of one attempt, right before they are sent."""
        ...

    def after_step(self, run: RunContext, generation: Generation) -> None:
        """See what came of it."""
        ...
