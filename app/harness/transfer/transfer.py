"""A session as a file of JSON lines; `transfer_import` takes it in again, to the same bytes.

Owns: which rows make up a session, and their order. Never: the format of a line
(`transfer_lines`) or where the bytes go.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from typing import Any

from app.errors import Conflict
from app.harness.sessions.open_calls import open_calls, unanswered_results
from app.harness.transfer.transfer_lines import FORMAT, line
from app.harness.transfer.transfer_seal import SEAL, Seal
from app.ids import ROOT_AGENT, now_ms
from app.states import SessionState, ToolCallState, move
from app.storage.models import Event, Message, Step, ToolCall
from app.storage.models import Session as SessionRow
from app.storage.repositories.messages import MessageFilter
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

PAGE = 500
_FOR_A_PERSON = {"budget_warnings", "budget_warned_at"}
"""What of a run is for a person here to see, and no part of the session."""


async def export_session(storage: Storage, row: SessionRow) -> AsyncIterator[bytes]:
    """Yield the session's lines, and a last one that seals them; raise `Conflict` while it runs, and at the
    end when it has changed since the first line: parts of two states are no session."""
    seal = Seal()
    async for part in _lines(storage, row):
        seal.add(part.removesuffix(b"\n"))
        yield part
    yield line(SEAL, seal.data())


async def _lines(storage: Storage, row: SessionRow) -> AsyncIterator[bytes]:  # noqa: C901
    busy = row.state in (SessionState.RUNNING.value, SessionState.QUEUED.value)
    if busy or await storage.read(lambda uow: uow.runs.under_way(row.id)):
        raise Conflict(
            "Pause or cancel the session before you export it."
            if busy
            else "A task in the background is at work: cancel it, or wait, before you export the session.",
            reason="run_in_progress",
            details={"state": row.state},
        )
    last_seq = await storage.read(lambda uow: uow.events.last_seq(row.id))
    yield line("session", await _header(storage, row))
    ended, results = await storage.read(lambda uow: _without_waiting(uow, row.id))
    async for run in _pages(storage, lambda uow, cursor: uow.runs.list(row.id, limit=100, cursor=cursor)):
        yield line("run", run.model_dump(exclude=_FOR_A_PERSON))
        for kind, part in await storage.read(lambda uow, run=run: _parts_of(uow, run.id)):  # type: ignore[misc]
            yield line(
                kind,
                ended.get(part.id, part).model_dump() if isinstance(part, ToolCall) else part.model_dump(),
            )
    for call in await storage.read(lambda uow: uow.tool_calls.direct(row.id)):
        if call.ended_at is not None:  # else an operator's own call that is not over
            yield line("tool_call", call.model_dump())
    async for message in _pages(
        storage,
        lambda uow, cursor: uow.messages.page(
            row.id, MessageFilter(include_superseded=True), limit=100, cursor=cursor
        ),
    ):
        yield line("message", message.model_dump())
    for message in results:
        yield line("message", message.model_dump())
    async for checkpoint in _pages(
        storage, lambda uow, cursor: uow.checkpoints.list(row.id, limit=100, cursor=cursor)
    ):
        yield line("checkpoint", checkpoint.model_dump())
    for compaction in await storage.read(lambda uow: uow.compactions.of_session(row.id)):
        yield line("compaction", compaction.model_dump())
    for rollback in await storage.read(lambda uow: uow.rollbacks.of_session(row.id)):
        # What it did to files stays here: so do the notes that it was done with.
        details = {name: value for name, value in rollback.details.items() if name != "files"}
        yield line("rollback", {**rollback.model_dump(), "details": details})
    for edit in await storage.read(lambda uow: uow.prompt_edits.of_session(row.id)):
        yield line("prompt_edit", edit.model_dump())
    if (todos := await storage.read(lambda uow: uow.todos.get(row.id))) is not None:
        yield line("todo_list", todos.model_dump())
    async for event in _events(storage, row.id):
        yield line("event", {**event.model_dump(exclude={"session_id"}), "frame": event.frame.decode()})
    if await storage.read(lambda uow: uow.events.last_seq(row.id)) > last_seq:
        raise Conflict("The session has changed while it was exported; export it again.", reason="changed")


def _without_waiting(uow: UnitOfWork, session_id: str) -> tuple[dict[str, ToolCall], list[Message]]:
    """Return the calls that wait for a person as they are exported, by id, with results that say so: who
    imports them has nobody to ask, and no consent is carried over."""
    waiting = open_calls(uow, session_id)
    results = unanswered_results(waiting, uow.messages.history(session_id, ROOT_AGENT))
    last = uow.messages.last_position(session_id)
    ended: dict[str, ToolCall] = {}
    for place, (one, result) in enumerate(zip(waiting, results, strict=False), last + 1):
        result.position = place
        state = move(ToolCallState(one.call.state), ToolCallState.INTERRUPTED).value
        values = {"error_code": "not_answered", "result_message_id": result.id, "ended_at": now_ms()}
        ended[one.call.id] = one.call.model_copy(update={"state": state, **values})
    return ended, results


async def _header(storage: Storage, row: SessionRow) -> dict[str, Any]:
    def read(uow: UnitOfWork) -> tuple[str, bytes | None]:
        project = uow.projects.get(row.project_id)
        compiled = uow.blobs.get(row.compiled_digest) if row.compiled_digest is not None else None
        return project.slug if project is not None else "", compiled.content if compiled is not None else None

    slug, compiled = await storage.read(read)
    return {
        "format": FORMAT,
        "project": slug,
        "session": row.model_dump(exclude={"project_id", "workspace_id", "seen_run_id"}),
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
