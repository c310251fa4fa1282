"""Routes for the checklists of issues, and for what subagents propose for them.

Owns: parsing and answering. Never: what a change means (`harness.issues`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from app.api.dependencies import AuthorDep, PageDep, ProjectId, ServicesDep, SessionId
from app.api.issues import IssueNumber
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.todos import (
    ChecklistAnswer,
    CreateTodo,
    EditTodo,
    ProposalAnswer,
    ProposalStateName,
    TodoAnswer,
)
from app.api.scope_rules import READS_SESSION
from app.harness.issues.todos import ChecklistState
from app.storage.keyed_effect import answer_with

router: APIRouter = noun_router("Issues")

TodoId = Annotated[str, Path(description="An entry's id, `todo_...`.", max_length=64)]
ProposalId = Annotated[str, Path(description="A proposal's id, `tpr_...`.", max_length=64)]

_LIST = "/projects/{project_id}/issues/{number}/todos"
_PROPOSALS = "/sessions/{session_id}/todo-proposals"


@router.get(_LIST, summary="Show the checklist of an issue")
async def list_todos(
    services: ServicesDep,
    project_id: ProjectId,
    number: IssueNumber,
    include_abandoned: Annotated[bool, Query(description="Include abandoned entries.")] = True,
) -> ChecklistAnswer:
    """The whole checklist in one answer: it has at most 200 entries that are not abandoned."""
    found = await services.management.todos.of_issue(project_id, number)
    return ChecklistAnswer.of(found, abandoned=include_abandoned)


@router.post(
    _LIST, summary="Add an entry to the checklist of an issue", status_code=201, dependencies=[IDEMPOTENT]
)
async def create_todo(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, body: CreateTodo
) -> TodoAnswer:
    """`conflict` with the reason `todo_exists` when an open entry has the same text."""
    answer_with(
        ChecklistState, lambda state: (201, TodoAnswer.model_validate(state.entry(state.changed or "")))
    )
    row = await services.management.todos.add(
        project_id,
        number,
        body.content,
        author,
        kind=body.kind,
        phase=body.phase,
        position=body.position,
    )
    return TodoAnswer.model_validate(row)


@router.patch(f"{_LIST}/{{todo_id}}", summary="Update a checklist entry; accept or reject a criterion")
async def edit_todo(
    services: ServicesDep,
    author: AuthorDep,
    project_id: ProjectId,
    number: IssueNumber,
    todo_id: TodoId,
    body: EditTodo,
) -> TodoAnswer:
    """`conflict` with the reason `invalid_transition`, `not_a_criterion` (accept, reject), or
    `criteria_open` (resolve while others are not accepted)."""
    row = await services.management.todos.edit(project_id, number, todo_id, body.edit(), author)
    return TodoAnswer.model_validate(row)


@router.delete(f"{_LIST}/{{todo_id}}", summary="Drop a checklist entry", status_code=204)
async def delete_todo(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, todo_id: TodoId
) -> Response:
    """The entry is abandoned and stays in the history."""
    await services.management.todos.drop(project_id, number, todo_id, author)
    return Response(status_code=204)


@router.get(
    _PROPOSALS,
    summary="List the checklist proposals of a session's subagents, newest first",
    dependencies=READS_SESSION,
)
async def list_todo_proposals(
    services: ServicesDep, session_id: SessionId, page: PageDep, state: ProposalStateName | None = None
) -> PageOf[ProposalAnswer]:
    """The root agent or an operator decides about entries that are `proposed`."""
    await services.sessions.get(session_id)
    found = await services.management.proposals.list(
        session_id, state=state, limit=page.limit, cursor=page.cursor
    )
    return answer_page(found, ProposalAnswer.model_validate)


@router.post(
    f"{_PROPOSALS}/{{proposal_id}}/accept",
    summary="Accept a proposal for the checklist of the session's issue",
)
async def accept_todo_proposal(
    services: ServicesDep, author: AuthorDep, session_id: SessionId, proposal_id: ProposalId
) -> ProposalAnswer:
    """`conflict` with the reason `no_bound_issue` while the session is bound to no issue."""
    row = await services.management.proposals.accept(session_id, proposal_id, author)
    return ProposalAnswer.model_validate(row)


@router.post(f"{_PROPOSALS}/{{proposal_id}}/reject", summary="Reject a proposal")
async def reject_todo_proposal(
    services: ServicesDep, author: AuthorDep, session_id: SessionId, proposal_id: ProposalId
) -> ProposalAnswer:
    row = await services.management.proposals.reject(session_id, proposal_id, author)
    return ProposalAnswer.model_validate(row)
