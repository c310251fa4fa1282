"""Routes for operators: audit trail, log, metrics, and the missed events of many sessions.

Owns: parsing and answering. Never: recording, counting or redacting (done before a row is stored).
"""

from __future__ import annotations

import asyncio
import re
from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import PlainTextResponse, Response

from app.api.dependencies import PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.operations import SEVERITIES, AuditEntry, CatchUp, Level, LogRecord
from app.errors import NotFound, ValidationFailed
from app.observability.metrics import Snapshot
from app.storage.unit_of_work import UnitOfWork

router: APIRouter = noun_router("Operations")

MAX_SYNC_SESSIONS = 100
MAX_SYNC_FRAMES = 500
MAX_SYNC_BYTES = 8 * 1024 * 1024
"""The limit for the frames of one answer; each session may send its first one."""
_MAX_SEQ = 2**62
_SEQ = re.compile(r"[0-9]{1,19}")


@router.get("/audit", summary="List the audit trail, newest first")
async def list_audit(
    services: ServicesDep,
    page: PageDep,
    event: Annotated[
        str | None, Query(max_length=100, description="An event name; `*` matches any part.")
    ] = None,
    session_id: Annotated[str | None, Query(max_length=64)] = None,
    run_id: Annotated[str | None, Query(max_length=64)] = None,
    project_id: Annotated[str | None, Query(max_length=64)] = None,
    since: Annotated[AwareDatetime | None, Query(description="From this time on.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Before this time.")] = None,
) -> PageOf[AuditEntry]:
    found = await services.storage.read(
        lambda uow: uow.audit.list(
            event=event,
            session_id=session_id,
            run_id=run_id,
            project_id=project_id,
            since=_milliseconds(since),
            until=_milliseconds(until),
            limit=page.limit,
            cursor=page.cursor,
        )
    )
    return answer_page(found, AuditEntry.model_validate)


@router.get("/sync", summary="Get the missed events of several sessions", response_model=CatchUp)
async def sync_sessions(
    services: ServicesDep,
    sessions: Annotated[str, Query(min_length=1, max_length=8_000, examples=["ses_01J...:12,ses_01K...:0"])],
) -> Response:
    """Returns the durable events after `seq` for each `id:seq` of the list, as the WebSocket sends them: at
    most 500 per session and 8 MB in all."""
    asked = _parse_positions(sessions)
    parts = await services.storage.read(lambda uow: _catch_up_all(uow, asked))
    return Response(b'{"sessions":[' + b",".join(parts) + b"]}", media_type="application/json")


def _milliseconds(moment: AwareDatetime | None) -> int | None:
    """Return a time as milliseconds since the epoch."""
    return int(moment.timestamp() * 1000) if moment is not None else None


def _parse_positions(text: str) -> list[tuple[str, int]]:
    positions = []
    for entry in text.split(","):
        session_id, _, seq = entry.strip().partition(":")
        if not session_id or not _SEQ.fullmatch(seq) or int(seq) > _MAX_SEQ:
            raise ValidationFailed(
                "The list is not valid.", fields={"sessions": f"{entry[:80]!r} is not id:seq"}
            )
        positions.append((session_id, int(seq)))
    if len(positions) > MAX_SYNC_SESSIONS:
        raise ValidationFailed("The list is too long.", fields={"sessions": f"at most {MAX_SYNC_SESSIONS}"})
    return positions


def _catch_up_all(uow: UnitOfWork, asked: list[tuple[str, int]]) -> list[bytes]:
    parts: list[bytes] = []
    for session_id, after in asked:
        left = MAX_SYNC_BYTES - sum(map(len, parts))
        parts.append(_catch_up(uow, session_id, after, max_bytes=left))
    return parts


def _catch_up(uow: UnitOfWork, session_id: str, after: int, *, max_bytes: int) -> bytes:
    """Return one session's part of the answer; stored frames go in as they are."""
    session = uow.sessions.get(session_id)
    if session is None:
        raise NotFound(f"There is no session {session_id}.")
    last = uow.events.last_seq(session_id)
    ahead = after > max(session.seq_reserved, last)
    resync = ahead or after < session.trimmed_through_seq
    start = max(last if ahead else after, session.trimmed_through_seq)
    until = uow.events.fitting_through(session_id, start, last, limit=MAX_SYNC_FRAMES, max_bytes=max_bytes)
    rows = uow.events.after(session_id, start, until, MAX_SYNC_FRAMES)
    through = rows[-1].seq if rows else max(start, last)
    return orjson.dumps(
        {
            "session_id": session_id,
            "from_seq": start + 1,
            "through_seq": through,
            "has_more": bool(rows) and through < last,
            "resync": resync,
            "frames": [orjson.Fragment(row.frame) for row in rows],
        }
    )


@router.get("/metrics", summary="Get the metrics in the Prometheus format", response_class=PlainTextResponse)
async def get_metrics(services: ServicesDep) -> Response:
    """Counters start at zero with the daemon. Names begin with `kaged_`."""
    content, media_type = await asyncio.to_thread(_exposition, services.metrics.snapshot())
    return Response(content, media_type=media_type)


@router.get("/logs", summary="List the daemon's log, newest first")
async def list_logs(
    services: ServicesDep,
    page: PageDep,
    level: Annotated[Level | None, Query(description="Entries of this level or above.")] = None,
    event: Annotated[str | None, Query(max_length=100, examples=["agent.generation"])] = None,
    session_id: Annotated[str | None, Query(max_length=64)] = None,
    run_id: Annotated[str | None, Query(max_length=64)] = None,
    text: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Text that occurs anywhere in an entry.")
    ] = None,
    since: Annotated[AwareDatetime | None, Query(description="From this time on.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Before this time.")] = None,
) -> PageOf[LogRecord]:
    """Entries appear here within a second, without secrets. `storage.log_retention_days` and
    `storage.log_retention_entries` limit how long they stay."""
    found = await services.storage.read(
        lambda uow: uow.logs.list(
            severity=None if level is None else SEVERITIES[level],
            event=event,
            session_id=session_id,
            run_id=run_id,
            text=text,
            since=_milliseconds(since),
            until=_milliseconds(until),
            limit=page.limit,
            cursor=page.cursor,
        )
    )
    return answer_page(found, LogRecord.of)


def _exposition(snapshot: Snapshot) -> tuple[bytes, str]:
    from app.observability.exposition import CONTENT_TYPE, exposition  # imported when first asked for

    return exposition(snapshot), CONTENT_TYPE
