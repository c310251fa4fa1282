"""A session's full answer: the row, its sums, and how full each agent's context is.

Owns: putting the parts together. Never: counting tokens (steps carry what providers said).
"""

from __future__ import annotations

from typing import Any

from app.api.schemas.sessions import ContextUse, CostSplit, SessionAnswer, SessionDetail, Tokens
from app.lifespan import Services
from app.storage.models import Run, Session, Step
from app.storage.unit_of_work import UnitOfWork


async def session_detail(services: Services, session: Session) -> SessionDetail:
    """Return the answer for one session, from its row and what is stored below it."""

    def read(uow: UnitOfWork) -> tuple[list[tuple[Run, Step]], bool, int, int, list[str], int]:
        return (
            _last_steps(uow, session.id),
            uow.runs.has_unpriced_steps(session.id) or uow.compactions.has_unpriced(session.id),
            len(uow.messages.queued(session.id)),
            uow.interactions.count_pending(session.id),
            [run.id for run in uow.runs.in_background(session.id)],
            max(uow.events.last_seq(session.id), session.trimmed_through_seq),
        )

    last_steps, unpriced, queued, pending, background, last_seq = await services.storage.read(read)
    answer = SessionAnswer.model_validate(session)
    return SessionDetail(
        **{name: getattr(answer, name) for name in SessionAnswer.model_fields},
        overrides=session.overrides,
        tokens=_tokens(session),
        cost_usd=_cost(session, incomplete=unpriced),
        context=[_context_use(services, run, step) for run, step in last_steps],
        queued_messages=queued,
        pending_interactions=pending,
        background_runs=background,
        last_seq=last_seq,
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
        finished = [step for step in uow.runs.steps(run.id) if step.ended_at is not None]
        found += [(run, step) for step in finished[-1:]]
    return found


def _context_use(services: Services, run: Run, step: Step) -> ContextUse:
    usage: dict[str, Any] = step.stats.get("usage") or {}
    counted = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    tokens = sum(int(usage.get(name, 0)) for name in counted)
    window = services.providers.catalog.context_window(step.provider, step.model)
    return ContextUse(
        agent_path=run.agent_path,
        model=f"{step.provider}:{step.model}",
        tokens=tokens,
        window=window,
        fraction=round(tokens / window, 4) if window else None,
    )
