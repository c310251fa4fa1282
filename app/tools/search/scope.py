"""The place of a search, and what its caller may see of the results.

Owns: opening the folder, and paths as answers show them. Never: searching; judging a path (`view`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from app.tools.contract.call import ToolCallContext
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.threads import held_open
from app.tools.project_files.view import Verdict, View
from app.workspace import Access, Opened


class Anything:
    """The policy without limits: for the folder of a checked file, and for places that are only listed."""

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        pass

    def check_step(self, parts: tuple[str, ...]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Scope:
    """The open folder `descriptor` to search; `only` names the one file that is meant, or None for all.
    `real` is the folder's real path and `root` the project's. `_linked` identifies the daemon's own files
    that have further names."""

    descriptor: int
    only: str | None
    real: Path
    root: Path
    aside: Path | None
    _parts: tuple[str, ...]
    _shown: str
    _view: View
    _linked: frozenset[tuple[int, int]]

    def shown(self, relative: bytes) -> str:
        """Return the path that answers show for what was found at `relative`."""
        if self.only is not None:
            return self._shown
        return self._shown + relative.decode("utf-8", "replace")

    @property
    def filters(self) -> bool:
        """Whether `verdict` can be anything but `inside`."""
        return self.aside is None and (self._view.filters or bool(self._linked))

    def verdict(self, relative: bytes) -> Verdict:
        if self.aside is not None:
            return "inside"
        if self._linked and self._is_linked(relative):
            return "hidden"
        return self._view.verdict((*self._parts, *os.fsdecode(relative).split("/")))

    def _is_linked(self, relative: bytes) -> bool:
        try:
            status = os.stat(relative, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) in self._linked


@asynccontextmanager
async def open_scope(files: ProjectFiles, context: ToolCallContext, path: str) -> AsyncIterator[Scope]:
    """Open the folder, or the file in its folder, that `path` names. Raises ToolError `invalid_path`,
    `file_not_found`, `capability_denied`, `permission_denied`."""
    async with held_open(partial(_open, files, context, path)) as scope:
        yield scope


def _open(files: ProjectFiles, context: ToolCallContext, path: str, held: ExitStack) -> Scope:
    workspace = files.workspace(context)
    view = View(context, workspace.closed_below())
    searchable = files.workspace(context, policy=view)
    location = searchable.locate(path)
    if location.aside is None:
        view.check(location.parts, "ro")  # also where nothing exists: absence is not disclosed
    opened = held.enter_context(searchable.open(path))
    folder, only = opened, None
    if not opened.is_directory:
        file = PurePosixPath(opened.key)
        free = files.workspace(context, policy=Anything(), all_scratch=True)
        folder, only = held.enter_context(free.open(str(file.parent))), file.name
    return Scope(
        descriptor=folder.descriptor,
        only=only,
        real=Path(folder.key),
        root=Path(os.path.realpath(context.project_root)),
        aside=location.aside,
        _parts=folder.parts,
        _shown=_prefix(opened),
        _view=view,
        _linked=workspace.closed_with_further_names(),
    )


def _prefix(opened: Opened) -> str:
    """Return how answers begin a path: as the caller named the place, from `./` or absolute."""
    location = opened.location
    base = "./" if location.aside is None else f"{location.aside}/"
    names = "/".join(location.parts)
    return base + names + ("/" if opened.is_directory and names else "")
