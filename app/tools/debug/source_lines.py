"""Single lines of source files, for previews of where a program stands.

Owns: reading them through the one path check, and remembering the files of late. Never: files that the
caller may not read.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from app.errors import ToolError
from app.tools.project_files.text_format import text_of
from app.workspace import Workspace

MAX_BYTES = 16 * 1024 * 1024
MAX_REMEMBERED = 32 * 1024 * 1024
_Key = tuple[int, int, int, int, int]


class SourceLines:
    """Shared by all calls, and by the threads that read."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[tuple[str, ...], int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def line(self, workspace: Workspace, path: str, number: int) -> str | None:
        """Return a line, counted from 1; None where there is none to be had. Blocking."""
        try:
            lines = self._lines(workspace, path)
        except (ToolError, OSError):
            return None
        return lines[number - 1] if 1 <= number <= len(lines) else None

    def text(self, workspace: Workspace, path: str) -> str:
        """Return a whole file; nothing where there is none to be had. Blocking."""
        try:
            return "\n".join(self._lines(workspace, path))
        except (ToolError, OSError):
            return ""

    def _lines(self, workspace: Workspace, path: str) -> tuple[str, ...]:
        with workspace.open(path) as opened:
            status = opened.status
            if opened.is_directory or status.st_size > MAX_BYTES:
                return ()
            key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            with self._lock:
                known = self._known.get(key)
                if known is not None:
                    self._known.move_to_end(key)
                    return known[0]
            with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                content = file.read(MAX_BYTES)
        lines = tuple((text_of(content) or "").split("\n"))
        with self._lock:
            self._known[key] = (lines, len(content))
            self._size += len(content)
            while self._size > MAX_REMEMBERED and len(self._known) > 1:
                self._size -= self._known.popitem(last=False)[1][1]
        return lines
