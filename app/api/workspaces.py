"""Routes for workspaces: show, list, merge, keep, discard, undo and retry.

Owns: parsing and answering. Never: what becomes of a workspace (`harness.workspaces`).
"""

from __future__ import annotations

from fastapi import APIRouter

from app.access.scopes import Principal
from app.api.dependencies import PageDep, PrincipalDep, ProjectId, ServicesDep, SessionId, WorkspaceId
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.workspaces import MergeAnswer, MergeWorkspace, WorkspaceAnswer
from app.api.scope_rules import READS_SESSION
from app.daemon.services import Services
from app.errors import Conflict
from app.harness.workspaces.conflict_message import conflict_message
from app.storage.models import Session, Workspace

router: APIRouter = noun_router("Workspaces")


@router.get(
    "/sessions/{session_id}/workspace", summary="Show a session's workspace", dependencies=READS_SESSION
)
async def get_workspace(services: ServicesDep, session_id: SessionId) -> WorkspaceAnswer:
    """`kind` is `shared` for a session in the project's folder."""
    found = await services.management.folders.workspaces.find(session_id)
    if found is None:
        return _shared(services, await services.sessions.get(session_id))
    return WorkspaceAnswer.model_validate(found)


@router.get("/projects/{project_id}/workspaces", summary="List a project's workspaces, newest first")
async def list_workspaces(
    services: ServicesDep, project_id: ProjectId, page: PageDep
) -> PageOf[WorkspaceAnswer]:
    """Includes removed workspaces (`removed_at`)."""
    found = await services.management.folders.workspaces.list(project_id, page.limit, page.cursor)
    return answer_page(found, WorkspaceAnswer.model_validate)


@router.post("/sessions/{session_id}/workspace/merge", summary="Merge a workspace's changes")
async def merge_workspace(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: MergeWorkspace
) -> MergeAnswer:
    """Writes all files or none. `conflict` with the reason `merge_conflicts` when both sides changed the
    same lines, and `checkout_in_the_way` when the checkout blocks a file, for example by uncommitted
    changes; `details.paths` names the files. The workspace stays, and can be merged again. With `dry_run`
    neither is an error: the answer is 200 with `conflicts` and `blocked`, and nothing is written."""
    row = await services.management.folders.workspaces.of_session(session_id)
    return await _merged(services, principal, row, body)


@router.post("/sessions/{session_id}/workspace/keep", summary="Keep a workspace's branch, remove its folder")
async def keep_workspace(services: ServicesDep, session_id: SessionId) -> WorkspaceAnswer:
    """Creates the branch in the project's repository, with uncommitted changes as a last commit."""
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.keep(await workspaces.of_session(session_id)))


@router.post("/sessions/{session_id}/workspace/discard", summary="Discard a workspace")
async def discard_workspace(services: ServicesDep, session_id: SessionId) -> WorkspaceAnswer:
    """Its folder is removed after `workspaces.undo_days`; until then `undo` restores it."""
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.discard(await workspaces.of_session(session_id)))


@router.post("/sessions/{session_id}/workspace/undo", summary="Restore a discarded workspace")
async def undo_workspace(services: ServicesDep, session_id: SessionId) -> WorkspaceAnswer:
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.undo(await workspaces.of_session(session_id)))


@router.post(
    "/sessions/{session_id}/workspace/retry", summary="Create a broken workspace again", status_code=202
)
async def retry_workspace(services: ServicesDep, session_id: SessionId) -> WorkspaceAnswer:
    """Answers before the workspace is created, from the `base` that was asked for. Changes that were in a
    removed folder are not restored. A message that waited for the workspace runs with the next message."""
    workspaces = services.management.folders.workspaces
    return await _retried(services, await workspaces.of_session(session_id))


@router.get("/workspaces/{workspace_id}", summary="Show a workspace")
async def get_workspace_by_id(services: ServicesDep, workspace_id: WorkspaceId) -> WorkspaceAnswer:
    """Includes workspaces of subagents and of deleted sessions."""
    return WorkspaceAnswer.model_validate(await services.management.folders.workspaces.get(workspace_id))


@router.post("/workspaces/{workspace_id}/merge", summary="Merge the changes of a workspace by its id")
async def merge_workspace_by_id(
    services: ServicesDep, principal: PrincipalDep, workspace_id: WorkspaceId, body: MergeWorkspace
) -> MergeAnswer:
    """Works like the merge of a session's workspace. The target is always the project's repository, even
    when a subagent's caller works in a workspace. For a subagent's workspace `conflicts: agent` is refused
    with the reason `workspace_of_subagent`."""
    workspaces = services.management.folders.workspaces
    return await _merged(services, principal, await workspaces.get(workspace_id), body)


@router.post("/workspaces/{workspace_id}/keep", summary="Keep the branch of a workspace by its id")
async def keep_workspace_by_id(services: ServicesDep, workspace_id: WorkspaceId) -> WorkspaceAnswer:
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.keep(await workspaces.get(workspace_id)))


@router.post("/workspaces/{workspace_id}/discard", summary="Discard a workspace by its id")
async def discard_workspace_by_id(services: ServicesDep, workspace_id: WorkspaceId) -> WorkspaceAnswer:
    """Its folder is removed after `workspaces.undo_days`; until then `undo` restores it."""
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.discard(await workspaces.get(workspace_id)))


@router.post("/workspaces/{workspace_id}/undo", summary="Restore a discarded workspace by its id")
async def undo_workspace_by_id(services: ServicesDep, workspace_id: WorkspaceId) -> WorkspaceAnswer:
    workspaces = services.management.folders.workspaces
    return WorkspaceAnswer.model_validate(await workspaces.undo(await workspaces.get(workspace_id)))


@router.post(
    "/workspaces/{workspace_id}/retry", summary="Create a broken workspace again by its id", status_code=202
)
async def retry_workspace_by_id(services: ServicesDep, workspace_id: WorkspaceId) -> WorkspaceAnswer:
    """Works like the retry of a session's workspace. That of a subagent is refused with the reason
    `workspace_of_subagent`."""
    return await _retried(services, await services.management.folders.workspaces.get(workspace_id))


async def _retried(services: Services, row: Workspace) -> WorkspaceAnswer:
    if row.run_id is None:
        await services.sessions.require_open(row.session_id or "")
    return WorkspaceAnswer.model_validate(await services.management.folders.workspaces.retry(row))


async def _merged(
    services: Services, principal: Principal, row: Workspace, body: MergeWorkspace
) -> MergeAnswer:
    workspaces = services.management.folders.workspaces
    session_id = row.session_id or ""
    if body.conflicts == "agent" and row.run_id is None:
        await services.sessions.require_open(session_id)
    if body.hooks:
        services.projects.require_trusted(row.project_id)
    try:
        merged = await workspaces.merge(row, body.wish(), principal.actor)
    except Conflict as refusal:
        refusal.details = services.redactor.data(refusal.details)  # what hooks say may hold a secret
        raise
    if merged.given:
        text = conflict_message(merged)
        await services.sessions.post_message(session_id, text, actor=principal.actor)
    return MergeAnswer.of(merged, (await workspaces.get(row.id)).state, dry_run=body.dry_run)


def _shared(services: Services, session: Session) -> WorkspaceAnswer:
    return WorkspaceAnswer(
        id=None,
        project_id=session.project_id,
        session_id=session.id,
        agent_path=None,
        run_id=None,
        parent_id=None,
        kind="shared",
        state="ready",
        root=str(services.projects.root_of(session.project_id)),
        branch=None,
        base=None,
        base_commit=None,
        detail=None,
        setup_log=None,
        first_port=None,
        ports=0,
        size_bytes=0,
        merged=None,
        created_by=session.created_by,
        created_at=session.created_at,
        updated_at=session.updated_at,
        ended_at=None,
        removed_at=None,
    )
