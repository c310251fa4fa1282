"""A session's full answer: the row, its sums, and how full each agent's context is.

Owns: putting the parts together. Never: counting tokens (steps carry what providers said).
"""

from __future__ import annotations

from typing import Any

from app.api.schemas.sessions import (
    ContextShares,
    ContextUse,
    CostSplit,
    LastRun,
    SessionAnswer,
    SessionDetail,
    Tokens,
)
from app.daemon.services import Services
from app.harness.compaction.threshold import FALLBACK_WINDOW
from app.storage.models import Run, Session, Step
from app.storage.unit_of_work import UnitOfWork


async def session_detail(services: Services, session: Session) -> SessionDetail:
    """Return the answer for one session, as it is stored now, with what is stored below it."""

    def read(uow: UnitOfWork) -> tuple[Session, dict[str, Any]]:
        # First: a client follows the events after this one, and the rest is to be no older.
        newest = uow.events.last_seq(session.id)
        row = uow.sessions.get(session.id) or session
        active = uow.runs.active(session.id)
        unpriced = uow.runs.has_unpriced_steps(session.id) or uow.compactions.has_unpriced(session.id)
        return row, {
            "cost_usd": _cost(row, incomplete=unpriced),
            "context": _last_steps(uow, session.id),
            "queued_messages": len(uow.messages.queued(session.id)),
            "pending_interactions": uow.interactions.count_pending(session.id),
            "last_run": LastRun.of(uow.runs.newest_roots([session.id]).get(session.id)),
            "active_run": None if active is None else active.id,
            "background_runs": [run.id for run in uow.runs.in_background(session.id)],
            "last_seq": max(newest, row.trimmed_through_seq),
        }

    row, found = await services.storage.read(read)
    found["context"] = [_context_use(services, run, step) for run, step in found["context"]]
    return _detail(services.sessions.as_moved(row), found)


def new_session_detail(session: Session) -> SessionDetail:
    """Return the answer for a session that is stored just now: nothing has run in it."""
    nothing: dict[str, Any] = {
        "cost_usd": _cost(session, incomplete=False),
        "context": [],
        "queued_messages": 0,
        "pending_interactions": 0,
        "last_run": None,
        "active_run": None,
        "background_runs": [],
        "last_seq": 0,
    }
    return _detail(session, nothing)


def _detail(session: Session, found: dict[str, Any]) -> SessionDetail:
    answer = SessionAnswer.model_validate(session)
    return SessionDetail(
        **{name: getattr(answer, name) for name in SessionAnswer.model_fields},
        overrides=session.overrides,
        tokens=_tokens(session),
        **found,
    )


def _tokens(row: Session) -> Tokens:
    total = row.input_tokens + row.output_tokens + row.cache_read_tokens + row.cache_write_tokens
    return Tokens(
        input=row.input_tokens,
        output=row.output_tokens,
        reasoning=row.reasoning_tokens,
        cache_read=row.cache_read_tokens,
        cache_write=row.cache_write_tokens,
        total=total,
    )


def _cost(row: Session, *, incomplete: bool) -> CostSplit:
    parts = (row.cost_primary_usd, row.cost_compactor_usd, row.cost_subagents_usd)
    known = [part for part in parts if part is not None]
    return CostSplit(
        primary=row.cost_primary_usd,
        compactor=row.cost_compactor_usd,
        subagents=row.cost_subagents_usd,
        total=sum(known) if known else None,
        incomplete=incomplete,
    )


def _last_steps(uow: UnitOfWork, session_id: str) -> list[tuple[Run, Step]]:
    """Return each agent's newest finished step, with its run."""
    found = []
    for run in uow.runs.newest_of_each_agent(session_id):
        step = uow.runs.newest_finished_step(run.id)
        found += [] if step is None else [(run, step)]
    return found


def _context_use(services: Services, run: Run, step: Step) -> ContextUse:
    usage: dict[str, Any] = step.stats.get("usage") or {}
    counted = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    tokens = sum(int(usage.get(name, 0)) for name in counted)
    known = services.providers.catalog.context_window(step.provider, step.model)
    window = known or FALLBACK_WINDOW
    return ContextUse(
        agent_path=run.agent_path,
        model=f"{step.provider}:{step.model}",
        tokens=tokens,
        window=window,
        window_assumed=known is None,
        fraction=round(tokens / window, 4),
        shares=_shares(step.stats.get("context"), tokens, int(usage.get("output_tokens", 0))),
    )


def _shares(estimated: dict[str, int] | None, tokens: int, answer: int) -> ContextShares | None:
    """Return what the tokens of a context are; `estimated` is of what was sent, the answer is a message."""
    total = sum(estimated.values()) if estimated else 0
    if not estimated or not total:
        return None
    sent = tokens - answer
    scaled = {name: count * sent // total for name, count in estimated.items() if name != "messages"}
    return ContextShares(**scaled, messages=tokens - sum(scaled.values()))
