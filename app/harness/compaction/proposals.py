"""Compactions that an operator is asked about: whether one waits, and when to ask again.

Owns: what is known of an agent's proposals, read once for a run, and their form as plans. Never: pausing
the session (the loop's outcome says that it must), or what the operator answers (`commands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.errors import Conflict, ValidationFailed
from app.harness.compaction.always_keep import always_kept
from app.harness.compaction.plan import Plan, Summary
from app.harness.compaction.strategies.delegate import MAX_SUMMARY_CHARACTERS
from app.harness.compaction.units import Unit, rows_of, units_of
from app.harness.estimate import estimate_text
from app.harness.run_context import RunContext
from app.ids import now_ms
from app.states import CompactionState, move
from app.storage.models import Compaction
from app.storage.storage import Storage

ASK_AGAIN_AT = 1.10
"""After a rejection an operator is asked again once the context has grown by a tenth."""


class Proposals:
    """The proposals of one run's agent."""

    def __init__(self, run: RunContext, storage: Storage) -> None:
        self._run = run
        self._storage = storage
        self._read = False
        self._rejected_at = 0

    @property
    def can_ask(self) -> bool:
        """False for a subagent, which cannot wait alone, and where nobody is there to answer."""
        return self._run.parent is None and not self._run.headless

    async def waiting(self) -> bool:
        """Tell, at the first boundary of a run, whether an earlier proposal still waits.

        One whose messages are not all visible any more is out of date and rejected."""
        if self._read:
            return False
        self._read = True
        run = self._run
        newest = await self._storage.read(lambda uow: uow.compactions.newest(run.session_id, run.agent_path))
        if newest is None:
            return False
        if newest.state == "rejected":
            self._rejected_at = newest.threshold_estimate
        if newest.state != "proposed":
            return False
        visible = {row_id for entry in run.history.entries for row_id in entry.row_ids}
        if visible.issuperset(newest.superseded_message_ids):
            return True
        await self._outdated(newest)
        return False

    def may_ask(self, total: int) -> bool:
        """Tell whether a context of `total` tokens is worth asking, after a rejection."""
        return total >= self._rejected_at * ASK_AGAIN_AT

    async def _outdated(self, proposal: Compaction) -> None:
        details = {**proposal.details, "decided_by": "daemon", "decided_at": now_ms(), "decision": "outdated"}
        state = move(CompactionState(proposal.state), CompactionState.REJECTED).value
        await self._storage.write(
            lambda uow: uow.compactions.update(proposal.id, state=state, details=details)
        )


def plan_of(proposal: Compaction, run: RunContext) -> Plan:
    """Return a proposal as a plan for the present conversation. Raises `Conflict` when it is out of
    date: a message of it is not visible any more."""
    gone = _units(proposal.superseded_message_ids, run)
    if rows_of(gone) != list(proposal.superseded_message_ids):
        raise Conflict(
            "The conversation has changed since this was proposed. Reject it, and compact again.",
            reason="proposal_outdated",
        )
    summary = Summary(proposal.summary, proposal.details.get("facts") or {}) if proposal.summary else None
    return Plan(proposal.details.get("method", "drop"), gone, summary=summary)


def edited(
    proposal: Compaction, run: RunContext, ids: Sequence[str] | None, text: str | None
) -> dict[str, Any]:
    """Return the columns of an edited proposal. Raises `ValidationFailed` for messages that may not go,
    or only together with others."""
    wanted = list(proposal.superseded_message_ids) if ids is None else list(ids)
    units = units_of(run.history.entries)
    kept = always_kept(units, run.agent.compaction.always_keep)
    gone = _units(wanted, run)
    problem = None
    if not gone:
        problem = "name at least one message"
    elif set(rows_of(gone)) != set(wanted):
        problem = "a call and its results go together, and only messages of the conversation may go"
    elif any(unit.entries[0] is units[index].entries[0] for index in kept for unit in gone):
        problem = "one of these messages is always kept"
    if problem is not None:
        raise ValidationFailed(problem.capitalize() + ".", fields={"superseded_message_ids": problem})
    summary = proposal.summary if text is None else text
    if summary is not None and len(summary) > MAX_SUMMARY_CHARACTERS:
        raise ValidationFailed("The summary is too long.", fields={"summary": "too long"})
    left = run.history.tokens() - sum(unit.tokens for unit in gone) + estimate_text(summary or "")
    total = run.estimate.request(left, run.system(), run.tools)
    reserve = proposal.details.get("reserve", 0)
    return {
        "superseded_message_ids": rows_of(gone),
        "summary": summary or None,
        "after_estimate": total + int(reserve),
    }


def _units(ids: Sequence[str], run: RunContext) -> list[Unit]:
    """Return the units of the conversation that have rows among the ids."""
    named = set(ids)
    return [unit for unit in units_of(run.history.entries) if not named.isdisjoint(unit.row_ids)]
