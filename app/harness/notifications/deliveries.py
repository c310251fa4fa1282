"""Delivers what is in the outbox: each channel by itself, again after a failure, also after a restart.

Owns: when each is tried, what is not worth sending any more, and giving up. Never: which events send
one (`outbox`).
A row goes after its delivery: a daemon that is killed in between delivers again, with the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from app.config import NotifySettings
from app.errors import KagedError
from app.harness.notifications.channels import Channel, Outcome
from app.harness.notifications.notice import Notice
from app.harness.notifications.outbox import NOTIFYING
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.ids import now_ms
from app.observability import Metrics
from app.observability.metrics import NOTIFICATIONS
from app.states import InteractionState
from app.storage.models import Notification
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.notify")

MAX_TRIES = 15
MAX_PAUSE_SECONDS = 3600.0
LOOK_SECONDS = 60.0
"""How often a channel looks without having been woken: another daemon may have left something."""
AFTER_OUTAGE_SECONDS = 5.0


class Deliveries:
    """All channels of this daemon. `projects` are those that it owns, None when it is alone."""

    def __init__(
        self,
        storage: Storage,
        hub: EventHub,
        settings: NotifySettings,
        channels: Sequence[Channel],
        metrics: Metrics,
        page_url: str,
        projects: Callable[[], Collection[str]] | None = None,
    ) -> None:
        self._storage, self._hub, self._settings = storage, hub, settings
        self._channels = channels
        self._metrics = metrics
        self._page = (settings.page_url or page_url).rstrip("/")
        self._projects = projects
        self._wakes = {channel.name: asyncio.Event() for channel in channels}

    async def run(self) -> None:
        """Deliver until cancelled."""
        self._hub.listen(self._on_frame, lambda _: None)
        try:
            async with asyncio.TaskGroup() as group:
                for channel in self._channels:
                    group.create_task(self._deliver(channel), name=f"notify {channel.name}")
        finally:
            for channel in self._channels:
                await channel.aclose()

    # -- inside -----------------------------------------------------------------------------

    def _on_frame(self, frame: Frame) -> None:
        if frame.type in NOTIFYING:
            for wake in self._wakes.values():
                wake.set()

    async def _deliver(self, channel: Channel) -> None:
        wake = self._wakes[channel.name]
        while True:
            wake.clear()
            try:
                pause = await self._deliver_due(channel)
            except KagedError as problem:
                log.error("notifications wait: %s", problem.message)
                pause = AFTER_OUTAGE_SECONDS
            except Exception:  # one notification must not end the others
                log.exception("notifications wait")
                pause = LOOK_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await wake.wait()

    async def _deliver_due(self, channel: Channel) -> float:
        """Deliver what is due; return for how long nothing will be."""
        name = channel.name
        projects = None if self._projects is None else list(self._projects())
        while rows := await self._storage.read(
            lambda uow: uow.notifications.due(name, now_ms(), projects=projects)
        ):
            for row in rows:
                await self._attempt(channel, row)
        due = await self._storage.read(lambda uow: uow.notifications.next_due(name, projects=projects))
        return LOOK_SECONDS if due is None else min(max(0.0, (due - now_ms()) / 1000), LOOK_SECONDS)

    async def _attempt(self, channel: Channel, row: Notification) -> None:
        followed = not self._settings.while_followed and self._hub.is_followed(row.session_id)
        notice = None if followed else await self._storage.read(lambda uow: self._notice(uow, row))
        if notice is None:
            await self._remove(row, "followed" if followed else "settled")
            return
        outcome = await channel.send(notice)
        tries = row.tries + 1
        if outcome.problem is None:
            await self._remove(row, "delivered")
        elif outcome.final or tries >= MAX_TRIES:
            log.error("a notification by %s is given up: %s", channel.name, outcome.problem)
            await self._remove(row, "given_up")
        else:
            pause = self._pause(outcome, tries)
            log.warning(
                "a notification by %s is tried again in %.0f s: %s", channel.name, pause, outcome.problem
            )
            self._metrics.count(NOTIFICATIONS, channel.name, "failed")
            due_at = now_ms() + round(pause * 1000)
            await self._storage.write(
                lambda uow: uow.notifications.update(row.id, tries=tries, due_at=due_at)
            )

    def _pause(self, outcome: Outcome, tries: int) -> float:
        own: float = min(self._settings.retry_seconds * 2.0 ** (tries - 1), MAX_PAUSE_SECONDS)
        return max(own, outcome.wait_seconds)

    async def _remove(self, row: Notification, outcome: str) -> None:
        await self._storage.write(lambda uow: uow.notifications.remove(row.id))
        self._metrics.count(NOTIFICATIONS, row.channel, outcome)

    def _notice(self, uow: UnitOfWork, row: Notification) -> Notice | None:
        """Return what is sent; None when the question is answered, or the session gone."""
        session = uow.sessions.get(row.session_id)
        project = uow.projects.get(row.project_id)
        if session is None or project is None:
            return None
        asked = row.about.get("interaction_id")
        question = uow.interactions.get(asked) if asked is not None else None
        if question is not None and question.state != InteractionState.PENDING.value:
            return None
        return Notice(
            id=row.id,
            kind=row.kind,
            session_id=session.id,
            project_id=project.id,
            project=project.slug,
            agent=row.agent_path,
            link=f"{self._page}/#{session.id}",
            created_at=row.created_at,
            title=session.title if self._settings.titles else None,
            about=row.about,
        )
