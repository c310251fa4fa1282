"""What the files of projects declare, for clients who search it by name.

Owns: which root, what may be shown of it, and errors as clients see them. Never: the index
(`tools.search.symbol_indexes`).
"""

from __future__ import annotations

from pathlib import Path

from app.errors import ToolError
from app.harness.files.roots import WorkingRoots
from app.harness.files.service import not_searched, status_if_shown
from app.tools.search.symbol_index import SymbolQuery
from app.tools.search.symbol_indexes import SymbolIndexes, SymbolsFound
from app.workspace import Workspace


class ProjectSymbols:
    """One per daemon. `closed` are the daemon's own places, which are not shown."""

    def __init__(self, roots: WorkingRoots, indexes: SymbolIndexes, closed: tuple[Path, ...]) -> None:
        self._roots = roots
        self._indexes = indexes
        self._closed = tuple(path.resolve() for path in closed)

    async def search(
        self, project_id: str, session_id: str | None, query: SymbolQuery | None, limit: int
    ) -> SymbolsFound:
        """Return the declarations that fit best; none without a query. Raises `KagedError`."""
        root = await self._roots.root_of(project_id, session_id)
        workspace = Workspace(root, closed=self._closed, any_name=True)
        try:
            return await self._indexes.find(
                root, query, limit, lambda path: status_if_shown(workspace, root, path) is not None
            )
        except (ToolError, OSError) as problem:
            raise not_searched(problem) from None
