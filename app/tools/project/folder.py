"""The files of a directory that describe its build, read within bounds.

Owns: its names, file texts up to a size, lock files above. Never: the meaning of a file. Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from app.errors import ToolError
from app.workspace import Workspace

MAX_NAMES = 20_000
MAX_BYTES = 512 * 1024


class ProjectFolder:
    """One directory below the project's root, as the caller may read it."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        """Raises ToolError when `path` is no directory that the caller may read."""
        self._workspace = workspace
        with workspace.open(path) as opened:
            if opened.location.aside is not None or not opened.is_directory:
                raise ToolError(
                    "not_a_directory", f"{path} is not a directory of the project", detail={"path": path}
                )
            self.parts = opened.parts
            self._names = _names(opened.descriptor)
        self.notes: list[str] = []

    def first(self, names: Iterable[str]) -> str | None:
        return next((name for name in names if name in self._names), None)

    def text(self, name: str, limit: int = MAX_BYTES) -> str | None:
        """Return a file's text; None when it is missing or unreadable. A file that is too large is noted, not
        read."""
        if name not in self._names:
            return None
        try:
            with self._workspace.open(_path(*self.parts, name)) as opened:
                if opened.is_directory:
                    return None
                if opened.status.st_size > limit:
                    self.notes.append(f"{name} is larger than {limit // 1024} KB and was not looked at")
                    return None
                content = _content(opened.descriptor, limit)
        except ToolError as error:
            self.notes.append(f"{name} could not be read ({error.code})")
            return None
        return content.decode("utf-8-sig", "replace")

    def nested_text(self, folder: str, name: str) -> str | None:
        """Return the text of a file one directory below, under the same bounds."""
        if folder not in self._names:
            return None
        try:
            return ProjectFolder(self._workspace, _path(*self.parts, folder)).text(name)
        except ToolError:
            return None

    def nearest(self, names: tuple[str, ...]) -> str | None:
        """Return the first of the names here, else in the nearest directory above that has one;
        a workspace has one lock file for all its members."""
        found = self.first(names)
        parts = self.parts
        while found is None and parts:
            parts = parts[:-1]
            try:
                with self._workspace.open(_path(*parts)) as opened:
                    there = _names(opened.descriptor)
            except ToolError:
                return None
            found = next((name for name in names if name in there), None)
        return found


def _path(*parts: str) -> str:
    return "./" + "/".join(parts)


def _names(descriptor: int) -> frozenset[str]:
    names: set[str] = set()
    with os.scandir(descriptor) as entries:
        for entry in entries:
            names.add(entry.name)
            if len(names) >= MAX_NAMES:
                break
    return frozenset(names)


def _content(descriptor: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    left = limit
    while left and (chunk := os.read(descriptor, left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
