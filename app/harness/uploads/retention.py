"""The regular removal of uploads that nothing uses. Runs until it is cancelled."""

from __future__ import annotations

import asyncio
import logging

from app.errors import KagedError
from app.harness.uploads.service import UploadService

log = logging.getLogger("kaged.daemon")

TRIM_EVERY_SECONDS = 600.0


async def trim_uploads_forever(uploads: UploadService) -> None:
    """Remove them now and every ten minutes; a failure is logged and tried again."""
    while True:
        try:
            removed = await uploads.trim()
            if removed:
                log.info("%d uploads that nothing used were removed", removed)
        except (KagedError, OSError) as error:
            log.error("unused uploads could not be removed: %s", error)
        await asyncio.sleep(TRIM_EVERY_SECONDS)
