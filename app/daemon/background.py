"""The daemon's own regular jobs: heartbeats, retention, a changed config file.

Owns: when each runs, and what the retention deletes. Never: ending with a failure; it is logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch

from app.config import (
    FileVersion,
    Settings,
    StorageSettings,
    default_config_file,
    load_settings,
    secret_values,
    version_of,
)
from app.errors import KagedError
from app.harness.conversation.session_rows import session_audit
from app.harness.providers.router import ProviderRouter
from app.harness.stream.event_hub import EventHub
from app.ids import now_ms
from app.observability import Redactor
from app.storage.storage import Storage

log = logging.getLogger("kaged.daemon")

DAY_MS = 24 * 60 * 60 * 1000
MEBIBYTE = 1024 * 1024
TRIM_EVERY_SECONDS = 600.0
IDEMPOTENCY_DAYS = 1
NOTIFICATION_DAYS = 1
RECHECK_MS = 2_000
FREED_PAGES = 2_000
"""How many pages of the database file one write gives back at most."""

Delete = Callable[[str], Awaitable[None]]


async def heartbeat_forever(hub: EventHub, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        hub.heartbeat()


async def trim_forever(
    storage: Storage,
    hub: EventHub,
    delete_session: Delete,
    settings: StorageSettings,
    *,
    may_trim: Callable[[], bool] = lambda: True,
    own_projects: Callable[[], set[str]] | None = None,
) -> None:
    """Delete what is older than its retention, a little at a time so that nothing waits for it. Where several
    daemons share the database, each deletes the sessions of its own projects, and the one that `may_trim` the
    rest."""
    while True:
        try:
            await trim_sessions(storage, delete_session, settings, own_projects)
            if may_trim():
                await trim_once(storage, hub, settings)
            else:
                await hub.refresh_trim_points()
        except KagedError as error:
            log.error("old rows could not be removed: %s", error.message)
        await asyncio.sleep(TRIM_EVERY_SECONDS)


async def trim_sessions(
    storage: Storage,
    delete: Delete,
    settings: StorageSettings,
    own_projects: Callable[[], set[str]] | None = None,
) -> None:
    """Delete what is older, and then what is more, than the settings allow; nothing unless they say so."""
    days, megabytes = settings.session_retention_days, settings.session_retention_mb
    own = own_projects() if own_projects is not None else None
    if days is not None:
        before = now_ms() - days * DAY_MS
        while found := await storage.read(lambda uow: uow.sessions.unchanged_since(before, projects=own)):
            if not await _delete_all(storage, delete, found, "age"):
                break  # all that is left refuses; the next round tries again
    if megabytes is not None:
        found = await storage.read(lambda uow: uow.sessions.beyond(megabytes * MEBIBYTE, projects=own))
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
        data = {"reason": reason, "title": row.title, "updated_at": row.updated_at}
        audit = session_audit(row, "session.retention", "daemon", data)
        await storage.write(lambda uow, noted=audit: uow.audit.add(noted))  # type: ignore[misc]
    if gone:
        log.info("%d sessions were deleted by their retention (%s)", gone, reason)
    return gone


async def trim_once(storage: Storage, hub: EventHub, settings: StorageSettings) -> None:
    """Run the retention rules to their end."""
    at = now_ms()
    fitting_since = await storage.read(
        lambda uow: uow.events.fitting_since(settings.event_retention_mb * MEBIBYTE)
    )
    events_before = max(at - settings.event_retention_days * DAY_MS, fitting_since or 0)
    trimmed = False
    while await storage.write(lambda uow: uow.events.trim_older_than(events_before)):
        trimmed = True
    audit_fits = await storage.read(
        lambda uow: uow.audit.fitting_since(settings.audit_retention_mb * MEBIBYTE)
    )
    audit_before = max(at - settings.audit_retention_days * DAY_MS, audit_fits or 0)
    more = True
    while more:
        more = bool(await storage.write(lambda uow: uow.audit.trim_older_than(audit_before)))
    logs_before, kept = at - settings.log_retention_days * DAY_MS, settings.log_retention_entries
    while await storage.write(lambda uow: uow.logs.trim(logs_before, kept)):
        pass
    await storage.write(lambda uow: uow.access.purge_keys(at - IDEMPOTENCY_DAYS * DAY_MS))
    await storage.write(lambda uow: uow.notifications.purge(at - NOTIFICATION_DAYS * DAY_MS))
    if trimmed:
        await hub.refresh_trim_points()
    # Whatever was deleted: deleted sessions and old log entries leave room, too.
    while await storage.write(lambda uow: uow.release_space(FREED_PAGES)):
        pass


async def reload_config_forever(settings: Settings, router: ProviderRouter, redactor: Redactor) -> None:
    """Take up models, providers and prices when the config file changes; the rest needs a restart.

    Without one, the file is waited for where it is looked for at the start."""
    file = settings.config_file or default_config_file()
    own = {"daemon.data_dir": settings.daemon.data_dir}  # of the command line, perhaps
    async for _ in _changes_of(file, settings.config_version):
        try:
            async with router.changing:
                fresh = await asyncio.to_thread(load_settings, config_file=file, overrides=own)
                redactor.add(*secret_values(fresh))
                router.update(fresh.models, fresh.providers, fresh.prices)
        except KagedError as error:
            log.error("the changed config file is not used: %s", error.message)
            continue
        log.info("models and providers were reloaded from %s", file)


async def _changes_of(file: Path, seen: FileVersion | None) -> AsyncGenerator[None, None]:
    """Yield when a file has another version than was `seen`, or has come to be; its folders need not be there
    yet."""
    while True:
        folder = await asyncio.to_thread(_nearest_folder, file)
        towards = folder / file.relative_to(folder).parts[0]
        watching = awatch(
            folder,
            recursive=False,
            watch_filter=lambda _, path, towards=towards: Path(path) == towards,  # type: ignore[misc]
            # What happens before the watching has begun is seen then.
            rust_timeout=RECHECK_MS,
            yield_on_timeout=True,
        )
        async with aclosing(watching):
            async for _ in watching:
                now = await asyncio.to_thread(version_of, file)
                if now not in (None, seen):
                    yield
                seen = now
                if await asyncio.to_thread(_nearest_folder, file) != folder:
                    break


def _nearest_folder(file: Path) -> Path:
    return next(folder for folder in file.parents if folder.is_dir())
