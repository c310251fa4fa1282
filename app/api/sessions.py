"""Routes for sessions: create, list, change, archive, delete, export and import; their agents.

Owns: parsing and answering. Never: what a session does (`harness.sessions`).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from app.api.dependencies import PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.operator_audit import NOTED
from app.api.pagination import answer_page
from app.api.schemas.agents import SessionAgent
from app.api.schemas.model import PageOf
from app.api.schemas.sessions import (
    ChangeSession,
    CreateSession,
    ImportedSessionDetail,
    LastRun,
    ListedSession,
    SessionDetail,
    SessionStateName,
)
from app.api.scope_rules import FOR_PLUGINS, READS_SESSION
from app.api.session_detail import new_session_detail, session_detail
from app.errors import KagedError
from app.harness.transfer import transfer
from app.storage.keyed_effect import answer_with
from app.storage.models import Session as SessionRow

log = logging.getLogger("kaged.api")

router: APIRouter = noun_router("Sessions")


@router.post("/sessions", summary="Create a session", status_code=201, dependencies=[IDEMPOTENT])
async def create_session(
    services: ServicesDep, principal: PrincipalDep, body: CreateSession
) -> SessionDetail:
    """The answer does not wait for a `workspace`; the first run does. `workspace.updated` reports states."""
    answer_with(SessionRow, lambda session: (201, new_session_detail(session)))
    workspaces, workspace = services.management.folders.workspaces, None
    wish = body.wished_workspace(workspaces.default_kind(body.project_id))
    if wish is not None:
        workspace = await workspaces.plan(body.project_id, wish.base, body.title or "", principal.actor)
    session = await services.sessions.create(
        body.project_id,
        title=body.title,
        issue_number=body.issue_number,
        headless=body.headless,
        overrides=body.overrides.model_dump(exclude_none=True) if body.overrides is not None else None,
        mode=body.mode,
        workspace=workspace,
        created_by=principal.actor,
    )
    if workspace is not None:
        workspaces.begin(workspace)
    return new_session_detail(session)


@router.get("/sessions", summary="List sessions, newest first", dependencies=[FOR_PLUGINS])
async def list_sessions(
    services: ServicesDep,
    page: PageDep,
    project_id: Annotated[str | None, Query(max_length=64)] = None,
    state: SessionStateName | None = None,
    kind: Annotated[str | None, Query(max_length=32)] = None,
    issue_number: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    text: Annotated[
        str | None, Query(max_length=200, description="Only sessions whose title contains this.")
    ] = None,
    asks: Annotated[bool, Query(description="Only sessions with an open question.")] = False,
    failed: Annotated[
        bool,
        Query(description="Only idle sessions whose newest run failed, or was interrupted but not paused."),
    ] = False,
    archived: Annotated[
        bool | None, Query(description="Only archived sessions, or only those that are not archived.")
    ] = None,
) -> PageOf[ListedSession]:
    filters = {"project_id": project_id, "state": state, "kind": kind, "issue_number": issue_number}
    marks = {"asks": asks, "failed": failed, "archived": archived, "current": archived is False}
    chosen = {"text": text, "only": [mark for mark, wanted in marks.items() if wanted]}
    found = await services.sessions.list({**filters, **chosen, "limit": page.limit, "cursor": page.cursor})
    ids = [row.id for row in found.items]
    pending, runs = await services.storage.read(
        lambda uow: (uow.interactions.pending_counts(ids), uow.runs.newest_roots(ids))
    )

    def listed(row: SessionRow) -> ListedSession:
        more = {"pending_interactions": pending.get(row.id, 0), "last_run": LastRun.of(runs.get(row.id))}
        return ListedSession.model_validate(row).model_copy(update=more)

    return answer_page(found, listed)


_EXPORTED_FILE = {
    "requestBody": {
        "required": True,
        "description": "The file that an export answered, with whatever content type.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/sessions/import",
    summary="Import an exported session",
    status_code=201,
    openapi_extra=_EXPORTED_FILE,
)
async def import_session(
    request: Request, services: ServicesDep, principal: PrincipalDep
) -> ImportedSessionDetail:
    """The body is an exported file (JSON lines). A truncated or changed file is refused by the count and
    digest in its last line."""
    imported = await services.imports.take(request.stream(), principal.actor)
    detail = await session_detail(services, imported.session)
    return ImportedSessionDetail(**dict(detail), warnings=imported.warnings)


@router.get("/sessions/{session_id}", summary="Show a session", dependencies=READS_SESSION)
async def get_session(services: ServicesDep, session_id: SessionId) -> SessionDetail:
    """Includes tokens, cost by spender, and how full each agent's context is."""
    return await session_detail(services, await services.sessions.get(session_id))


@router.get("/sessions/{session_id}/agents", summary="List the agents of a session and their cages")
async def list_agents(services: ServicesDep, session_id: SessionId) -> PageOf[SessionAgent]:
    """The root agent first, each before its subagents, by the version of the project that the session works
    with. All are on one page."""
    agents = await services.sessions.agents(session_id)
    return PageOf[SessionAgent].whole([SessionAgent.of(agent) for agent in agents])


@router.patch("/sessions/{session_id}", summary="Change a session: title, issue, model, mode")
async def update_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: ChangeSession
) -> SessionDetail:
    """`not_found` with the reason `issue_not_found` when the project has no such issue. A new mode
    also settles the open permission requests of running runs: what it denies is refused, what it allows goes
    on."""
    changed = await services.sessions.change(session_id, body.values(), actor=principal.actor)
    return await session_detail(services, changed)


@router.delete("/sessions/{session_id}", summary="Delete a session and everything in it", status_code=204)
async def delete_session(request: Request, services: ServicesDep, session_id: SessionId) -> Response:
    setattr(request.state, NOTED, {"project_id": (await services.sessions.get(session_id)).project_id})
    await services.sessions.delete(session_id)
    return Response(status_code=204)


@router.post("/sessions/{session_id}/archive", summary="Archive a session")
async def archive_session(services: ServicesDep, session_id: SessionId) -> SessionDetail:
    """An archived session can be read and exported, but takes no messages."""
    return await session_detail(services, await services.sessions.archive(session_id))


@router.get(
    "/sessions/{session_id}/export",
    summary="Export a session as one file of JSON lines",
    response_class=StreamingResponse,
)
async def export_session(services: ServicesDep, session_id: SessionId) -> StreamingResponse:
    """A session that is running, or has a background task, cannot be exported. The download breaks off when
    the session changes meanwhile: the file is then incomplete."""
    lines = transfer.export_session(services.storage, await services.sessions.get(session_id))
    # What can be refused is refused with the first line, while a status can still be sent.
    first = await anext(lines)

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        try:
            async for line in lines:
                yield line
        except KagedError as problem:
            log.warning("the export of %s is broken off: %s", session_id, problem.message)
            raise ClientDisconnect from None  # no status can be sent any more; the rest stays away

    return StreamingResponse(
        all_lines(),
        media_type="application/jsonl",
        headers={"content-disposition": f'attachment; filename="{session_id}.jsonl"'},
    )
