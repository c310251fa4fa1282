"""A session as a file: JSON lines out, JSON lines in, the same bytes again.

Owns: which rows make up a session, and their order. Never: the format of a line
(`transfer_lines`) or where the bytes go. Ids are kept, so an import into the daemon that still
has the session is refused.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from app.errors import Conflict
from app.harness.transfer_lines import FORMAT, ImportedRow, ImportedSession, line, read_lines
from app.ids import now_ms
from app.states import SessionState
from app.storage.models import AuditEvent, Checkpoint, Event, Message, Run, Step, ToolCall
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from app.harness.projects import ProjectRegistry

PAGE = 500

IMPORTED = "application/json; imported"
"""The media type of a compiled project that came with a session: carried along, never run."""


async def export_session(storage: Storage, row: SessionRow) -> AsyncIterator[bytes]:
    """Yield the session's lines; raise `Conflict` while it runs."""
    if row.state in (SessionState.RUNNING.value, SessionState.QUEUED.value):
        raise Conflict(
            "Pause or cancel the session before you export it.",
            reason="run_in_progress",
            details={"state": row.state},
        )
    yield line("session", await _header(storage, row))
    async for run in _pages(storage, lambda uow, cursor: uow.runs.list(row.id, limit=100, cursor=cursor)):
        yield line("run", run.model_dump())
        for kind, part in await storage.read(lambda uow, run=run: _parts_of(uow, run.id)):  # type: ignore[misc]
            yield line(kind, part.model_dump())
    for call in await storage.read(lambda uow: uow.tool_calls.direct(row.id)):
        yield line("tool_call", call.model_dump())
    async for message in _pages(
        storage,
        lambda uow, cursor: uow.messages.page(row.id, include_superseded=True, limit=100, cursor=cursor),
    ):
        yield line("message", message.model_dump())
    async for checkpoint in _pages(
        storage, lambda uow, cursor: uow.checkpoints.list(row.id, limit=100, cursor=cursor)
    ):
        yield line("checkpoint", checkpoint.model_dump())
    async for event in _events(storage, row.id):
        yield line("event", {**event.model_dump(exclude={"session_id"}), "frame": event.frame.decode()})


async def import_session(
    storage: Storage, projects: ProjectRegistry, chunks: AsyncIterator[bytes], actor: str
) -> SessionRow:
    """Store an exported session in one unit; nothing is stored when any line is wrong."""
    content = bytearray()
    async for chunk in chunks:
        content += chunk
    found = await asyncio.to_thread(lambda: read_lines(bytes(content).split(b"\n")))
    project = projects.by_slug(found.project)
    if project is None:
        raise Conflict(
            f"The session belongs to project {found.project!r}, which is not loaded here.",
            reason="project_not_loaded",
            details={"project": found.project},
        )
    session = found.session.model_copy(update={"project_id": project.id})
    if await storage.read(lambda uow: uow.sessions.get(session.id)) is not None:
        raise Conflict(
            f"Session {session.id} is here already; delete it first to import it again.",
            reason="session_exists",
            details={"session_id": session.id},
        )
    await storage.write(lambda uow: _store(uow, session, found, actor), durable=True)
    return session


async def _header(storage: Storage, row: SessionRow) -> dict[str, Any]:
    def read(uow: UnitOfWork) -> tuple[str, bytes | None]:
        project = uow.projects.get(row.project_id)
        compiled = uow.blobs.get(row.compiled_digest) if row.compiled_digest is not None else None
        return project.slug if project is not None else "", compiled.content if compiled is not None else None

    slug, compiled = await storage.read(read)
    return {
        "format": FORMAT,
        "project": slug,
        "session": row.model_dump(exclude={"project_id"}),
        "compiled": base64.b64encode(compiled).decode() if compiled is not None else None,
    }


def _parts_of(uow: UnitOfWork, run_id: str) -> list[tuple[str, Step | ToolCall]]:
    steps = [("step", step) for step in uow.runs.steps(run_id)]
    return [*steps, *(("tool_call", call) for call in uow.tool_calls.for_run(run_id))]


async def _pages(storage: Storage, read: Callable[[UnitOfWork, str | None], Any]) -> AsyncIterator[Any]:
    cursor: str | None = None
    while True:
        page = await storage.read(lambda uow, cursor=cursor: read(uow, cursor))  # type: ignore[misc]
        for row in page.items:
            yield row
        cursor = page.next_cursor
        if cursor is None:
            return


async def _events(storage: Storage, session_id: str) -> AsyncIterator[Event]:
    after, last = 0, await storage.read(lambda uow: uow.events.last_seq(session_id))
    while after < last:
        rows = await storage.read(
            lambda uow, after=after: uow.events.after(session_id, after, last, PAGE)  # type: ignore[misc]
        )
        for row in rows:
            yield row
        after = rows[-1].seq if rows else last


def _store(uow: UnitOfWork, session: SessionRow, found: ImportedSession, actor: str) -> None:
    if found.compiled is not None and session.compiled_digest is not None:
        uow.blobs.put(session.compiled_digest, IMPORTED, found.compiled)
    uow.sessions.add(session)
    for row in found.rows:
        _add(uow, row)
    uow.audit.add_many(
        [
            AuditEvent(
                created_at=now_ms(),
                event="session.imported",
                actor=actor,
                project_id=session.project_id,
                session_id=session.id,
                data={"lines": len(found.rows) + 1},
            )
        ]
    )


def _add(uow: UnitOfWork, row: ImportedRow) -> None:
    match row:
        case Run():
            uow.runs.add(row)
        case Step():
            uow.runs.add_step(row)
        case Message():
            uow.messages.add(row)
        case ToolCall():
            uow.tool_calls.add(row)
        case Checkpoint():
            uow.checkpoints.add(row)
        case Event():
            uow.events.add_many([row])
