"""What one model call was sent, put together again from what is stored, and proved.

Owns: reading the rows of a step and encoding them; the audit's digest proves the bytes. Never: guessing;
the answer says when a digest differs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
import xxhash

from app.errors import Gone, NotFound
from app.harness.conversation.history import History
from app.harness.conversation.pictures import without_pictures
from app.harness.conversation.view import View, is_summary
from app.harness.providers.provider import ModelRequest
from app.harness.providers.router import ProviderRouter
from app.messages import ModelMessage, SystemBlock, ToolSpec
from app.storage.models import AuditEvent, Message, Run, Step
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class SentRequest:
    """`body` is the JSON document; `verified` says that it is byte for byte the one that was sent,
    whose digest is `request_digest` (xxh3, 128 bits)."""

    provider: str
    driver: str
    model: str
    path: str
    request_digest: str
    verified: bool
    body: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is stored of one model call."""

    run: Run
    sealed: dict[str, Any]
    system: bytes
    tools: bytes
    rows: list[Message]
    view: View | None
    reminder: str | None


async def sent_request(storage: Storage, router: ProviderRouter, run_id: str, number: int) -> SentRequest:
    """Return the request of step `number` of a run (of its last attempt).

    Raises `NotFound` (no such run, step or provider), `Gone` when the audit of it was trimmed."""
    kept = await storage.read(lambda uow: _read(uow, run_id, number))
    provider = router.provider(kept.sealed["provider"])
    images = router.catalog.takes_images(provider.name, str(kept.sealed["model"]))
    request = await asyncio.to_thread(_request, kept, images)
    wire = await asyncio.to_thread(provider.encode, request)
    digest = str(kept.sealed["request_digest"])
    return SentRequest(
        provider=provider.name,
        driver=provider.driver,
        model=request.model,
        path=wire.path,
        request_digest=digest,
        verified=xxhash.xxh3_128_hexdigest(wire.body) == digest,
        body=wire.body,
    )


def _read(uow: UnitOfWork, run_id: str, number: int) -> _Kept:
    run = uow.runs.get(run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    step = next((step for step in uow.runs.steps(run_id) if step.number == number), None)
    if step is None:
        raise NotFound(f"The run has no step {number}.")
    sealed = _sealed(uow, run, step)
    first = uow.audit.list(event="agent.pre_generation", run_id=run_id, limit=1).items
    system = uow.blobs.get(sealed["system"]) if sealed is not None else None
    tools = uow.blobs.get(first[0].data["tools"]) if first else None
    if sealed is None or system is None or tools is None:
        raise Gone(
            f"What step {number} was sent is not kept: no request left, or its audit rows were trimmed.",
            reason="audit_trimmed",
        )
    last = uow.messages.get(sealed["last_message_id"] or "")
    end = last.position if last is not None and last.position is not None else 0
    kept = uow.blobs.get(sealed["view"]) if "view" in sealed else None
    last_said = uow.blobs.get(sealed["reminder"]) if "reminder" in sealed else None
    view = View.decode(kept.content) if kept is not None else None
    rows = [row for row in uow.messages.through(run.session_id, end) if _belongs(row, run)]
    rows = view.of(rows) if view is not None else [row for row in rows if not is_summary(row)]
    return _Kept(
        run=run,
        sealed=sealed,
        system=system.content,
        tools=tools.content,
        rows=rows,
        view=view,
        reminder=None if last_said is None else str(orjson.loads(last_said.content)),
    )


def _belongs(row: Message, run: Run) -> bool:
    """Tell whether a row is of the run's conversation: a child's is its own run."""
    if row.agent_path != run.agent_path:
        return False
    return run.parent_run_id is None or row.run_id == run.id


def _sealed(uow: UnitOfWork, run: Run, step: Step) -> dict[str, Any] | None:
    """Return the data of the audit row of the step's last attempt."""
    found = uow.audit.list(
        event="agent.pre_generation_step",
        run_id=run.id,
        since=step.started_at,
        until=None if step.ended_at is None else step.ended_at + 1,
        limit=_ATTEMPTS,
    )
    rows: list[AuditEvent] = [row for row in found.items if row.data.get("step") == step.number]
    return rows[0].data if rows else None


def _request(kept: _Kept, images: bool) -> ModelRequest:
    history = History(kept.rows)
    if kept.view is not None:
        history.show_as(kept.view)
    messages = _shown(history.visible, int(kept.sealed["messages"]))
    return ModelRequest(
        model=str(kept.sealed["model"]),
        system=tuple(SystemBlock.model_validate(block) for block in orjson.loads(kept.system)),
        messages=messages if images else [without_pictures(message) for message in messages],
        tools=tuple(ToolSpec.model_validate(tool) for tool in orjson.loads(kept.tools)),
        max_output_tokens=kept.sealed.get("max_output_tokens"),
        session_id=kept.run.session_id,
        reminder=kept.reminder,
    )


def _shown(messages: list[ModelMessage], count: int) -> list[ModelMessage]:
    """Return the `count` messages that the model was shown: of a conversation that was truncated by a
    daemon which did not note its view yet, its first one and the newest."""
    if count >= len(messages):
        return messages
    return [messages[0], *messages[len(messages) - count + 1 :]]
