"""Keeps the daemon's log in the database, so that clients can read it.

Owns: the handler that takes records without waiting, and the task that stores them in batches. Never:
logging anything itself: a store that fails is counted, and must not fill the log about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from app.errors import KagedError
from app.observability import Metrics, Redactor, event_of
from app.observability.metrics import Gauge
from app.storage.storage import Storage

EVERY_SECONDS = 1.0
MAX_WAITING = 5_000
"""Records; older ones are dropped when the database does not keep up."""
MAX_BATCH = 500
MAX_FIELD_BYTES = 8 * 1024
"""The limit for one record's fields as JSON."""
MAX_NAME_CHARACTERS = 100


class LogStore(logging.Handler):
    """Takes records from any thread; `run` stores them."""

    def __init__(self, storage: Storage, redactor: Redactor) -> None:
        super().__init__()
        self.stored = 0
        self.lost = 0
        self._storage = storage
        self._redactor = redactor
        self._stopping = asyncio.Event()
        self._waiting: deque[logging.LogRecord] = deque(maxlen=MAX_WAITING)

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._waiting) == MAX_WAITING:
            self.lost += 1
        self._waiting.append(record)

    async def run(self) -> None:
        """Store what was logged, once a second, until `stop`; then the rest."""
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._stopping.wait()
            await self.store_waiting()

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._stopping.set()

    async def store_waiting(self) -> None:
        """Store everything that waits; what cannot be stored is lost, and counted."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
            try:
                rows = await asyncio.to_thread(self._rows, batch)
                await self._storage.write(lambda uow, rows=rows: uow.logs.append(rows))  # type: ignore[misc]
            except KagedError:
                self.lost += len(batch)
                return
            self.stored += len(rows)

    def _rows(self, batch: Sequence[logging.LogRecord]) -> list[dict[str, Any]]:
        rows = []
        for record in batch:
            try:
                rows.append(self._row(record))
            except Exception:  # noqa: BLE001 - one strange record must not take the others with it
                self.lost += 1
        return rows

    def _row(self, record: logging.LogRecord) -> dict[str, Any]:
        event, fields = event_of(record)
        fields.pop("logger", None)
        session_id, run_id = fields.pop("session_id", None), fields.pop("run_id", None)
        return {
            "created_at": int(record.created * 1000),
            "severity": record.levelno,
            "logger": record.name[:MAX_NAME_CHARACTERS],
            "event": self._redactor.text(str(event))[:MAX_NAME_CHARACTERS],
            "session_id": None if session_id is None else str(session_id)[:MAX_NAME_CHARACTERS],
            "run_id": None if run_id is None else str(run_id)[:MAX_NAME_CHARACTERS],
            "fields": _bounded(self._redactor.data(fields)),
        }


def _bounded(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields as JSON can hold them; of one that is too large its beginning."""
    shown: dict[str, Any] = {}
    room = MAX_FIELD_BYTES
    for name, value in fields.items():
        try:
            encoded = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
        except TypeError:  # a lone surrogate, or an integer beyond 64 bits
            encoded = orjson.dumps(str(value).encode("utf-8", "replace").decode())
        if len(encoded) > room:
            text = value if isinstance(value, str) else encoded.decode("utf-8", "replace")
            encoded = orjson.dumps(f"{text[: max(room, 0) // 4]}…".encode("utf-8", "replace").decode())
        room -= len(encoded) + len(name)
        shown[name] = orjson.loads(encoded)
    return shown


@asynccontextmanager
async def stored_log(
    storage: Storage, redactor: Redactor, metrics: Metrics, *, level: str
) -> AsyncIterator[None]:
    """Keep what is logged at `level` or above while the block runs."""
    store = LogStore(storage, redactor)
    store.setLevel(level.upper())
    metrics.show(
        Gauge(
            "kaged_log_entries",
            "Log records by what became of them.",
            lambda: {("stored",): float(store.stored), ("lost",): float(store.lost)},
            ("outcome",),
            is_total=True,
        )
    )
    root = logging.getLogger()
    root.addHandler(store)
    storing = asyncio.create_task(store.run(), name="log store")
    try:
        yield
    finally:
        root.removeHandler(store)
        store.stop()
        await storing
