"""Queries about notifications that are not delivered yet."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, delete, func, select

from app.storage.models import Notification
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


class NotificationRepository(RowsById[Notification]):
    model = Notification

    def due(
        self, channel: str, at: int, *, projects: Collection[str] | None, limit: int = 50
    ) -> list[Notification]:
        """Return what a channel has to deliver by now, the longest due first; `projects` limits it to those
        of some projects."""
        where = [*self._of(channel, projects), self.c.due_at <= at]
        return self._all(select(self.model).where(*where).order_by(self.c.due_at).limit(limit))

    def next_due(self, channel: str, *, projects: Collection[str] | None) -> int | None:
        """Return when the channel has to deliver next; None when nothing waits."""
        found = self._scalar(select(func.min(self.c.due_at)).where(*self._of(channel, projects)))
        return None if found is None else int(found)

    def remove(self, notification_id: str) -> None:
        """Forget what was delivered or given up."""
        self.connection.execute(delete(self.table).where(self.c.id == storable(notification_id)))

    def purge(self, before: int) -> int:
        """Forget what is older, whether or not a channel still delivers it; return how many."""
        return self.connection.execute(delete(self.table).where(self.c.created_at < before)).rowcount

    def _of(self, channel: str, projects: Collection[str] | None) -> list[ColumnElement[bool]]:
        where: list[ColumnElement[bool]] = [self.c.channel == storable(channel)]
        return where if projects is None else [*where, self.c.project_id.in_(sorted(projects))]
