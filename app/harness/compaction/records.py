"""Compactions as they are stored: one unit with the messages, the record and the summary.

Owns: what a compaction changes in the database, how that is undone and redone. Never: the conversation in
memory (`compactor`). A summary takes the position of the last message that it stands for.
"""

from __future__ import annotations

from typing import Any

from app.harness.compaction.plan import Plan, Spending
from app.harness.compaction.units import DROPPED, TAKEN_OUT
from app.harness.conversation.injection import injection
from app.harness.conversation.view import SUMMARY_KIND
from app.ids import new_id, now_ms
from app.storage.models import Compaction, Message, MessageDetails
from app.storage.unit_of_work import UnitOfWork


def summary_row(record: Compaction, plan: Plan) -> Message | None:
    """Return the message that comes in the place of what goes; None when nothing is to be said."""
    said = [plan.summary.text] if plan.summary is not None else []
    said += [injection(name, text) for name, text in plan.inject]
    if not said:
        return None
    facts = dict(plan.summary.facts) if plan.summary is not None else {}
    if plan.inject and DROPPED in facts:  # a later line would replace this one, and what plugins said
        facts[TAKEN_OUT] = facts.pop(DROPPED)
    details: MessageDetails = {
        "kind": SUMMARY_KIND,
        "createdBy": "compactor",
        "compaction_id": record.id,
        "facts": facts,
    }
    if "compactor_cost" in record.details:
        details["compactor_cost"] = record.details["compactor_cost"]
    return Message(
        id=new_id("msg"),
        session_id=record.session_id,
        run_id=record.run_id,
        agent_path=record.agent_path,
        role="system",
        content="\n\n".join(said),
        details=details,
        created_at=now_ms(),
    )


def apply(uow: UnitOfWork, record: Compaction, summary: Message | None) -> None:
    """Take the record's messages out of what the model is sent, and put the summary in their place.

    The session does not count as overflowing any more."""
    session_id, ids = record.session_id, list(record.superseded_message_ids)
    uow.messages.supersede_ids(session_id, ids, by=record.id)
    if summary is not None:
        last = uow.messages.last_superseded(session_id, by=record.id)
        uow.messages.put(summary.model_copy(update={"position": last}))
    values = record.model_dump(exclude={"id"})
    if not uow.compactions.update(record.id, **values):
        uow.compactions.add(record)
    uow.sessions.update(session_id, context_overflow=False)


def undo(uow: UnitOfWork, compaction: Compaction, by: str) -> None:
    """Show the original messages again instead of the summary; `by` is the rollback that wants it.

    The newest of several is undone first. Nothing happens to one that is not in force."""
    if compaction.state != "applied" or compaction.undone_by is not None:
        return
    uow.messages.restore(compaction.session_id, by=compaction.id)
    if compaction.summary_message_id is not None:
        uow.messages.supersede_ids(compaction.session_id, [compaction.summary_message_id], by=by)
    uow.compactions.update(compaction.id, undone_by=by)


def redo(uow: UnitOfWork, compaction: Compaction) -> None:
    """Put a compaction into force again that a rollback has undone; the oldest first."""
    if compaction.state != "applied" or compaction.undone_by is None:
        return
    uow.messages.supersede_ids(
        compaction.session_id, list(compaction.superseded_message_ids), by=compaction.id
    )
    if compaction.summary_message_id is not None:
        uow.messages.update(compaction.summary_message_id, superseded=False, superseded_by=None)
    uow.compactions.update(compaction.id, undone_by=None)


def plugin_cost(spending: Spending | None) -> dict[str, Any] | None:
    """Return a compactor's bill as a record shows it."""
    if spending is None:
        return None
    usage, cost = spending.usage, spending.cost
    return {
        "provider": spending.provider,
        "model": spending.model,
        "input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": None if cost is None else cost.total,
    }
