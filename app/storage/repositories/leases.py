"""Queries about the leases of projects. They run on PostgreSQL only, and every time is that of its clock.

Owns: taking, renewing, releasing and checking leases. Never: when that is done (`storage/leases`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from app.storage.models import ProjectLease
from app.storage.repositories.rows import Rows, insert_or_keep
from app.storage.text import storable

WHOLE_DATABASE = "*"
LEASE_SECONDS = 10.0

_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
_LATER = f"{_NOW} + {round(LEASE_SECONDS * 1000)}"

# A commit under way holds its leases FOR KEY SHARE: such a row is skipped, and tried again later. A row that
# is not free is not locked: its owner, who renews it, would wait.
_LOCK = text(
    "SELECT owner_id, marker FROM project_leases WHERE project_id = :project_id"
    f" AND (owner_id = :owner_id OR expires_at <= {_NOW}) FOR UPDATE SKIP LOCKED"
)
_TAKE = text(
    "UPDATE project_leases SET owner_id = :owner_id, owner_url = :owner_url, fence = fence + :step,"
    f" expires_at = {_LATER}, marker = :marker WHERE project_id = :project_id RETURNING fence"
)
_RENEW = text(
    f"UPDATE project_leases SET expires_at = {_LATER} WHERE owner_id = :owner_id RETURNING project_id, fence"
)
_RELEASE = text("UPDATE project_leases SET owner_id = '', expires_at = 0 WHERE owner_id = :owner_id")
_HOLD = text("SELECT project_id, fence FROM project_leases WHERE owner_id = :owner_id FOR KEY SHARE")
_ALL = text(
    "SELECT p.id, p.root, coalesce(l.owner_id, '') AS owner_id, coalesce(l.owner_url, '') AS owner_url,"
    f" coalesce(l.marker, '') AS marker, coalesce(l.expires_at, 0) <= {_NOW} AS expired"
    " FROM projects p LEFT JOIN project_leases l ON l.project_id = p.id ORDER BY p.created_at, p.id"
)
_ONE_FREE = text(
    f"SELECT owner_id = :owner_id OR expires_at <= {_NOW} FROM project_leases WHERE project_id = :project_id"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """One daemon: its id in this life, and its address for clients."""

    id: str
    url: str


@dataclass(frozen=True, slots=True)
class LeaseState:
    """A project and who has it. `owner_id` is empty when nobody does; `marker` when it never had an owner."""

    project_id: str
    root: str
    owner_id: str
    owner_url: str
    marker: str
    expired: bool


class LeaseRepository(Rows[ProjectLease]):
    model = ProjectLease

    def get(self, project_id: str) -> ProjectLease | None:
        return self._first(self.c.project_id == project_id)

    def states(self) -> list[LeaseState]:
        """Return every project with its owner."""
        return [LeaseState(*row) for row in self.connection.execute(_ALL).all()]

    def is_free(self, project_id: str, owner_id: str) -> bool:
        """Tell whether nobody but this owner holds a lease now."""
        values = {"project_id": project_id, "owner_id": owner_id}
        found = self.connection.execute(_ONE_FREE, values).scalar()
        return found is None or bool(found)

    def take(self, project_id: str, owner: Owner, marker: str) -> int | None:
        """Take a lease that nobody holds; return its fencing number. None when another daemon holds it, or
        when a commit of its last owner is under way. The owner itself gets the number that it has."""
        project_id = str(storable(project_id))
        empty = {"owner_id": "", "owner_url": "", "fence": 0, "expires_at": 0, "marker": marker}
        insert_or_keep(self.connection, self.table, {"project_id": project_id, **empty})
        found = self.connection.execute(_LOCK, {"project_id": project_id, "owner_id": owner.id}).first()
        if found is None or (found.marker and found.marker != marker):
            return None
        values: dict[str, Any] = {"project_id": project_id, "marker": marker}
        values |= {"owner_id": owner.id, "owner_url": owner.url, "step": int(found.owner_id != owner.id)}
        return int(self.connection.execute(_TAKE, values).scalar_one())

    def renew(self, owner_id: str) -> Mapping[str, int]:
        """Extend every lease of an owner; return their fencing numbers."""
        return {row.project_id: row.fence for row in self.connection.execute(_RENEW, {"owner_id": owner_id})}

    def release(self, owner_id: str) -> None:
        """Give every lease of an owner up."""
        self.connection.execute(_RELEASE, {"owner_id": owner_id})

    def hold(self, owner_id: str) -> Mapping[str, int]:
        """Return the fencing numbers of an owner's leases. Nobody can take them during the transaction."""
        return {row.project_id: row.fence for row in self.connection.execute(_HOLD, {"owner_id": owner_id})}
