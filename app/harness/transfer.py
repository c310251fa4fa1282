"""A session as a file: JSON lines out, JSON lines in, the same bytes again.

Owns: the format (one object per line, tagged by `kind`; the header first). Never: where the
bytes go. Ids are kept, so an import into the daemon that still has the session is refused.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError
from sqlmodel import SQLModel

from app.errors import Conflict, ValidationFailed
from app.ids import is_id
from app.states import SessionState
from app.storage.models import Checkpoint, Event, Message, Run, Step, ToolCall
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from app.harness.projects import ProjectRegistry

FORMAT = 1
PAGE = 500

_KINDS: dict[str, type[SQLModel]] = {
    "run": Run,
    "step": Step,
    "message": Message,
    "tool_call": ToolCall,
    "checkpoint": Checkpoint,
}


def _line(kind: str, data: dict[str, Any]) -> bytes:
    return orjson.dumps({"kind": kind, "data": data}, option=orjson.OPT_SORT_KEYS) + b"\n"


async def export_session(storage: Storage, row: SessionRow) -> AsyncIterator[bytes]:
    """Yield the session's lines; raise `Conflict` while it runs."""
    if row.state in (SessionState.RUNNING.value, SessionState.QUEUED.value):
        raise Conflict(
            "Pause or cancel the session before you export it.",
            reason="run_in_progress",
            details={"state": row.state},
        )
    project = await storage.read(lambda uow: uow.projects.get(row.project_id))
    compiled = await storage.read(lambda uow: uow.blobs.get(row.compiled_digest or ""))
    header = {
        "format": FORMAT,
        "project": project.slug if project is not None else "",
        "session": {k: v for k, v in row.model_dump().items() if k != "project_id"},
        "compiled": base64.b64encode(compiled.content).decode() if compiled is not None else None,
    }
    yield _line("session", header)
    async for part in _pages(storage, lambda uow, cursor: uow.runs.list(row.id, limit=100, cursor=cursor)):
        for run in part:
            yield _line("run", run.model_dump())
            steps, calls = await storage.read(
                lambda uow, run=run: (uow.runs.steps(run.id), uow.tool_calls.for_run(run.id))  # type: ignore[misc]
            )
            for step in steps:
                yield _line("step", step.model_dump())
            for call in calls:
                yield _line("tool_call", call.model_dump())
    async for part in _pages(
        storage,
        lambda uow, cursor: uow.messages.page(row.id, include_superseded=True, limit=100, cursor=cursor),
    ):
        for message in part:
            yield _line("message", message.model_dump())
    async for part in _pages(
        storage, lambda uow, cursor: uow.checkpoints.list(row.id, limit=100, cursor=cursor)
    ):
        for checkpoint in part:
            yield _line("checkpoint", checkpoint.model_dump())
    async for event in _events(storage, row.id):
        yield _line(
            "event",
            {
                "seq": event.seq,
                "type": event.type,
                "created_at": event.created_at,
                "frame": event.frame.decode(),
            },
        )


async def _pages(storage: Storage, read: Callable[[UnitOfWork, str | None], Any]) -> AsyncIterator[list[Any]]:
    cursor: str | None = None
    while True:
        page = await storage.read(lambda uow, cursor=cursor: read(uow, cursor))  # type: ignore[misc]
        yield page.items
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


async def import_session(
    storage: Storage, projects: ProjectRegistry, lines: AsyncIterator[bytes], actor: str
) -> SessionRow:
    """Store an exported session in one unit; nothing is stored when any line is wrong."""
    parsed: list[tuple[int, str, dict[str, Any]]] = []
    number = 0
    async for line in _split(lines):
        number += 1
        if line.strip():
            parsed.append((number, *_parse(line, number)))
    if not parsed or parsed[0][1] != "session":
        raise _wrong(1, "the first line must be the session itself")
    header = parsed[0][2]
    session, compiled = _session(header, projects)
    rows = [_row(session.id, kind, data, at) for at, kind, data in parsed[1:]]
    if await storage.read(lambda uow: uow.sessions.get(session.id)) is not None:
        raise Conflict(
            f"Session {session.id} is here already; delete it first to import it again.",
            reason="session_exists",
            details={"session_id": session.id},
        )

    def store(uow: UnitOfWork) -> None:
        if compiled is not None and session.compiled_digest is not None:
            uow.blobs.put(session.compiled_digest, "application/json", compiled)
        uow.sessions.add(session)
        for row in rows:
            _add(uow, row)

    await storage.write(store, durable=True)
    return session


async def _split(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


def _parse(line: bytes, number: int) -> tuple[str, dict[str, Any]]:
    try:
        value = orjson.loads(line)
        return str(value["kind"]), dict(value["data"])
    except (ValueError, KeyError, TypeError):
        raise _wrong(number, 'it is not a JSON object with "kind" and "data"') from None


def _session(header: dict[str, Any], projects: ProjectRegistry) -> tuple[SessionRow, bytes | None]:
    if header.get("format") != FORMAT:
        raise _wrong(1, f"its format is {header.get('format')!r}; this daemon reads format {FORMAT}")
    project = projects.by_slug(str(header.get("project")))
    if project is None:
        raise Conflict(
            f"The session belongs to project {header.get('project')!r}, which is not loaded here.",
            reason="project_not_loaded",
            details={"project": header.get("project")},
        )
    try:
        session = SessionRow.model_validate({**header["session"], "project_id": project.id})
        compiled = header.get("compiled")
        content = base64.b64decode(compiled, validate=True) if compiled else None
    except (ValidationError, ValueError, KeyError, TypeError) as problem:
        raise _wrong(1, f"the session's fields are wrong: {problem}") from None
    if not is_id(session.id, "ses"):
        raise _wrong(1, "the session's id is not a session id")
    return session, content


def _row(session_id: str, kind: str, data: dict[str, Any], number: int) -> SQLModel:
    try:
        if kind == "event":
            frame = str(data["frame"]).encode()
            orjson.loads(frame)
            return Event.model_validate({**data, "session_id": session_id, "frame": frame})
        model = _KINDS.get(kind)
        if model is None:
            raise _wrong(number, f"kind {kind!r} is not known")
        row = model.model_validate(data)
    except (ValidationError, ValueError, KeyError, TypeError) as problem:
        raise _wrong(number, f"the {kind} is wrong: {problem}") from None
    if getattr(row, "session_id", session_id) != session_id:
        raise _wrong(number, f"the {kind} belongs to another session")
    return row


def _add(uow: UnitOfWork, row: SQLModel) -> None:
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


def _wrong(number: int, problem: str) -> ValidationFailed:
    return ValidationFailed(
        f"Line {number} of the export cannot be read: {problem}.", fields={f"lines.{number}": problem}
    )
