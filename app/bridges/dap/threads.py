"""The threads of a debugged program, over all its conversations.

Owns: finding one where any will do, and all of them. Never: which one an agent looks at.
"""

from __future__ import annotations

from typing import Any

from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.dap.program import Program
from app.bridges.dap.stops import whole

USUAL_THREAD = 1
"""The number that adapters which tell of no thread most often mean."""


async def first_thread(link: Link, seconds: float) -> int | None:
    """Return the adapter's id of the first thread that it reports. Raises PeerClosed."""
    try:
        body = await link.ask("threads", {}, seconds)
    except (AdapterRefusal, TimeoutError):
        return None
    threads = body.get("threads")
    for one in threads if isinstance(threads, list) else ():
        number = whole(one.get("id")) if isinstance(one, dict) else None
        if number is not None:
            return number - link.shift
    return None


async def any_thread(link: Link, seconds: float) -> int:
    """Return the session's id of a thread that is there. Raises PeerClosed."""
    known = next(iter(link.threads), None)
    if known is None:
        known = await first_thread(link, seconds)
    return (USUAL_THREAD if known is None else known) + link.shift


async def all_threads(program: Program) -> dict[str, Any]:
    """Return the threads of all links in the form of one answer. Raises as `Link.request` does."""
    threads: list[Any] = []
    for link in program.speakers() or [program.front()]:
        body = await link.request("threads", {}, program.limits.request_seconds)
        found = body.get("threads")
        threads += found if isinstance(found, list) else []
    return {"threads": threads}
