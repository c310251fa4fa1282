"""Routes for what the daemon tells of itself: metrics.

Owns: parsing and answering. Never: counting, or redacting (done before a record is stored).
"""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.observability.metrics import Snapshot

router: APIRouter = noun_router("Operations")


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Read the metrics as Prometheus does",
    response_class=PlainTextResponse,
)
async def get_metrics(services: ServicesDep) -> Response:
    """Counters begin at zero when the daemon starts. Names begin with `kaged_`."""
    content, media_type = await asyncio.to_thread(_exposition, services.metrics.snapshot())
    return Response(content, media_type=media_type)


def _exposition(snapshot: Snapshot) -> tuple[bytes, str]:
    from app.observability.exposition import CONTENT_TYPE, exposition  # imported when first asked for

    return exposition(snapshot), CONTENT_TYPE
