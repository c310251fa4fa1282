"""Compactions that an operator asks for while the agent runs: done at the run's next boundary.

Owns: what waits, and its answers. Never: the compaction (`compactor`). The caller waits for the answer
and may withdraw.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from app.errors import KagedError

Trigger = Literal["threshold_crossed", "provider_overflow_retry", "operator_manual", "scheduled"]
StrategyName = Literal["drop", "summarize", "delegate", "checkpoint"]


class _Compactor(Protocol):
    def compact(
        self, trigger: Trigger, strategy: StrategyName | None = None, *, dry_run: bool = False
    ) -> Awaitable[object]: ...


@dataclass(slots=True, eq=False)
class CompactionRequest:
    """One request. `answer` ends with what the compactor returned; `begun` once it is at work on it."""

    strategy: StrategyName | None
    answer: asyncio.Future[object]
    begun: bool = False


class CompactionRequests:
    """The requests to one run."""

    def __init__(self) -> None:
        self._waiting: list[CompactionRequest] = []

    @asynccontextmanager
    async def asked(self, strategy: StrategyName | None) -> AsyncIterator[CompactionRequest]:
        """Put a request while the block runs."""
        request = CompactionRequest(strategy, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        try:
            yield request
        finally:
            if request in self._waiting:
                self._waiting.remove(request)
            request.answer.cancel()

    async def serve(self, compactor: _Compactor) -> bool:
        """Do what waits, one after the other; true when one of them made a proposal to decide on."""
        proposed = False
        while self._waiting:
            request = self._waiting.pop(0)
            request.begun, future = True, request.answer
            try:
                done = await compactor.compact("operator_manual", request.strategy)
            except KagedError as problem:
                if not future.done():
                    future.set_exception(problem)
                raise
            proposed = proposed or getattr(done, "outcome", None) == "proposed"
            if not future.done():
                future.set_result(done)
        return proposed
