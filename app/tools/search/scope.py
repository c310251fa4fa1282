"""Where a search begins, and what its caller may see of what it finds.

Owns: opening the folder to search as a descriptor, the judgement of each found path by the cage,
the paths as answers show them. Never: searching.
"""

from __future__ import annotations

import asyncio
import os
import unicodedata
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from app.errors import ToolError
from app.tools.authorisation.file_policy import CallerPolicy, fs_policy
from app.tools.call import ToolCallContext
from app.tools.project_files import ProjectFiles
from app.tools.threads import to_the_end
from app.workspace import Access, Opened

Verdict = Literal["inside", "outside", "hidden"]
"""`inside`: may be read. `outside`: may be known to exist. `hidden`: is not mentioned at all."""

_INTERNALS = frozenset({".git", ".kaged"})


class View:
    """What one caller sees of the files of its project."""

    def __init__(self, context: ToolCallContext, closed: tuple[tuple[str, ...], ...]) -> None:
        self._policy: CallerPolicy | None = fs_policy(context)
        self._marks = context.cage is not None and context.cage.get("outside") != "none"
        self._closed = closed

    @property
    def filters(self) -> bool:
        return self._policy is not None or bool(self._closed)

    def verdict(self, parts: tuple[str, ...]) -> Verdict:
        """Judge a path below the project's root."""
        if any(parts[: len(closed)] == closed for closed in self._closed):
            return "hidden"
        if self._policy is None or _passes(self._policy, parts):
            return "inside"
        if not self._marks or self._policy.mode(parts) is not None or _is_internal(parts):
            return "hidden"
        return "outside"

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError unless a search may begin at `parts`: in what the caller sees, or
        above something that it sees."""
        if self._policy is None or self._policy.reaches_below(parts):
            return
        if self.verdict(parts) == "hidden":
            self._policy.check(parts, access)


class _Anything:
    """For the folder of a file that was checked itself."""

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Scope:
    """The open folder `descriptor` to search. `only` names the one file in it that is meant, or
    None for all. `real` is the folder's real path and `root` the project's."""

    descriptor: int
    only: str | None
    real: Path
    root: Path
    _parts: tuple[str, ...] | None
    _shown: str
    _view: View

    def shown(self, relative: bytes) -> str:
        """Return the path that answers show for what was found at `relative`."""
        if self.only is not None:
            return self._shown
        return self._shown + relative.decode("utf-8", "replace")

    @property
    def filters(self) -> bool:
        """Whether `verdict` can be anything but `inside`."""
        return self._parts is not None and self._view.filters

    def verdict(self, relative: bytes) -> Verdict:
        """Judge what was found at `relative`."""
        if self._parts is None:
            return "inside"
        return self._view.verdict((*self._parts, *os.fsdecode(relative).split("/")))


@asynccontextmanager
async def open_scope(files: ProjectFiles, context: ToolCallContext, path: str) -> AsyncIterator[Scope]:
    """Open the folder, or the file in its folder, that `path` names.

    Raises ToolError `invalid_path`, `file_not_found`, `capability_denied`, `permission_denied`.
    """
    with ExitStack() as held:
        opened: list[Scope] = []
        await to_the_end(lambda: _open(files, context, path, held), opened.append)
        try:
            yield opened[0]
        finally:
            await asyncio.to_thread(held.close)


def _open(files: ProjectFiles, context: ToolCallContext, path: str, held: ExitStack) -> Scope:
    workspace = files.workspace(context)
    view = View(context, workspace.closed_below())
    searchable = files.workspace(context, policy=view)
    location = searchable.locate(path)
    if not location.in_scratch:
        view.check(location.parts, "ro")  # also where nothing exists: absence is not told there
    opened = held.enter_context(searchable.open(path))
    folder, only = opened, None
    if not opened.is_directory:
        file = PurePosixPath(opened.key)
        free = files.workspace(context, policy=_Anything())
        folder, only = held.enter_context(free.open(str(file.parent))), file.name
    return Scope(
        descriptor=folder.descriptor,
        only=only,
        real=Path(folder.key),
        root=Path(os.path.realpath(context.project_root)),
        _parts=None if location.in_scratch else folder.parts,
        _shown=_prefix(opened, context),
        _view=view,
    )


def _prefix(opened: Opened, context: ToolCallContext) -> str:
    """Return how answers begin a path: as the caller named the place, from `./` or absolute."""
    location = opened.location
    base = f"{context.scratch_dir}/" if location.in_scratch else "./"
    names = "/".join(location.parts)
    return base + names + ("/" if opened.is_directory and names else "")


def _passes(policy: CallerPolicy, parts: tuple[str, ...]) -> bool:
    try:
        policy.check(parts, "ro")
    except ToolError:
        return False
    return True


def _is_internal(parts: tuple[str, ...]) -> bool:
    return any(unicodedata.normalize("NFKC", part).casefold().rstrip(". ") in _INTERNALS for part in parts)
