"""HTTP requests to another daemon that shares the database, each sent once, with its answer as a stream.

Owns: the one client, how many requests are under way, which headers concern one connection only, and what is
said when the other daemon does not answer. Never: which daemon is meant (`daemon/ownership`), or which
requests are passed on (`api/project_owner`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.errors import Unavailable

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("kaged.daemon")

Headers = Sequence[tuple[bytes, bytes]]

FORWARDED_HEADER = b"x-kaged-forwarded"
"""Marks a request that a daemon has passed on: it is not passed on again. Its value has the two ends of the
client's connection."""
REQUEST_ID_HEADER = b"x-request-id"

MAX_FORWARDED = 256
"""How many requests are passed on at once: fewer than the connections that a daemon takes of one address."""
CONNECT_SECONDS = 3.0
REUSE_SECONDS = 2.0
"""How long an unused connection is kept: less than the 5 s after which a daemon closes it."""
RETRY_SECONDS = 2
CLOSE_SECONDS = 2.0

_OF_ONE_CONNECTION = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding"),
        *(b"upgrade", b"expect", b"proxy-authenticate", b"proxy-authorization"),
    }
)
_KEPT = frozenset({b"host", b"content-length"})
"""A client's `Connection` header cannot take these away."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to pass on. `target` is path and query below the owner's address, as they are sent."""

    project_id: str
    method: str
    target: bytes
    headers: Headers
    body: AsyncIterator[bytes] | bytes | None = None


class DaemonClient:
    """One for each daemon. `aclose` ends what is under way."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self.unreachable: set[str] = set()
        """The addresses that could not be reached when they were needed last."""

    @classmethod
    async def open(cls) -> DaemonClient:
        import httpx2  # a daemon that is alone does without it

        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=MAX_FORWARDED, keepalive_expiry=REUSE_SECONDS)
        # Loading the certificates takes tens of milliseconds: not on the loop.
        verify = await asyncio.to_thread(httpx2.create_ssl_context)
        return cls(httpx2.AsyncClient(verify=verify, trust_env=False, timeout=timeout, limits=limits))

    async def aclose(self) -> None:
        """Let what is under way end for a moment, then break it off."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._idle.wait()
        await self._client.aclose()

    @asynccontextmanager
    async def exchange(self, url: str, outgoing: Outgoing) -> AsyncIterator[httpx2.Response]:
        """Send a request to the daemon at `url`, once, and give its answer, whose body is not read yet.

        Raises `Unavailable`, and what `outgoing.body` raises."""
        if self._under_way >= MAX_FORWARDED:
            raise Unavailable(
                f"{MAX_FORWARDED} requests are with other daemons already. Retry in a second.",
                reason="too_many_forwarded",
                details={"limit": MAX_FORWARDED, "retry_after_seconds": 1},
            )
        self._under_way += 1
        self._idle.clear()
        try:
            answer = await self._send(url, outgoing)
            try:
                yield answer
            finally:
                await answer.aclose()
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def whole(self, url: str, outgoing: Outgoing) -> tuple[int, bytes]:
        """Send a request as `exchange` does; return the status and the body of the answer."""
        import httpx2

        async with self.exchange(url, outgoing) as answer:
            try:
                return answer.status_code, await answer.aread()
            except httpx2.TransportError as problem:
                raise lost(outgoing, url, problem) from problem

    async def _send(self, url: str, outgoing: Outgoing) -> httpx2.Response:
        import httpx2

        never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.InvalidURL)
        try:
            base = httpx2.URL(url)
            address = base.copy_with(raw_path=base.raw_path.rstrip(b"/") + outgoing.target)
            request = httpx2.Request(
                outgoing.method, address, headers=list(outgoing.headers), content=outgoing.body
            )
            answer = await self._client.send(request, stream=True)
        except (*never_sent, httpx2.UnsupportedProtocol) as problem:
            self._note_unreachable(url, problem)
            raise _not_sent(outgoing, f"cannot be reached: {_words(problem)}", url) from problem
        except httpx2.TransportError as problem:
            raise lost(outgoing, url, problem) from problem
        expected = dict(outgoing.headers).get(REQUEST_ID_HEADER, b"").decode("latin-1")
        if answer.headers.get("x-request-id") != expected:
            await answer.aclose()
            raise lost(outgoing, url, f"no kaged daemon answered there (status {answer.status_code})")
        self.unreachable.discard(url)
        return answer

    def _note_unreachable(self, url: str, problem: Exception) -> None:
        if url not in self.unreachable:
            log.warning(
                "the daemon at %s owns projects and cannot be reached (%s): see storage.replica_url there",
                url,
                _words(problem),
            )
        self.unreachable.add(url)


def passed_on(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request or an answer that concern more than one connection."""
    lower = [(name.lower(), value) for name, value in headers]
    dropped = _OF_ONE_CONNECTION.union(
        *(
            {one.strip().lower() for one in value.split(b",")}
            for name, value in lower
            if name == b"connection"
        )
    )
    return [(name, value) for name, value in lower if name not in dropped - _KEPT]


def _not_sent(outgoing: Outgoing, said: str, url: str) -> Unavailable:
    return Unavailable(
        f"The daemon at {url} owns the project and {said}. Nothing was done; retry in "
        f"{RETRY_SECONDS} s. If it goes on, correct storage.replica_url of that daemon.",
        reason="project_elsewhere",
        details={"project_id": outgoing.project_id, "url": url, "retry_after_seconds": RETRY_SECONDS},
    )


def lost(outgoing: Outgoing, url: str, problem: Exception | str) -> Unavailable:
    """Return the error for a request that was sent, or a part of it, and has no answer."""
    words = problem if isinstance(problem, str) else _words(problem)
    if outgoing.method in _SAFE_METHODS:
        return _not_sent(outgoing, f"has not answered: {words}", url)
    return Unavailable(
        f"The daemon at {url} owns the project; the request was sent to it and has no answer "
        f"({words}), so its outcome is unknown. Retry with the same Idempotency-Key, or check the outcome.",
        reason="outcome_unknown",
        details={"project_id": outgoing.project_id, "url": url, "retry_after_seconds": RETRY_SECONDS},
    )


def _words(problem: Exception) -> str:
    return str(problem).rstrip(".") or type(problem).__name__
