"""When clangd has said what there is to say of a file, its headers included.

Owns: the question whose answer comes after that, and what clangd cannot see of a header by itself. Never:
what was published.

A changed file is judged at once, with the headers as they were known. A thread of its own looks meanwhile
whether they have changed, reads them again, and has the file judged once more. No publication says which
of the two it is, and a file that is idle may be so before that thread has begun. But a version whose
diagnostics are wanted is never dropped: the one after it waits until the thread has taken it up. So the
third of three is judged only when the thread is done with the first, and what that has brought is published
before anything that was asked later is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

from app.bridges.lsp.connection import Connection
from app.bridges.lsp.documents import OpenDocuments, OpenText
from app.bridges.rpc.peer import ResponseError

VERSIONS = 3
QUESTION = "textDocument/documentHighlight"
"""It costs next to nothing, and is answered in its turn."""
_INVALID_AST = -32001
"""The file could not be judged at all; that was published too."""
_NOT_INCLUDED = frozenset({".c", ".C", ".cc", ".cpp", ".cxx", ".c++", ".m", ".mm", ".cu"})


async def published_all(
    client: Connection, documents: OpenDocuments, text: OpenText, *, rebuild: bool
) -> bool:
    """Return when all is published that clangd finds in the present text and its headers, and whether it
    could be asked. `rebuild`: it reads the headers in any case. Raises ResponseError."""
    if not await documents.demand(text.path, VERSIONS, rebuild=rebuild):
        return False
    start = {"line": 0, "character": 0}
    try:
        await client.request(QUESTION, {"textDocument": {"uri": text.uri}, "position": start})
    except ResponseError as refusal:
        if refusal.code != _INVALID_AST:
            raise
    return True


async def have_read(client: Connection, uris: Sequence[str], seconds: float) -> bool:
    """Wait until clangd has read open documents and knows what is named in them, for so long at most, and
    tell whether it has."""

    async def read(uri: str) -> None:
        start = {"line": 0, "character": 0}
        with suppress(ResponseError):
            await client.request(QUESTION, {"textDocument": {"uri": uri}, "position": start})

    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*map(read, uris))
    except TimeoutError:
        return False
    return True


class _Newest:
    """When any file has changed last, and when any other than that one."""

    def __init__(self) -> None:
        self._path = ""
        self._at = self._other_at = -1.0

    def changed(self, path: str, at: float) -> None:
        if path != self._path:
            self._path, self._other_at = path, self._at
        self._at = at

    def except_for(self, path: str) -> float:
        return self._other_at if path == self._path else self._at


class UnseenHeaders:
    """Which files rest on headers whose change clangd may not see.

    It knows a changed header by its size and the second of its time only, and looks at none that are
    included further down in an unchanged file. All times are monotonic seconds.
    """

    def __init__(self) -> None:
        self._files, self._headers = _Newest(), _Newest()
        self._read: dict[str, float] = {}

    def changed(self, path: str, at: float) -> None:
        """Note that a file has changed; any file can be included."""
        self._files.changed(path, at)
        if PurePath(path).suffix not in _NOT_INCLUDED:
            self._headers.changed(path, at)

    def read(self, path: str, at: float) -> None:
        """Note that clangd reads the headers of an open file as they were at that time, or later."""
        self._read[path] = at

    def closed(self, path: str) -> None:
        self._read.pop(path, None)

    def has(self, path: str, documents: OpenDocuments) -> bool:
        """Tell whether an open file may rest on a header of old."""
        since = max(self._read.get(path, -1.0), documents.opened_at(path))
        # A changed file is read whole, and headers further down with it. That a source includes another one
        # at its top, which has kept its size and its second, is too rare to have all headers read for it.
        changed = documents.changed_at(path) > since
        return (self._headers if changed else self._files).except_for(path) >= since
