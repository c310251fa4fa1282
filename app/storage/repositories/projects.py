"""Queries about projects."""

from __future__ import annotations

from app.storage.models import Project
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


class ProjectRepository(RowsById[Project]):
    model = Project

    def by_root(self, root: str) -> Project | None:
        """Return the project of a root folder; None when it was never loaded."""
        return self._first(self.c.root == storable(root))

    def list(self, *, limit: int = 25, cursor: str | None = None) -> Page[Project]:
        """Return a page of projects, the newest first."""
        return self._newest_first("projects", (), limit=limit, cursor=cursor)
