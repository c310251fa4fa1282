"""`Idempotency-Key`: a repeated request takes effect once and gets the first answer.

Owns: keys in use, and the answer to a repeat. Never: which operations take a key (`IDEMPOTENT`, `CLAIMED`).

Most operations take effect in one unit of work, which also stores the key with the answer
(`storage.keyed_effect`): without the row nothing has happened, and a repeat runs. The others are claimed: a
claim is stored first, so after a crash a repeat answers that the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import xxhash
from fastapi.exceptions import RequestValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from app.errors import BadRequest, Conflict, KagedError
from app.ids import now_ms
from app.storage.keyed_effect import keyed
from app.storage.models import IdempotencyKey
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
KEEP_MS = 24 * 60 * 60 * 1000
WAIT_SECONDS = 30.0

_KEY = re.compile(r"^[\x21-\x7e]{1,255}$")
_RELEASED = 0
"""The status of a claim that an older version gave up because the operation was refused."""


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
        claimed: bool = False,
    ) -> Response:
        """Return the answer of `call`, which takes effect at most once for each `(scope, key)`. It stores its
        effect with the key, or has none that could happen twice; otherwise it is `claimed` first.

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
            first = _claim if claimed else _look
            earlier = await storage.write(lambda uow: first(uow, row), durable=claimed)
            if earlier is not None:
                return _repeat(earlier, row.body_digest)
            return await (_run_claimed if claimed else _run)(storage, row, call)
        finally:
            if self._under_way.get((scope, key)) is done:
                del self._under_way[(scope, key)]
            done.set()

    async def _wait_for_twin(self, identity: tuple[str, str]) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (twin := self._under_way.get(identity)) is not None:
                    await twin.wait()
        except TimeoutError:
            raise Conflict(
                "The first request with this key is still running.", reason="in_progress"
            ) from None


async def _run(storage: Storage, row: IdempotencyKey, call: Callable[[], Awaitable[Response]]) -> Response:
    with keyed(row) as effect:
        response = await call()
    kept, stored = bytes(response.body), effect.stored
    if stored is None or (stored.status, stored.response) != (response.status_code, kept):
        with suppress(KagedError):  # what was stored with the effect is an answer, too
            await storage.write(lambda uow: _finish(uow, row, response.status_code, kept))
    return response


async def _run_claimed(
    storage: Storage, row: IdempotencyKey, call: Callable[[], Awaitable[Response]]
) -> Response:
    try:
        response = await call()
    except (KagedError, RequestValidationError, ClientDisconnect):  # refused: nothing has happened
        await storage.write(lambda uow: uow.access.release_key(row.scope, row.key))
        raise
    kept = bytes(response.body)
    await storage.write(lambda uow: _finish(uow, row, response.status_code, kept), durable=True)
    return response


def _look(uow: UnitOfWork, row: IdempotencyKey) -> IdempotencyKey | None:
    """Return the earlier row of the key; it is looked for behind all that was submitted to the writer."""
    uow.access.purge_keys(row.created_at - KEEP_MS)
    earlier = uow.access.get_key(row.scope, row.key)
    if earlier is not None and earlier.status == _RELEASED:
        uow.access.release_key(row.scope, row.key)
        return None
    return earlier


def _claim(uow: UnitOfWork, row: IdempotencyKey) -> IdempotencyKey | None:
    """Store the claim; return the earlier row when the key is taken."""
    earlier = _look(uow, row)
    if earlier is None:
        uow.access.put_key(row.model_copy())
    return earlier


def _finish(uow: UnitOfWork, row: IdempotencyKey, status: int, response: bytes | None) -> None:
    uow.access.put_key(row.model_copy(update={"status": status, "response": response}))


def _repeat(earlier: IdempotencyKey, body_digest: str) -> Response:
    if earlier.body_digest != body_digest:
        raise Conflict("This Idempotency-Key was used with another body.", reason="idempotency_key_reused")
    if earlier.status is None:
        raise Conflict(
            "The daemon stopped during the first request with this key, so its outcome is unknown. Check the "
            "outcome before you send the request with a new key.",
            reason="outcome_unknown",
        )
    return Response(
        earlier.response or b"", earlier.status, {REPLAYED_HEADER: "true"}, media_type="application/json"
    )
