"""`Idempotency-Key`: the same request sent twice happens once and is answered alike.

Owns: the claim on a key before the operation, the stored answer after it, and what a repeat is
told. Never: which operations take a key (they say so with `IDEMPOTENT`).

A claim is stored before the operation starts, so that a daemon that dies in the middle leaves a
trace: the repeat is then told that the outcome is not known instead of doing it a second time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import xxhash
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from app.errors import BadRequest, Conflict, KagedError
from app.ids import now_ms
from app.storage.models import IdempotencyKey
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
KEEP_MS = 24 * 60 * 60 * 1000
WAIT_SECONDS = 30.0

_KEY = re.compile(r"^[\x21-\x7e]{1,255}$")
_RELEASED = 0
"""The status of a claim that was given up because the operation was refused."""


class Idempotency:
    """One for each application; it knows the operations that this process is working on."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[str, str], asyncio.Event] = {}

    async def once(
        self,
        storage: Storage,
        *,
        scope: str,
        key: str,
        body: bytes,
        call: Callable[[], Awaitable[Response]],
    ) -> Response:
        """Return the answer of `call`, which runs at most once for each `(scope, key)`.

        Answers with an error are not kept: a repeat tries again. Raises `BadRequest` for a
        malformed key, `Conflict` when the key was used for another body, is still being worked
        on, or belongs to an operation whose outcome is not known."""
        if not _KEY.match(key):
            raise BadRequest(
                "An Idempotency-Key is 1 to 255 printable characters.", reason="idempotency_key_invalid"
            )
        row = IdempotencyKey(
            scope=scope, key=key, body_digest=xxhash.xxh3_128_hexdigest(body), created_at=now_ms()
        )
        await self._wait_for_twin((scope, key))
        done = asyncio.Event()
        self._under_way[(scope, key)] = done
        try:
            earlier = await storage.write(lambda uow: _claim(uow, row), durable=True)
            if earlier is not None:
                return _repeat(earlier, row.body_digest)
            return await self._run(storage, row, call)
        finally:
            if self._under_way.get((scope, key)) is done:
                del self._under_way[(scope, key)]
            done.set()

    async def _run(
        self, storage: Storage, row: IdempotencyKey, call: Callable[[], Awaitable[Response]]
    ) -> Response:
        try:
            response = await call()
        except (KagedError, RequestValidationError):  # refused: nothing has happened
            await storage.write(lambda uow: _finish(uow, row, _RELEASED, None))
            raise
        kept = bytes(response.body)
        await storage.write(lambda uow: _finish(uow, row, response.status_code, kept), durable=True)
        return response

    async def _wait_for_twin(self, identity: tuple[str, str]) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (twin := self._under_way.get(identity)) is not None:
                    await twin.wait()
        except TimeoutError:
            raise Conflict("The first request with this key is not finished.", reason="in_progress") from None


def _claim(uow: UnitOfWork, row: IdempotencyKey) -> IdempotencyKey | None:
    """Store the claim; return the earlier row when the key is taken."""
    uow.access.purge_keys(row.created_at - KEEP_MS)
    if uow.access.claim_key(row.model_copy()):
        return None
    earlier = uow.access.get_key(row.scope, row.key)
    if earlier is not None and earlier.status != _RELEASED:
        return earlier
    uow.access.put_key(row.model_copy())
    return None


def _finish(uow: UnitOfWork, row: IdempotencyKey, status: int, response: bytes | None) -> None:
    uow.access.put_key(row.model_copy(update={"status": status, "response": response}))


def _repeat(earlier: IdempotencyKey, body_digest: str) -> Response:
    if earlier.body_digest != body_digest:
        raise Conflict("This Idempotency-Key was used with another body.", reason="idempotency_key_reused")
    if earlier.status is None:
        raise Conflict(
            "The daemon stopped while it worked on the first request with this key; whether it took effect "
            "is not known. Look before you send it again with a new key.",
            reason="outcome_unknown",
        )
    return Response(
        earlier.response or b"", earlier.status, {REPLAYED_HEADER: "true"}, media_type="application/json"
    )
