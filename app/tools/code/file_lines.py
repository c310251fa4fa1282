"""The lines of files that a server points to, for previews and columns.

Owns: reading them through the one path check, and remembering those that have settled. Never: files
that a server has open; those are its documents.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict

from app.bridges.lsp.manager import LineIndex
from app.errors import ToolError
from app.tools.project_files.text_format import text_of
from app.workspace import Workspace

MAX_BYTES = 16 * 1024 * 1024
MAX_REMEMBERED = 64 * 1024 * 1024
MAX_FILES = 512
SETTLED_NS = 2_000_000_000
"""A younger change might be followed by one that the file's times do not show."""
_Key = tuple[int, int, int, int, int]


class FileLines:
    """Shared by all calls, and by the threads that read."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, LineIndex] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def of(self, workspace: Workspace, path: str) -> LineIndex | None:
        """Return the lines of a file that the caller may read, None for what is no text. Blocking.

        Raises ToolError as `Workspace.open` does."""
        known = self._get(_key(workspace.status(path)))
        if known is not None:
            return known
        with workspace.open(path) as opened:
            if opened.is_directory or opened.status.st_size > MAX_BYTES:
                return None
            key = _key(opened.status)
            known = self._get(key)
            if known is not None:
                return known
            with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                content = file.read(MAX_BYTES)
            settled = _key(os.fstat(opened.descriptor)) == key
        text = text_of(content)
        if text is None:
            return None
        lines = LineIndex(text)
        lines.line(0)  # cut here, in the thread
        if settled and time.time_ns() - max(key[3], key[4]) >= SETTLED_NS:
            self._put(key, lines)
        return lines

    def _get(self, key: _Key) -> LineIndex | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def _put(self, key: _Key, lines: LineIndex) -> None:
        with self._lock:
            if key not in self._known:
                self._size += len(lines.text)
            self._known[key] = lines
            while self._size > MAX_REMEMBERED or len(self._known) > MAX_FILES:
                _, gone = self._known.popitem(last=False)
                self._size -= len(gone.text)


def lines_or_none(lines: FileLines, workspace: Workspace, path: str) -> LineIndex | None:
    """Return the lines, None also where the file may not be read or is gone. Blocking."""
    try:
        return lines.of(workspace, path)
    except (ToolError, OSError):
        return None


def _key(status: os.stat_result) -> _Key:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
