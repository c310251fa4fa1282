"""A session's file taken in: checked line by line as it arrives, stored whole or not at all.

Owns: the way of lines from the network through a file without a name to the database, and how many imports
run at once. Never: what makes a line wrong (`transfer_lines`). Ids are kept.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.errors import Conflict, RateLimited, StorageError
from app.harness.conversation.session_rows import session_audit
from app.harness.projects.projects import ProjectRegistry
from app.harness.stream.event_hub import EventHub
from app.harness.transfer.export_reader import ExportReader, wrong
from app.harness.transfer.transfer_lines import ImportedSession, stored_values
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

AT_ONCE = 2
MEBIBYTE = 1024 * 1024
PIECE_BYTES = MEBIBYTE
"""How much is gathered before a thread checks it."""
MAX_LINE_BYTES = 64 * MEBIBYTE

UNSEALED_WARNING = (
    "This export is of an earlier version, which had no last line with a count and a digest: "
    "it cannot be checked for completeness. Compare the session with the one it was made of."
)

BATCH_ROWS = 500
BATCH_BYTES = 4 * MEBIBYTE

IMPORTED = "application/json; imported"
"""The media type of a compiled project that came with a session: carried along, never run."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A session that was taken in; `warnings` are about its file."""

    session: SessionRow
    warnings: list[str]


class SessionImports:
    """The imports of one daemon. `spool_folder` is on a disk with room for `AT_ONCE` files."""

    def __init__(
        self, storage: Storage, projects: ProjectRegistry, hub: EventHub, spool_folder: Path
    ) -> None:
        self._storage = storage
        self._hub = hub
        self._projects = projects
        self._spool_folder = spool_folder
        self._running = 0

    async def take(self, chunks: AsyncIterator[bytes], actor: str) -> Imported:
        """Store an exported session in one unit; nothing is stored when any line is wrong, or the file is
        not whole.

        Raises `ValidationFailed` (which line), `PayloadTooLarge`, `Conflict`, and `RateLimited`
        while others are imported."""
        if self._running >= AT_ONCE:
            raise RateLimited(
                f"{AT_ONCE} sessions are being imported already; try again when one is done.",
                reason="imports_running",
                details={"limit": AT_ONCE},
            )
        self._running += 1
        try:
            with await asyncio.to_thread(_open_spool, self._spool_folder) as spool:
                arriving = _Arriving(spool)
                session = await self._receive(chunks, arriving)
                found, rows = arriving.reader.found, arriving.reader.rows
                await self._storage.write(
                    lambda uow: _store(uow, session, found, spool, rows, actor), durable=True
                )
                self._hub.announce(session)
                return Imported(session, [] if found.sealed else [UNSEALED_WARNING])
        finally:
            self._running -= 1

    async def _receive(self, chunks: AsyncIterator[bytes], arriving: _Arriving) -> SessionRow:
        """Check and keep all lines; a session that cannot come here is refused by its first one."""
        session: SessionRow | None = None
        async for piece in _pieces(chunks):
            await asyncio.to_thread(arriving.feed, piece)
            if session is None and arriving.reader.header is not None:
                session = await self._placed(arriving.reader.header)
        await asyncio.to_thread(arriving.finish)
        return session or await self._placed(arriving.reader.found)

    async def _placed(self, found: ImportedSession) -> SessionRow:
        """Return the session as one of the project that it belongs to here."""
        project = self._projects.by_slug(found.project)
        if project is None:
            elsewhere = await self._storage.read(lambda uow: uow.projects.named(found.project))
            if elsewhere is not None:
                self._projects.require_here(elsewhere)
            raise Conflict(
                f"The session belongs to project {found.project!r}, which is not loaded here.",
                reason="project_not_loaded",
                details={"project": found.project},
            )
        # Of the issue it was bound to only the number is known, which is another issue's elsewhere.
        session = found.session.model_copy(update={"project_id": project.id, "issue_number": None})
        if await self._storage.read(lambda uow: uow.sessions.get(session.id)) is not None:
            raise Conflict(
                f"Session {session.id} is here already; delete it first to import it again.",
                reason="session_exists",
                details={"session_id": session.id},
            )
        return session


class _Arriving:
    """Cuts what arrives into lines, checks each, and keeps the rows. Used in threads, one at a time."""

    def __init__(self, spool: IO[bytes]) -> None:
        self.reader = ExportReader()
        self._spool = spool
        self._rest = bytearray()

    def feed(self, piece: bytes) -> None:
        first, *others = piece.split(b"\n")
        self._rest += first
        if others:
            self._take(bytes(self._rest))
            for raw in others[:-1]:
                self._take(raw)
            self._rest = bytearray(others[-1])
        if len(self._rest) > MAX_LINE_BYTES:
            raise wrong(self.reader.number + 1, f"it is longer than {MAX_LINE_BYTES} bytes")

    def finish(self) -> None:
        if self._rest:
            self._take(bytes(self._rest))
        self.reader.finish()
        with _disk_errors():
            self._spool.flush()

    def _take(self, raw: bytes) -> None:
        if self.reader.take(raw):
            with _disk_errors():
                self._spool.write(raw + b"\n")


async def _pieces(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Gather small chunks, so that a thread is worth its while."""
    gathered = bytearray()
    async for chunk in chunks:
        gathered += chunk
        if len(gathered) >= PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def _open_spool(folder: Path) -> IO[bytes]:
    with _disk_errors():
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=folder)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise StorageError(f"the import cannot be kept in the data folder: {failure.strerror}") from None


def _store(
    uow: UnitOfWork, session: SessionRow, found: ImportedSession, spool: IO[bytes], rows: int, actor: str
) -> None:
    if found.compiled is not None and session.compiled_digest is not None:
        uow.blobs.put(session.compiled_digest, IMPORTED, found.compiled)
    uow.sessions.add(session)
    insert: dict[str, Callable[[list[dict[str, Any]]], None]] = {
        "run": uow.runs.insert_many,
        "step": uow.runs.insert_steps,
        "message": uow.messages.insert_many,
        "tool_call": uow.tool_calls.insert_many,
        "checkpoint": uow.checkpoints.insert_many,
        "compaction": uow.compactions.insert_many,
        "rollback": uow.rollbacks.insert_many,
        "prompt_edit": uow.prompt_edits.insert_many,
        "todo_list": uow.todos.insert_many,
        "event": uow.events.insert_many,
    }
    for kind, batch in _batches(spool, session.id):
        insert[kind](batch)
    uow.audit.add_many([session_audit(session, "session.imported", actor, {"lines": rows + 1})])


def _batches(spool: IO[bytes], session_id: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the kept rows in their order, alike ones together, a bounded number at a time."""
    spool.seek(0)
    batch: list[dict[str, Any]] = []
    kind, size = "", 0
    for raw in spool:
        next_kind, values = stored_values(raw, session_id)
        if batch and (next_kind != kind or len(batch) >= BATCH_ROWS or size >= BATCH_BYTES):
            yield kind, batch
            batch, size = [], 0
        kind = next_kind
        batch.append(values)
        size += len(raw)
    if batch:
        yield kind, batch
