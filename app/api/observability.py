"""Routes for what the daemon tells of itself: metrics, and its log.

Owns: parsing and answering. Never: counting, or redacting (done before a record is stored).
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import PlainTextResponse, Response

from app.api.dependencies import PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.operations import milliseconds
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.operations import SEVERITIES, Level, LogRecord
from app.observability.metrics import Snapshot

router: APIRouter = noun_router("Operations")


@router.get("/metrics", summary="Get the metrics in the Prometheus format", response_class=PlainTextResponse)
async def get_metrics(services: ServicesDep) -> Response:
    """Counters begin at zero when the daemon starts. Names begin with `kaged_`."""
    content, media_type = await asyncio.to_thread(_exposition, services.metrics.snapshot())
    return Response(content, media_type=media_type)


@router.get("/logs", summary="List the daemon's log, newest first")
async def list_logs(
    services: ServicesDep,
    page: PageDep,
    level: Annotated[Level | None, Query(description="This level or a more serious one.")] = None,
    event: Annotated[str | None, Query(max_length=100, examples=["agent.generation"])] = None,
    session_id: Annotated[str | None, Query(max_length=64)] = None,
    run_id: Annotated[str | None, Query(max_length=64)] = None,
    text: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Found anywhere in an entry.")
    ] = None,
    since: Annotated[AwareDatetime | None, Query(description="At this time or later.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Before this time.")] = None,
) -> PageOf[LogRecord]:
    """What was logged is here a second later, without secrets. `storage.log_retention_days` and
    `storage.log_retention_entries` say how long it stays."""
    found = await services.storage.read(
        lambda uow: uow.logs.list(
            severity=None if level is None else SEVERITIES[level],
            event=event,
            session_id=session_id,
            run_id=run_id,
            text=text,
            since=milliseconds(since),
            until=milliseconds(until),
            limit=page.limit,
            cursor=page.cursor,
        )
    )
    return answer_page(found, LogRecord.of)


def _exposition(snapshot: Snapshot) -> tuple[bytes, str]:
    from app.observability.exposition import CONTENT_TYPE, exposition  # imported when first asked for

    return exposition(snapshot), CONTENT_TYPE
