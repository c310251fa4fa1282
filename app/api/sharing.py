"""Routes for sharing a session: the file, and a preview of what leaves with it.

Owns: parsing and answering, and the audit row of what left. Never: what the file holds (`harness.sharing`).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from app.api.dependencies import PrincipalDep, RequestId, ServicesDep, SessionId
from app.api.file_response import NEVER_RUN
from app.api.kaged_route import noun_router
from app.api.operator_audit import note
from app.api.schemas.sharing import SharePreview
from app.daemon.services import Services
from app.errors import KagedError
from app.harness.sharing.asked import MEDIA_TYPE, SUFFIX, Format, Included, Wanted
from app.harness.sharing.sharing import Share

log = logging.getLogger("kaged.api")

router: APIRouter = noun_router("Sessions")

FormatQuery = Annotated[Format, Query(alias="format", description="`html` or `markdown`.")]
IncludeQuery = Annotated[
    list[Included],
    Query(
        max_length=8,
        description="What leaves beside the messages; repeat it for several. `results`: arguments and "
        "results of tool calls, contents of attached files, notes of the daemon.",
    ),
]


@router.get(
    "/sessions/{session_id}/share",
    summary="Share a session as a file for other people",
    response_class=StreamingResponse,
)
async def share_session(
    services: ServicesDep,
    principal: PrincipalDep,
    request_id: RequestId,
    session_id: SessionId,
    format_: FormatQuery = "html",
    include: IncludeQuery = [],  # noqa: B006
) -> StreamingResponse:
    """One HTML file without scripts that loads nothing, or Markdown. Secrets that the daemon knows, and what
    has the shape of a credential, are redacted. The audit notes it as `operator.share_session`."""
    share = await _share(services, session_id, format_, include)
    named = {"session_id": session_id, "format": format_, "include": sorted(set(include))}
    await note(services.storage, principal.actor, "share_session", named, request_id=request_id)

    async def all_pieces() -> AsyncIterator[bytes]:
        try:
            async for piece in share.pieces():
                yield piece
        except KagedError as problem:
            log.warning("sharing %s is broken off: %s", session_id, problem.message)
            raise ClientDisconnect from None  # no status can be sent any more; the rest stays away

    name = f"{session_id}.{SUFFIX[format_]}"
    return StreamingResponse(
        all_pieces(),
        media_type=MEDIA_TYPE[format_],
        headers={
            **NEVER_RUN,
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{name}"',
        },
    )


@router.get("/sessions/{session_id}/share/preview", summary="Preview what leaves with a shared session")
async def preview_share(
    services: ServicesDep,
    session_id: SessionId,
    format_: FormatQuery = "html",
    include: IncludeQuery = [],  # noqa: B006
) -> SharePreview:
    """Makes the file and reports on it: counts, file names, images, where something was redacted, and what
    stays here. Nothing leaves."""
    share = await _share(services, session_id, format_, include)
    return SharePreview.of(share.title, await share.preview())


async def _share(services: Services, session_id: str, format_: Format, include: list[Included]) -> Share:
    session = await services.sessions.get(session_id)
    return Share(services.storage, services.redactor, session, Wanted.of(format_, include))
