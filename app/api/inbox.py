"""Route for the inbox: what waits for a person, over all sessions.

Owns: reading and answering. Never: which rows these are (`storage.repositories.inbox`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.asked_calls import with_calls
from app.api.dependencies import PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page
from app.api.schemas.inbox import BudgetUse, InboxItem, InboxKindName
from app.api.schemas.model import PageOf
from app.api.schemas.sessions import LastRun
from app.observability import Redactor
from app.storage.models import Run
from app.storage.pages import Page
from app.storage.repositories.inbox import InboxRow
from app.storage.repositories.runs import RunTotals
from app.storage.unit_of_work import UnitOfWork

SUMMARY_LENGTH = 500

router: APIRouter = noun_router("Interactions")


@router.get("/inbox", summary="List what waits for a person, oldest first")
async def list_inbox(
    services: ServicesDep,
    page: PageDep,
    project_id: Annotated[str | None, Query(max_length=64, description="Only of this project.")] = None,
    kind: Annotated[
        list[InboxKindName] | None, Query(description="Only of this kind; several may be given.")
    ] = None,
) -> PageOf[InboxItem]:
    """Open questions, proposals for the checklist, compactions that wait for approval, the runs that a limit
    has paused, those that have used 80 % of one, and the newest run of each idle session that failed, or that
    succeeded, while nobody has seen its end. Runs that ended stay for 14 days.
    Sessions without people (`headless`) and those of workflows are not listed when they succeed."""

    def read(uow: UnitOfWork) -> Page[InboxItem]:
        found = uow.inbox.page(project_id=project_id, kinds=kind, limit=page.limit, cursor=page.cursor)
        return Page(_items(uow, found.items, services.redactor), found.next_cursor, found.total)

    return answer_page(await services.storage.read(read), lambda item: item)


def _items(uow: UnitOfWork, rows: list[InboxRow], redactor: Redactor) -> list[InboxItem]:
    ids = {row.id for row in rows}
    sessions = uow.sessions.by_ids({row.session_id for row in rows})
    projects = uow.projects.by_ids({one.project_id for one in sessions.values()})
    asked = with_calls(uow, uow.interactions.by_ids(ids).values(), redactor)
    questions = {question.id: question for question in asked}
    proposals = uow.todo_proposals.by_ids(ids)
    runs = uow.runs.by_ids(ids)
    near = [row.id for row in rows if row.kind == "budget_warning"]
    used = uow.runs.totals(near)
    items = []
    for row in rows:
        session, question = sessions[row.session_id], questions.get(row.id)
        proposal, run = proposals.get(row.id), runs.get(row.id)
        items.append(
            InboxItem(
                kind=row.kind,
                id=row.id,
                at=row.at,
                project_id=session.project_id,
                project=projects[session.project_id].slug,
                session_id=row.session_id,
                session_title=session.title,
                agent_path=row.agent_path,
                question=question,
                proposal=None if proposal is None else proposal.content,
                run=LastRun.of(run),
                budget=_budget(run, used[row.id]) if row.id in used and run is not None else None,
                summary=_summary(uow, row) if row.kind == "finished_run" else None,
                error=None if run is None or not run.error else str(run.error.get("message") or "") or None,
                failure=(run.error or None) if run is not None and row.kind == "failed_run" else None,
            )
        )
    return items


def _budget(run: Run, used: RunTotals) -> list[BudgetUse]:
    """Return how much is used by now. For the warning more was counted than what the runs have used:
    compactions, too."""
    now = {"tokens": float(used.usage.total), "usd": used.cost_usd or 0.0}
    uses = [BudgetUse.model_validate(warning) for warning in run.budget_warnings or ()]
    return [
        use if use.shared else use.model_copy(update={"used": max(use.used, now.get(use.unit, 0.0))})
        for use in uses
    ]


def _summary(uow: UnitOfWork, row: InboxRow) -> str | None:
    answer = uow.messages.last_answer(row.session_id, row.agent_path)
    if answer is None or answer.run_id != row.run_id:
        return None
    return answer.content.strip()[:SUMMARY_LENGTH] or None
