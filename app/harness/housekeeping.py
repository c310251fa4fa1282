"""The daemon's own regular jobs: heartbeats, retention, and taking up a changed config file.

Each runs until it is cancelled; a failure is logged and the job goes on.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from watchfiles import awatch

from app.config import Settings, StorageSettings, load_settings, secret_values
from app.errors import KagedError
from app.harness.event_hub import EventHub
from app.harness.providers.router import ProviderRouter
from app.ids import now_ms
from app.observability import Redactor
from app.storage.storage import Storage

log = logging.getLogger("kaged.daemon")

DAY_MS = 24 * 60 * 60 * 1000
MEBIBYTE = 1024 * 1024
TRIM_EVERY_SECONDS = 600.0
IDEMPOTENCY_DAYS = 1
FREED_PAGES = 2_000
"""How many pages of the database file one write gives back at most."""


async def heartbeat_forever(hub: EventHub, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        hub.heartbeat()


async def trim_forever(storage: Storage, hub: EventHub, settings: StorageSettings) -> None:
    """Delete what is older than its retention, a little at a time so that nothing waits for it."""
    while True:
        try:
            await trim_once(storage, hub, settings)
        except KagedError as error:
            log.error("old rows could not be removed: %s", error.message)
        await asyncio.sleep(TRIM_EVERY_SECONDS)


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
    audit_before = at - settings.audit_retention_days * DAY_MS
    more = True
    while more:
        more = bool(await storage.write(lambda uow: uow.audit.trim_older_than(audit_before)))
    await storage.write(lambda uow: uow.access.purge_keys(at - IDEMPOTENCY_DAYS * DAY_MS))
    if trimmed:
        await hub.refresh_trim_points()
        while await storage.write(lambda uow: uow.release_space(FREED_PAGES)):
            pass


async def reload_config_forever(settings: Settings, router: ProviderRouter, redactor: Redactor) -> None:
    """Take up models, providers and prices when the config file changes; the rest needs a restart."""
    file = settings.config_file
    if file is None:
        return
    async for _ in awatch(file.parent, recursive=False, watch_filter=lambda _, path: Path(path) == file):
        try:
            fresh = await asyncio.to_thread(load_settings, config_file=file)
        except KagedError as error:
            log.error("the changed config file is not used: %s", error.message)
            continue
        redactor.add(*secret_values(fresh))
        try:
            router.update(fresh.models, fresh.providers, fresh.prices)
        except KagedError as error:
            log.error("the changed config file is not used: %s", error.message)
            continue
        log.info("models and providers were reloaded from %s", file)
