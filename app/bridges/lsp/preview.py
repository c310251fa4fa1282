"""What a server would find in files if some of them had other contents, which are not written.

Owns: showing these contents, asking, and giving the documents back as they are on disk, whatever happens.
Never: keeping others out meanwhile; the server does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from app.bridges.lsp.connection import ServerEnded
from app.bridges.lsp.diagnostics import Diagnosed, Unanswered
from app.bridges.lsp.run import ServerRun
from app.bridges.rpc.peer import ResponseError
from app.errors import ToolError

AT_ONCE = 8
AT_ONCE_ASKED = 2
"""Servers that are asked file by file answer one after the other, and finish what was given up before they
answer anything else."""


async def previewed(
    run: ServerRun, contents: Mapping[str, bytes], paths: Sequence[str], seconds: float
) -> dict[str, Diagnosed]:
    """Return what the server finds in the files `paths`, without hints, of those that it answers for in time;
    all paths are relative to the root. Raises ToolError as opening does, and ServerEnded."""
    deadline = time.monotonic() + seconds
    found: dict[str, Diagnosed] = {}
    ended: list[ServerEnded] = []
    publishes = run.server.behaviour.freshness == "versioned"
    gate = asyncio.Semaphore(AT_ONCE if publishes else AT_ONCE_ASKED)

    async def look(path: str) -> None:
        async with gate:
            if ended or time.monotonic() >= deadline:
                return
            try:
                with suppress(ToolError, Unanswered, ResponseError):
                    diagnosed = await run.diagnostics.of(path, deadline, hints=False)
                    if diagnosed.fresh:
                        found[path] = diagnosed
            except ServerEnded as end:
                ended.append(end)

    async with run.documents.preview(contents), asyncio.TaskGroup() as group:
        for path in paths:
            group.create_task(look(path))
    if ended:
        raise ended[0]
    return found
