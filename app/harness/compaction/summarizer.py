"""The model that writes summaries: its own route, its own prompt, its own bill.

Owns: single calls to it, and what they have used. Never: what is asked (`strategies.summarize`), or the
run's own tokens and cost.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from app.errors import KagedError
from app.harness.compaction.plan import Spending, StrategyFailed
from app.harness.compaction.threshold import FALLBACK_WINDOW
from app.harness.conversation.estimate import MESSAGE_OVERHEAD, estimate_text
from app.harness.dsl.compiled import CompiledSummarize
from app.harness.dsl.paths import PathProblem
from app.harness.dsl.prompt_files import PromptProblem, read_prompt
from app.harness.providers.catalog import Catalog
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest
from app.harness.providers.route import AttemptFailed, AttemptStarted, Candidate
from app.harness.providers.router import ProviderRouter
from app.harness.run.model_answer import Answer
from app.harness.run.run_context import RunContext
from app.harness.run.telemetry import ModelCallRecord
from app.messages import Cost, StopReason, SystemBlock, TextBlock, Usage, UserMessage
from app.observability import Span

CALL_SECONDS = 300.0
MARGIN = 0.85
"""Of the window: what is counted here is an estimate, and a provider's own count may be larger."""


class Summarizer:
    """Asks the model that an agent's `summarize` block names. One for each compaction."""

    def __init__(
        self,
        run: RunContext,
        settings: CompiledSummarize,
        router: ProviderRouter,
        catalog: Catalog,
        span: Span | None,
    ) -> None:
        self._run = run
        self._settings = settings
        self._router = router
        self._catalog = catalog
        self._span = span
        self._system: tuple[SystemBlock, ...] | None = None
        self._usage = Usage()
        self._cost: Cost | None = None
        self._unpriced = False
        self._calls = 0
        self._asked: Candidate | None = None

    @property
    def spending(self) -> Spending | None:
        """What all calls so far have used; None when there was none. No cost when one has no price."""
        if self._asked is None:
            return None
        cost = None if self._unpriced else self._cost
        return Spending(self._asked.provider, self._asked.model, self._usage, cost, self._calls)

    async def room(self, answer: int, around: int) -> int:
        """Return how many tokens of material one call takes beside its prompt and an answer.

        Raises `StrategyFailed` when there is no such model or prompt, or no room."""
        try:
            candidate = self._router.resolve(self._settings.model).candidates[0]
        except KagedError as problem:
            raise StrategyFailed(f"the summarizer's model: {problem.message}") from None
        await self._catalog.prepare(candidate.provider)
        window = self._catalog.context_window(candidate.provider, candidate.model) or FALLBACK_WINDOW
        system = await self._prompt()
        used = estimate_text(system[0].text) + around + answer + 2 * MESSAGE_OVERHEAD
        room = int(window * MARGIN) - used
        if room < 200:
            raise StrategyFailed(f"the summarizer's window of {window} tokens leaves no room")
        return room

    async def ask(self, text: str, max_tokens: int) -> str:
        """Return the model's answer in words. Raises `StrategyFailed`."""
        request = ModelRequest(
            model="",
            system=await self._prompt(),
            messages=(UserMessage(blocks=(TextBlock(text=text),)),),
            max_output_tokens=max_tokens,
            session_id=self._run.scope.session_id,
        )
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._answer(request)
        except ProviderError as error:
            raise StrategyFailed(f"the summarizer failed: {error.kind}: {error.message}") from None
        except TimeoutError:
            raise StrategyFailed(f"the summarizer gave no answer within {CALL_SECONDS:.0f} s") from None
        except KagedError as problem:
            raise StrategyFailed(f"the summarizer's model: {problem.message}") from None
        said = answer.text().strip()
        if not said:
            raise StrategyFailed("the summarizer said nothing")
        return said

    async def _answer(self, request: ModelRequest) -> Answer:
        answer, record = Answer(), ModelCallRecord(self._run, parent=self._span)
        error: ProviderError | None = None
        stop: StopReason = "aborted"

        def build(candidate: Candidate) -> ModelRequest:
            return ModelRequest(
                model=candidate.model,
                system=request.system,
                messages=request.messages,
                max_output_tokens=request.max_output_tokens,
                session_id=request.session_id,
            )

        route = self._router.resolve(self._settings.model)
        try:
            async with aclosing(self._router.stream(route, build)) as stream:
                async for item in stream:
                    if isinstance(item, AttemptStarted):
                        self._asked = Candidate(item.provider, item.model)
                        answer.opened()
                        record.started(item, request)
                    elif isinstance(item, AttemptFailed):
                        record.failed(item.error)
                    else:
                        answer.add(answer.tamed(item))
            stop = answer.stop_reason
        except ProviderError as problem:
            error, stop = problem, "error"
            raise
        finally:
            self._count(answer, record, stop, error)
        return answer

    def _count(
        self, answer: Answer, record: ModelCallRecord, stop: StopReason, error: ProviderError | None
    ) -> None:
        asked, usage = self._asked, answer.usage
        if asked is None:
            return
        self._calls += 1
        cost = self._catalog.cost(asked.provider, asked.model, usage) if usage.total else None
        self._unpriced = self._unpriced or (cost is None and usage.total > 0)
        self._usage = self._usage + usage
        if cost is not None:
            self._cost = cost if self._cost is None else self._cost + cost
        generation = answer.generation(self._run.meter.step, asked.provider, asked.model, stop, cost)
        record.answered(answer, generation, error)

    async def _prompt(self) -> tuple[SystemBlock, ...]:
        if self._system is None:
            file, root = Path(self._settings.prompt_file), Path(self._run.scope.project.root_dir)
            try:
                text = await asyncio.to_thread(read_prompt, file, root)
            except (PathProblem, PromptProblem) as problem:
                raise StrategyFailed(f"the summarizer's prompt: {problem.message}") from None
            self._system = (SystemBlock(name="summarizer", text=text),)
        return self._system
