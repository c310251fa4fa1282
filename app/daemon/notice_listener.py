"""Listening to the commits of other daemons, where several share a database.

Owns: one listener while the daemon runs, and handing what it hears to the event loop. Never: the connection
(`storage/notices`), or who is woken (`harness/stream/followed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app.config import Settings
from app.harness.stream.event_hub import EventHub
from app.storage.engine import open_database
from app.storage.notices import Notices


@asynccontextmanager
async def others_heard(settings: Settings, hub: EventHub) -> AsyncIterator[None]:
    """Wake who follows sessions of other daemons when these commit something."""
    followed, leases = hub.followed, hub.store.leases
    url = settings.storage.listen_url or settings.storage.url
    if followed is None or leases is None or url is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def deliver(text: str) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(followed.notice, text)

    database = open_database(url.get_secret_value(), settings.daemon.data_dir)
    notices = Notices(database, leases.owner.id, deliver)
    notices.start()
    try:
        yield
    finally:
        await asyncio.to_thread(notices.close)
