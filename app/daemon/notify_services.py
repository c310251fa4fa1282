"""Composition of notifications: what is stored beside events, and the task that delivers it.

Owns: their construction; without a channel there are none. Never: which events send one, or sending it.
"""

from __future__ import annotations

import asyncio

from app.bridges.processes.child_starter import ChildStarter
from app.config import NotifySettings, child_environment
from app.daemon.services import Services
from app.harness.notifications.channels import channels_of
from app.harness.notifications.deliveries import Deliveries
from app.harness.notifications.outbox import Outbox
from app.harness.stream.stream_records import StoredBeside


def stored_beside(settings: NotifySettings) -> StoredBeside | None:
    """Return what stores notifications with their events; None without a channel."""
    return Outbox(settings).store if settings.channels else None


def notify_tasks(services: Services, processes: ChildStarter, url: str) -> list[asyncio.Task[None]]:
    """Begin to deliver; `url` is where the daemon listens."""
    settings = services.settings
    channels = channels_of(settings.notify, processes, child_environment(), settings.daemon.data_dir)
    if not channels:
        return []
    projects = services.projects
    deliveries = Deliveries(
        services.storage,
        services.events,
        settings.notify,
        channels,
        services.metrics,
        url,
        None if services.decisions.ownership is None else lambda: [project.id for project in projects.all()],
    )
    return [asyncio.create_task(deliveries.run(), name="notify")]
