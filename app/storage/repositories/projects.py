"""Queries about projects, and about which of them are trusted."""

from __future__ import annotations

from sqlalchemy import delete, or_

from app.storage.models import Project, ProjectTrust
from app.storage.pages import Page
from app.storage.repositories.rows import Rows, RowsById, completed, insert_or_overwrite
from app.storage.text import storable


class ProjectRepository(RowsById[Project]):
    model = Project

    def by_root(self, root: str) -> Project | None:
        """Return the project of a root folder; None when it was never loaded."""
        return self._first(self.c.root == storable(root))

    def named(self, name: str) -> str | None:
        """Return the id of the one project with this id or slug; None when there is none, or several."""
        rows = self._sorted(or_(self.c.id == storable(name), self.c.slug == storable(name)))
        return rows[0].id if len(rows) == 1 else None

    def remove(self, project_id: str) -> None:
        """Delete a project to which nothing belongs; Conflict when something does."""
        self.connection.execute(delete(self.table).where(self.c.id == storable(project_id)))

    def list(self, *, limit: int = 25, cursor: str | None = None) -> Page[Project]:
        """Return a page of projects, the newest first."""
        return self._newest_first("projects", (), limit=limit, cursor=cursor)


UPGRADED = "upgrade"
"""The author of the trust in a project that was loaded before there was trust."""


class ProjectTrustRepository(Rows[ProjectTrust]):
    model = ProjectTrust

    def of_root(self, root: str) -> ProjectTrust | None:
        """Return what is trusted of a root folder; None when nothing is."""
        return self._first(self.c.root == storable(root))

    def upgraded(self) -> list[ProjectTrust]:
        """Return the projects that are trusted because they were loaded before there was trust."""
        return self._sorted(self.c.trusted_by == UPGRADED, by=("root",))

    def put(self, row: ProjectTrust) -> None:
        """Store the trust of a root in place of the one before."""
        insert_or_overwrite(self.connection, self.table, completed(self.model, row.model_dump()))

    def move(self, root: str, to: str) -> None:
        """Give the trust of a root to another one, in place of what that had."""
        row = self.of_root(root)
        if row is not None and root != to:
            self.put(row.model_copy(update={"root": to}))
            self.remove(root)

    def remove(self, root: str) -> bool:
        """Forget that a root is trusted; tell whether it was."""
        return self.connection.execute(delete(self.table).where(self.c.root == storable(root))).rowcount > 0
