"""Which strategy plans a compaction, and which takes its place when it fails.

Owns: the strategies' order and their fallbacks, with their events. Never: a strategy's own rules, or
carrying a plan out.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from app.events.compaction import CompactionFailed
from app.harness.compaction.notes import NOTE_TOKENS, note_of, with_note
from app.harness.compaction.plan import Plan, StrategyFailed, Window
from app.harness.compaction.ports import CompactionServices, CompactorFailed, PreCompact
from app.harness.compaction.strategies.delegate import checked_plan
from app.harness.compaction.strategies.summarize import summarize
from app.harness.compaction.summarizer import Summarizer
from app.harness.compaction.threshold import Threshold
from app.harness.run.compaction_requests import StrategyName
from app.harness.run.run_context import RunContext
from app.observability import Span

log = logging.getLogger("kaged.compaction")


class Selection:
    """Plans one compaction. A dry run emits no event, and what its model call costs is not booked."""

    def __init__(
        self,
        run: RunContext,
        services: CompactionServices,
        span: Span,
        threshold: Threshold,
        *,
        dry_run: bool,
    ) -> None:
        self._run = run
        self._services = services
        self._span = span
        self._threshold = threshold
        self._dry_run = dry_run

    async def plan(self, window: Window, strategy: StrategyName, notice: PreCompact) -> Plan:
        """Return a plan; a strategy that fails never stops a compaction."""
        settings = self._run.scope.agent.compaction
        chosen = settings.checkpoint_fallback if strategy == "checkpoint" else strategy
        fired: list[dict[str, Any]] = []
        try:
            if chosen == "summarize":
                plan = await self._summarized(window)
            elif chosen == "delegate":
                plan = await self._delegated(window, notice, fired)
            else:
                plan = await self._dropped(window)
        except StrategyFailed as failure:
            self._emit_fallback(notice.compaction_id, chosen, failure.reason)
            plan = await asyncio.to_thread(drop, window)
            plan.fallback_reason = f"{chosen}: {failure.reason}"
        plan.fired = fired
        return with_note(plan)

    async def _dropped(self, window: Window) -> Plan:
        """Try a summary first where the project names a summarizer; it fails silently."""
        if self._run.scope.agent.compaction.summarize is not None:
            try:
                return await self._summarized(window)
            except StrategyFailed as failure:
                log.info("run %s drops without a summary: %s", self._run.scope.run_id, failure.reason)
        return await asyncio.to_thread(drop, window)

    async def _summarized(self, window: Window) -> Plan:
        run, settings = self._run, self._run.scope.agent.compaction.summarize
        if settings is None:
            raise StrategyFailed("the agent has no `summarize` block")
        summarizer = Summarizer(run, settings, self._services.router, self._services.catalog, self._span)
        todos, questions = await self._open_matters()
        try:
            return await summarize(window, summarizer, self._threshold.window, todos, questions)
        finally:
            self._charge(summarizer)

    async def _delegated(self, window: Window, notice: PreCompact, fired: list[dict[str, Any]]) -> Plan:
        plugin = self._run.scope.agent.compaction.delegate
        if plugin is None:
            raise StrategyFailed("the agent names no compactor plugin")
        asked: dict[str, Any] = {
            "name": plugin,
            "role": "compactor",
            "duration_ms": 0.0,
            "result_kind": "error",
        }
        fired.append(asked)
        try:
            answer = await self._services.plugins.compact(self._run, plugin, notice)
        except CompactorFailed as failure:
            asked["duration_ms"] = round(failure.duration_ms, 1)
            raise StrategyFailed(f"plugin {plugin}: {failure.reason}") from None
        asked["duration_ms"] = round(answer.duration_ms, 1)
        plan = await asyncio.to_thread(checked_plan, answer.result, window)
        asked["result_kind"] = "compactor_result"
        return plan

    async def _open_matters(self) -> tuple[list[str], list[str]]:
        """Return the open todos and the unanswered questions, as text."""
        run = self._run
        todos = [f"[{item.status}] {item.content}" for item in await run.todos.read() if is_open(item.status)]
        pending = await self._services.storage.read(
            lambda uow: uow.interactions.pending(run.scope.session_id)
        )
        return todos, [question_of(row.kind, row.request) for row in pending]

    def _charge(self, summarizer: Summarizer) -> None:
        """Book what the summarizer has used on the session, also when nothing came of it."""
        spending = summarizer.spending
        if spending is None or self._dry_run:
            return
        run, usage = self._run, spending.usage
        cost = None if spending.cost is None else spending.cost.total
        run.meter.spend_on_compaction(usage, spending.cost)
        run.journal.record(
            statements=lambda uow: uow.sessions.add_usage(run.scope.session_id, usage, cost, "compactor"),
            kept=True,
        )

    def _emit_fallback(self, compaction_id: str, attempted: StrategyName, reason: str) -> None:
        if self._dry_run:
            return
        data = {"attempted_strategy": attempted, "fallback_strategy": "drop", "reason": reason}
        self._run.journal.audit("compaction.failed", {"compaction_id": compaction_id, **data})
        self._run.journal.record(CompactionFailed(compaction_id=compaction_id, **data))


def drop(window: Window) -> Plan:
    """Return a plan whose summary is one line about all that was dropped so far; it is empty when nothing
    may go that is longer than the line."""
    gone = window.oldest(NOTE_TOKENS, keep_summaries=True)
    if sum(unit.tokens for unit in gone) <= NOTE_TOKENS:
        return Plan("drop", [])
    return Plan("drop", gone, summary=note_of(gone))


def is_open(status: str) -> bool:
    return status not in ("completed", "cancelled")


def question_of(kind: str, request: dict[str, Any]) -> str:
    """Return what a human was asked, in one line."""
    asked = request.get("summary") or "; ".join(one["question"] for one in request.get("questions", ()))
    if not asked:
        asked = f"{request.get('tool', kind)}: {request.get('reason', 'waits for consent')}"
    return " ".join(str(asked).split())
