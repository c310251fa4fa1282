"""Working for a client as long as it is there and may ask.

Owns: noticing that it has left or lost its access. Never: what is done then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from starlette.types import Receive

from app.access.scopes import Principal
from app.access.tokens import AccessControl

T = TypeVar("T")

CONFIRM_SECONDS = 5.0


class ClientLeft(Exception):
    """The client has closed its connection, or reads nothing any more."""


async def attended(work: Coroutine[Any, Any, T], *watchers: Coroutine[Any, Any, None]) -> T:
    """Return what the work gives, or raise what a watcher raises while it goes on."""
    working = asyncio.ensure_future(work)
    watching = [asyncio.ensure_future(watcher) for watcher in watchers]
    tasks: list[asyncio.Future[Any]] = [working, *watching]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for watcher in watching:
            if watcher.done() and not working.done():
                watcher.result()
        return await working
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until_gone(receive: Receive) -> None:
    """Wait until the client closes its connection, then raise `ClientLeft`."""
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientLeft


async def until_refused(access: AccessControl, principal: Principal, secret: str | None) -> None:
    """Wait until the client's token is revoked or has expired, then raise `Unauthenticated`."""
    with access.watched(principal) as revoked:
        while True:
            await access.confirm(principal, secret)
            with suppress(TimeoutError):
                async with asyncio.timeout(CONFIRM_SECONDS):
                    await revoked.wait()
