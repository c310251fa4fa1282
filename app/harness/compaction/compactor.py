"""One agent's compactor: prunes, asks whether the context is too full, and carries a compaction out.

Owns: the order of it all: observers, strategy, fallback, the check that something went, then memory and
storage in one step. Never: when the loop calls it, what a strategy decides, or a plugin's process.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from app.errors import KagedError
from app.events.compaction import CompactionCompleted, CompactionNoop, CompactionProposed, CompactionTriggered
from app.harness.compaction.always_keep import always_kept
from app.harness.compaction.plan import Plan, Spending, Window
from app.harness.compaction.ports import CompactionServices, ObserverAnswer, PostCompact, PreCompact
from app.harness.compaction.proposals import Proposals
from app.harness.compaction.prune import ToolOutputPruner
from app.harness.compaction.records import apply, plugin_cost, summary_row
from app.harness.compaction.selection import Selection
from app.harness.compaction.threshold import Threshold, threshold_of
from app.harness.compaction.units import rows_of, units_of
from app.harness.conversation.history import user_entry
from app.harness.run.compaction_requests import StrategyName, Trigger
from app.harness.run.run_context import RunContext
from app.harness.run.telemetry import compaction_ended, compaction_span
from app.harness.run.withholding import withhold
from app.ids import new_id, now_ms
from app.observability import NO_SPAN, Span
from app.states import CompactionState, move
from app.storage.models import Compaction, Message


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of a compaction. `record` is stored for `completed` and `proposed` alone; `summary` is
    the message that stands for what went."""

    outcome: Literal["completed", "noop", "proposed", "dry_run"]
    record: Compaction
    plan: Plan
    window: Window
    summary: Message | None = None


@dataclass(slots=True)
class _Work:
    """One compaction under way."""

    record: Compaction
    threshold: Threshold
    trigger: Trigger
    strategy: StrategyName
    dry_run: bool
    span: Span
    began: float


class Compactor:
    """Keeps the context of one run's agent small. It is called between model calls, never during one."""

    def __init__(self, run: RunContext, services: CompactionServices) -> None:
        self._run = run
        self._services = services
        self._pruner = ToolOutputPruner(run.history, run.scope.agent.compaction.prune)
        self._proposals = Proposals(run, services.storage)
        self._useless: tuple[int, int] | None = None

    async def before_call(self) -> bool:
        """Prune, and compact when the upper threshold is reached; true when an operator must decide
        before the run goes on."""
        run = self._run
        if not run.history.entries:
            return False
        await withhold(run, run.meter.step + 1)
        pruned = self._pruner.prune()
        if pruned.count:
            run.journal.audit(
                "context.pruned", {"results": pruned.count, "tokens_saved": pruned.tokens_saved}
            )
        threshold = threshold_of(run, self._services.catalog)
        total = self._total(threshold)
        strategy = self._strategy(None)
        if strategy == "checkpoint" and await self._proposals.waiting():
            return True
        if not threshold.fires(total) or self._useless == self._state():
            return False
        if strategy == "checkpoint" and not self._proposals.may_ask(total):
            return False
        return (await self.compact("threshold_crossed")).outcome == "proposed"

    async def compact(
        self, trigger: Trigger, strategy: StrategyName | None = None, *, dry_run: bool = False
    ) -> Compacted:
        """Compact now, whatever the thresholds say. A dry run stores nothing and changes nothing."""
        run, threshold = self._run, threshold_of(self._run, self._services.catalog)
        await withhold(run, run.meter.step + 1)
        chosen = self._strategy(strategy)
        record = Compaction(
            id=new_id("cmp"),
            session_id=run.scope.session_id,
            run_id=run.scope.run_id or None,
            agent_path=run.scope.agent_path,
            created_at=now_ms(),
            state=CompactionState.PROPOSED.value,
            trigger=trigger,
            strategy=chosen,
            threshold_estimate=self._total(threshold),
            window_upper=threshold.upper,
            window_lower=threshold.lower,
        )
        work = _Work(record, threshold, trigger, chosen, dry_run, NO_SPAN, time.monotonic())
        if dry_run:
            return await self._compact(work)
        data = {"compaction_id": record.id, "trigger": trigger, "strategy": chosen}
        estimate = record.threshold_estimate
        run.journal.audit("compaction.triggered", {**data, "threshold_estimate": estimate})
        run.journal.record(CompactionTriggered(threshold_estimate=estimate, window=threshold.window, **data))
        with compaction_span(run, chosen, trigger) as work.span:
            done = await self._compact(work)
            compaction_ended(run, work.span, done.record, done.outcome)
            return done

    # -- inside -----------------------------------------------------------------------------

    async def _compact(self, work: _Work) -> Compacted:
        window = await self._window(work)
        notice = PreCompact(
            compaction_id=work.record.id,
            trigger=work.trigger,
            strategy=work.strategy,
            threshold_estimate=work.record.threshold_estimate,
            target_estimate=work.threshold.goal,
            window=window,
            dry_run=work.dry_run,
        )
        observed = await self._services.plugins.pre_compact(self._run, notice)
        window = _retained(window, observed, self._room(work, window))
        notice = replace(notice, window=window)
        selection = Selection(self._run, self._services, work.span, work.threshold, dry_run=work.dry_run)
        plan = await selection.plan(window, work.strategy, notice)
        plan.fired = [_fired(answer) for answer in observed] + plan.fired
        plan.inject = [(answer.name, answer.inject) for answer in observed if answer.inject]
        self._complete(work, plan, window)
        summary = summary_row(work.record, plan) if plan.gone else None
        if summary is not None:
            work.record.summary_message_id, work.record.summary = summary.id, summary.content
        if work.dry_run:
            work.record.after_estimate = self._after(work, window, plan, summary)
            return Compacted("dry_run", work.record, plan, window, summary)
        if not plan.gone:
            await self._nothing(work)
            return Compacted("noop", work.record, plan, window)
        if work.strategy == "checkpoint":
            await self._propose(work, window, plan, summary)
            return Compacted("proposed", work.record, plan, window, summary)
        await self.carry_out(work.record, plan, summary, began=work.began)
        await self.notify_plugins(work.record, plan)
        return Compacted("completed", work.record, plan, window, summary)

    async def carry_out(
        self, record: Compaction, plan: Plan, summary: Message | None, *, began: float
    ) -> None:
        """Change the conversation in memory and in the storage. When storing fails neither has changed."""
        run, history = self._run, self._run.history
        restore = history.supersede([entry for unit in plan.gone for entry in unit.entries], summary)
        threshold = threshold_of(run, self._services.catalog)
        details = {
            **record.details,
            "duration_ms": round((time.monotonic() - began) * 1000, 1),
            "position": history.positions.next_position - 1,
        }
        state = move(CompactionState(record.state), CompactionState.APPLIED).value
        after = self._total(threshold)
        record.sqlmodel_update({"state": state, "after_estimate": after, "details": details})
        data: dict[str, Any] = {
            "compaction_id": record.id,
            "after_estimate": record.after_estimate,
            "superseded_count": len(record.superseded_message_ids),
            "summary_message_id": record.summary_message_id,
            "duration_ms": record.details["duration_ms"],
        }
        run.journal.audit("compaction.completed", {**data, "plugins_fired": record.plugins_fired})
        completed = CompactionCompleted(
            **data,
            trigger=record.trigger,
            strategy=record.strategy,
            threshold_estimate=record.threshold_estimate,
            fallback_reason=record.fallback_reason,
        )
        stored = record.model_copy()
        try:
            await asyncio.shield(
                run.journal.record(
                    completed, statements=lambda uow: apply(uow, stored, summary), durable=True
                )
            )
        except KagedError:
            restore()
            raise

    async def _window(self, work: _Work) -> Window:
        """Look at the conversation in a thread: it may be long."""
        run, history, threshold = self._run, self._run.history, work.threshold
        goal = run.estimate.room(threshold.goal - threshold.reserve)
        if work.trigger != "threshold_crossed":
            # Nobody says that the context is above the threshold, or the window is smaller than thought.
            goal = min(goal, int(history.tokens() * threshold.lower / threshold.upper))
        entries, conditions = list(history.entries), run.scope.agent.compaction.always_keep

        def look() -> Window:
            units = units_of(entries)
            return Window(units, frozenset(always_kept(units, conditions)), goal, self._measure(threshold))

        return await asyncio.to_thread(look)

    def _room(self, work: _Work, window: Window) -> int:
        """Return how many tokens may stay when plugins have messages stay: of a manual compaction as many as
        are below the lower threshold, else those of its goal."""
        if work.trigger != "operator_manual":
            return window.goal
        return max(window.goal, self._run.estimate.room(work.threshold.goal - work.threshold.reserve))

    def _complete(self, work: _Work, plan: Plan, window: Window) -> None:
        """Fill the record in with what was planned."""
        record = work.record
        record.superseded_message_ids = rows_of(plan.gone)
        record.plugins_fired = plan.fired
        record.plugin_cost = plugin_cost(plan.spending)
        record.fallback_occurred = plan.fallback_reason is not None
        record.fallback_reason = plan.fallback_reason
        record.details = {
            "method": plan.method,
            "window": work.threshold.window,
            "reserve": work.threshold.reserve,
            "goal": window.measure(window.goal),
            **({} if plan.spending is None else _bill(plan.spending)),
        }

    async def _nothing(self, work: _Work) -> None:
        """Nothing may go: say so once, and not again before the conversation has changed."""
        self._useless = self._state()
        data = {"compaction_id": work.record.id, "strategy": work.strategy}
        reason = "nothing that may go is left"
        self._run.journal.audit("compaction.noop", {**data, "reason": reason})
        await asyncio.shield(self._run.journal.record(CompactionNoop(**data, reason=reason)))

    async def _propose(self, work: _Work, window: Window, plan: Plan, summary: Message | None) -> None:
        record = work.record
        record.after_estimate = self._after(work, window, plan, summary)
        record.summary_message_id = None
        if plan.summary is not None:
            record.details = {**record.details, "facts": dict(plan.summary.facts)}
        data: dict[str, Any] = {
            "compaction_id": record.id,
            "trigger": record.trigger,
            "strategy": record.strategy,
            "threshold_estimate": record.threshold_estimate,
            "after_estimate": record.after_estimate,
            "superseded_count": len(record.superseded_message_ids),
        }
        self._run.journal.audit("compaction.proposed", data)
        proposed = CompactionProposed(**data)
        await asyncio.shield(
            self._run.journal.record(
                proposed, statements=lambda uow: uow.compactions.add(record), durable=True
            )
        )

    async def notify_plugins(self, record: Compaction, plan: Plan) -> None:
        """Tell the observers what has happened; their answers change nothing."""
        answers = await self._services.plugins.post_compact(
            self._run,
            PostCompact(
                compaction_id=record.id,
                trigger=cast(Trigger, record.trigger),
                strategy=cast(StrategyName, record.strategy),
                method=plan.method,
                after_estimate=record.after_estimate,
                superseded_message_ids=record.superseded_message_ids,
                summary_message_id=record.summary_message_id,
                summary=record.summary,
            ),
        )
        if answers:
            record.plugins_fired = record.plugins_fired + [_fired(answer) for answer in answers]
            fired = record.plugins_fired
            self._run.journal.record(
                statements=lambda uow: uow.compactions.update(record.id, plugins_fired=fired)
            )

    def _strategy(self, override: StrategyName | None) -> StrategyName:
        """Return the strategy; where no operator can be asked, `checkpoint` does what it would propose."""
        strategy = override or self._run.scope.agent.compaction.strategy
        if strategy == "checkpoint" and not self._proposals.can_ask:
            return self._run.scope.agent.compaction.checkpoint_fallback
        return strategy

    def _total(self, threshold: Threshold) -> int:
        run = self._run
        return (
            run.estimate.request(run.history.tokens(), run.plan.system(), run.plan.tools) + threshold.reserve
        )

    def _measure(self, threshold: Threshold) -> Any:
        return lambda tokens: self._run.estimate.with_messages(tokens) + threshold.reserve

    def _after(self, work: _Work, window: Window, plan: Plan, summary: Message | None) -> int:
        """Return what the total would be after a plan that is not carried out."""
        left = window.tokens - sum(unit.tokens for unit in plan.gone)
        added = user_entry(summary).tokens if summary is not None else 0
        return window.measure(left + added)

    def _state(self) -> tuple[int, int]:
        return self._run.history.generation, len(self._run.history.entries)


def _retained(window: Window, observed: Any, room: int) -> Window:
    """Return the window with what observers want to keep among what stays: the newest of it, as far as there
    is room. A plugin that keeps everything must not keep a conversation from fitting."""
    wanted = {row_id for answer in observed for row_id in answer.retain}
    if not wanted:
        return window
    kept = set(window.kept)
    left = room - sum(window.units[index].tokens for index in kept)
    for index in range(len(window.units) - 1, -1, -1):
        unit = window.units[index]
        if index not in kept and not wanted.isdisjoint(unit.row_ids) and unit.tokens <= left:
            kept.add(index)
            left -= unit.tokens
    return Window(window.units, frozenset(kept), window.goal, window.measure)


def _bill(spending: Spending) -> dict[str, Any]:
    cost = None if spending.cost is None else spending.cost.model_dump(by_alias=True)
    return {"model_calls": spending.calls, "compactor_cost": cost}


def _fired(answer: ObserverAnswer) -> dict[str, Any]:
    return {
        "name": answer.name,
        "role": "observer",
        "duration_ms": round(answer.duration_ms, 1),
        "result_kind": answer.result_kind,
    }
