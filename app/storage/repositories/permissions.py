"""Queries about permission rules."""

from __future__ import annotations

import builtins

import xxhash
from sqlalchemy import ColumnElement, delete

from app.storage.models import PermissionRuleRow
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


def identity_of(permission: str, pattern: str) -> str:
    """Return what two rules of one scope may not have in common."""
    return xxhash.xxh3_128_hexdigest(f"{storable(permission)}\0{storable(pattern)}".encode())


class PermissionRuleRepository(RowsById[PermissionRuleRow]):
    model = PermissionRuleRow

    def list(
        self, project_id: str, session_id: str | None, *, limit: int = 25, cursor: str | None = None
    ) -> Page[PermissionRuleRow]:
        """Return a page of the rules of one scope, the newest first; the project's own without a session."""
        kind = f"permissions:{session_id or project_id}"
        return self._newest_first(kind, self._scope(project_id, session_id), limit=limit, cursor=cursor)

    def of_scope(self, project_id: str, session_id: str | None) -> builtins.list[PermissionRuleRow]:
        """Return every rule of one scope, the oldest first."""
        return self._sorted(*self._scope(project_id, session_id))

    def count(self, project_id: str, session_id: str | None) -> int:
        return self._count(self._scope(project_id, session_id))

    def find(
        self, project_id: str, session_id: str | None, permission: str, pattern: str
    ) -> PermissionRuleRow | None:
        """Return the rule of one scope for exactly this permission and pattern, if there is one."""
        return self._first(
            *self._scope(project_id, session_id),
            self.c.identity == identity_of(permission, pattern),
        )

    def delete(self, rule_id: str) -> bool:
        """Delete one rule; False when there is none."""
        return self.connection.execute(delete(self.table).where(self.c.id == storable(rule_id))).rowcount > 0

    def _scope(self, project_id: str, session_id: str | None) -> builtins.list[ColumnElement[bool]]:
        if session_id is not None:
            return [self.c.session_id == storable(session_id)]
        return [self.c.project_id == storable(project_id), self.c.session_id.is_(None)]
