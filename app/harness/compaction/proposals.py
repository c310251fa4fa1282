"""Compactions that an operator is asked about: whether one waits, and when to ask again.

Owns: what is known of an agent's proposals, read once for a run, and their form as plans. Never: pausing
the session (the loop's outcome says that it must), or what the operator answers (`commands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.errors import Conflict, ValidationFailed
from app.harness.compaction.always_keep import always_kept
from app.harness.compaction.notes import loses_summary, note_of, with_note
from app.harness.compaction.plan import Plan, Summary
from app.harness.compaction.strategies.delegate import MAX_SUMMARY_CHARACTERS
from app.harness.compaction.units import DROPPED, Unit, rows_of, units_of
from app.harness.conversation.estimate import estimate_text
from app.harness.run.run_context import RunContext
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
        return self._run.parent is None and not self._run.scope.headless

    async def waiting(self) -> bool:
        """Tell, at the first boundary of a run, whether an earlier proposal still waits.

        One whose messages are not all visible any more is out of date and rejected."""
        if self._read:
            return False
        self._read = True
        run = self._run
        newest = await self._storage.read(
            lambda uow: uow.compactions.newest(run.scope.session_id, run.scope.agent_path)
        )
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
        raise _outdated("The conversation has changed since this was proposed.")
    if not proposal.summary and loses_summary(gone):  # proposed by an earlier version
        raise _outdated("This would take an earlier summary away without a new one.")
    summary = Summary(proposal.summary, proposal.details.get("facts") or {}) if proposal.summary else None
    return with_note(Plan(proposal.details.get("method", "drop"), gone, summary=summary))


def edited(
    proposal: Compaction, run: RunContext, ids: Sequence[str] | None, text: str | None
) -> dict[str, Any]:
    """Return the columns of an edited proposal. Raises `ValidationFailed` for messages that may not go,
    or only together with others."""
    wanted = list(proposal.superseded_message_ids) if ids is None else list(ids)
    units = units_of(run.history.entries)
    kept = always_kept(units, run.scope.agent.compaction.always_keep)
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
    summary = _edited_summary(proposal, gone, text)
    if len(summary.text) > MAX_SUMMARY_CHARACTERS:
        raise ValidationFailed("The summary is too long.", fields={"summary": "too long"})
    proposal.details = {**proposal.details, "facts": dict(summary.facts)}
    left = run.history.tokens() - sum(unit.tokens for unit in gone) + estimate_text(summary.text)
    total = run.estimate.request(left, run.plan.system(), run.plan.tools)
    reserve = proposal.details.get("reserve", 0)
    return {
        "superseded_message_ids": rows_of(gone),
        "summary": summary.text,
        "after_estimate": total + int(reserve),
    }


def _edited_summary(proposal: Compaction, gone: Sequence[Unit], text: str | None) -> Summary:
    """Return what stands for the units: an operator's own words, else what was proposed. Without either it
    is a line that counts them. Raises `ValidationFailed` when an earlier summary would be lost."""
    facts = dict(proposal.details.get("facts") or {})
    counted = facts.pop(DROPPED, None) is not None
    if text is not None and text.strip():
        return Summary(text, facts)  # an operator's own words are a summary, whatever they replace
    if text is None and proposal.summary and not counted:
        proposed = set(proposal.superseded_message_ids)
        if not loses_summary([unit for unit in gone if proposed.isdisjoint(unit.row_ids)]):
            return Summary(proposal.summary, facts)
    elif not loses_summary(gone):
        return note_of(gone)
    raise ValidationFailed(
        "One of these messages is a summary of earlier messages. Only a new `summary` can replace it.",
        fields={"summary": "write what is to stand for the earlier summary"},
    )


def _outdated(why: str) -> Conflict:
    return Conflict(f"{why} Reject it, and compact again.", reason="proposal_outdated")


def _units(ids: Sequence[str], run: RunContext) -> list[Unit]:
    """Return the units of the conversation that have rows among the ids."""
    named = set(ids)
    return [unit for unit in units_of(run.history.entries) if not named.isdisjoint(unit.row_ids)]
