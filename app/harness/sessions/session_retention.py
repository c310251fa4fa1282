"""Sessions that nobody has changed for long, or that there is no room for, go when the operator says so.

Owns: which sessions go, by age and by size. Never: what a session's end entails (`session_manager`). Only
sessions at rest go: idle ones and archived ones.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from app.config import StorageSettings
from app.errors import KagedError
from app.ids import now_ms
from app.storage.models import AuditEvent
from app.storage.storage import Storage

log = logging.getLogger("kaged.daemon")

DAY_MS = 24 * 60 * 60 * 1000
MEBIBYTE = 1024 * 1024

Delete = Callable[[str], Awaitable[None]]


async def trim_sessions(storage: Storage, delete: Delete, settings: StorageSettings) -> None:
    """Delete what is older, and then what is more, than the settings allow; nothing unless they say so."""
    days, megabytes = settings.session_retention_days, settings.session_retention_mb
    if days is not None:
        before = now_ms() - days * DAY_MS
        while found := await storage.read(lambda uow: uow.sessions.unchanged_since(before)):
            if not await _delete_all(storage, delete, found, "age"):
                break  # all that is left refuses; the next round tries again
    if megabytes is not None:
        found = await storage.read(lambda uow: uow.sessions.beyond(megabytes * MEBIBYTE))
        await _delete_all(storage, delete, found, "size")


async def _delete_all(storage: Storage, delete: Delete, ids: list[str], reason: str) -> int:
    """Delete sessions one by one, each with a row in the audit; return how many went."""
    gone = 0
    for session_id in ids:
        row = await storage.read(lambda uow, key=session_id: uow.sessions.get(key))  # type: ignore[misc]
        if row is None:
            continue
        try:
            await delete(session_id)
        except KagedError as problem:
            log.info("session %s is kept for now: %s", session_id, problem.message)
            continue
        gone += 1
        audit = AuditEvent(
            created_at=now_ms(),
            event="session.retention",
            actor="daemon",
            project_id=row.project_id,
            session_id=session_id,
            data={"reason": reason, "title": row.title, "updated_at": row.updated_at},
        )
        await storage.write(lambda uow, noted=audit: uow.audit.add(noted))  # type: ignore[misc]
    if gone:
        log.info("%d sessions were deleted by their retention (%s)", gone, reason)
    return gone
