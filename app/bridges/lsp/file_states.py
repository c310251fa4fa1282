"""When clangd is done with a file: what it publishes first may rest on the old content of its headers.

Owns: following the states that it tells. Never: what was published.

After a change it judges the file with the headers as it knew them, publishes that, and publishes anew
once it has read headers that have changed. It says "parsing includes" between the two, and "idle" at the
end, but for moments also in between.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

QUIET_SECONDS = 0.3
"""After it has read headers and is idle: when it has not published again by then, it will not."""
MAX_FILES = 10_000


@dataclass(slots=True)
class _File:
    reading: bool
    has_read: bool
    since: float


class FileStates:
    """The files that were published and may be published again."""

    def __init__(self) -> None:
        self._open: dict[str, _File] = {}
        self._told = False

    def published(self, uri: str) -> None:
        """Note that the server has published for a file."""
        if not self._told:  # an older server that says nothing
            return
        self._open[uri] = _File(reading=False, has_read=False, since=time.monotonic())
        while len(self._open) > MAX_FILES:
            del self._open[next(iter(self._open))]

    def told(self, uri: str, state: str) -> None:
        """Note what the server says that it does with a file."""
        self._told = True
        file = self._open.get(uri)
        if file is None:
            return
        file.reading = "includes" in state
        file.has_read |= file.reading
        file.since = time.monotonic()
        if state == "idle" and not file.has_read:
            del self._open[uri]

    def forget(self, uri: str) -> None:
        self._open.pop(uri, None)

    def is_done(self, uri: str) -> bool:
        """Tell whether what was published last is what there is to say."""
        file = self._open.get(uri)
        return file is None or (not file.reading and time.monotonic() - file.since >= QUIET_SECONDS)
