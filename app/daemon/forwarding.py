"""The way to the daemon that owns a project, where several share a database.

Owns: whether a request has to go there, a command that is sent there, and giving up when the project moves.
Never: how requests are sent (`bridges/network/daemon_client`), or who owns a project (`ownership`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from app.bridges.network.daemon_client import REQUEST_ID_HEADER, DaemonClient, Headers, Outgoing, lost
from app.daemon.ownership import POLL_SECONDS, Ownership
from app.errors import Unavailable
from app.ids import new_id

if TYPE_CHECKING:
    import httpx2

COMMAND_SECONDS = 30.0
"""How long the answer to one command of a WebSocket is waited for."""


@dataclass(frozen=True, slots=True)
class OwnersAnswer:
    """What the owner answered to a command."""

    status: int
    body: bytes

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The `error` of the body: `code`, `message` and perhaps `details`; None after a success."""
        if self.status < 400:
            return None
        error: Mapping[str, Any] = orjson.loads(self.body)["error"]
        return error


class Forwarding:
    """One for each daemon."""

    def __init__(self, ownership: Ownership, client: DaemonClient) -> None:
        self._ownership, self._client = ownership, client

    async def aclose(self) -> None:
        """End what is under way."""
        await self._client.aclose()

    @property
    def unreachable(self) -> frozenset[str]:
        """The addresses of owners that could not be reached when they were needed last."""
        return frozenset(self._client.unreachable.intersection(self._ownership.others().values()))

    async def owner_of(self, project_id: str, *, may_forward: bool = True) -> str | None:
        """Return the address of the daemon that owns a project; None when this one does, or when there is no
        such project. Raises `Unavailable` (`project_elsewhere`) while no daemon serves it, and for a request
        that may not be passed on."""
        try:
            await self._ownership.check(project_id)
        except Unavailable as problem:
            url: str | None = problem.details.get("url")
            if url is None or not may_forward:
                raise
            return url
        return None

    async def command(
        self, project_id: str, method: str, path: str, body: object, credentials: Headers
    ) -> OwnersAnswer | None:
        """Send one command of a client that is connected here, and return what the owner answers; None when
        this daemon owns the project. `path` begins with `/api/v1/`; `body` becomes JSON (None: no body).

        Raises `Unavailable`: `project_elsewhere` when nothing was sent, otherwise `outcome_unknown`."""
        url = await self.owner_of(project_id)
        if url is None:
            return None
        headers = [*credentials, (REQUEST_ID_HEADER, new_id("req").encode())]
        sent = None if body is None else orjson.dumps(body)
        if sent is not None:
            headers.append((b"content-type", b"application/json"))
        outgoing = Outgoing(project_id, method, path.encode(), headers, sent)
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                return OwnersAnswer(*await self._client.whole(url, outgoing))
        except TimeoutError:
            raise lost(outgoing, url, f"none came in {COMMAND_SECONDS:.0f} s") from None

    async def until_moved(self, outgoing: Outgoing, url: str) -> None:
        """Wait until the daemon at `url` does not own the project any more, then raise `Unavailable`. A
        frozen one never answers."""
        while True:
            if self._ownership.others().get(outgoing.project_id) != url:
                raise lost(outgoing, url, "it does not own the project any more")
            await asyncio.sleep(POLL_SECONDS)

    def exchange(self, url: str, outgoing: Outgoing) -> AbstractAsyncContextManager[httpx2.Response]:
        """As `DaemonClient.exchange`."""
        return self._client.exchange(url, outgoing)
