"""Rows and events that a session's commands make. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from app.events import CheckpointCreated, MessagePosted
from app.harness.history import History
from app.ids import new_id, now_ms
from app.messages import AssistantMessage
from app.storage.models import Checkpoint, Message
from app.storage.unit_of_work import UnitOfWork

Mode = Literal["queue", "steer", "reject"]

NUDGE = "Continue where you stopped."


def operator_message(
    session_id: str,
    content: str,
    attachments: Sequence[Mapping[str, Any]],
    model: str | None,
    mode: Mode,
    actor: str,
) -> Message:
    """Return the row of a posted message; it has no place in the history yet."""
    details: dict[str, Any] = {"createdBy": actor}
    if attachments:
        details["attachments"] = [dict(attachment) for attachment in attachments]
    if model is not None:
        details["model"] = model
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        role="operator",
        content=content,
        details=details,
        delivery="steer" if mode == "steer" else "direct",
        created_at=now_ms(),
    )


def nudge(session_id: str, history: History, actor: str) -> Message | None:
    """Return a message that asks the model to go on, or None when it will do so by itself."""
    if not isinstance(history.messages[-1], AssistantMessage):
        return None
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        role="system",
        content=NUDGE,
        details={"createdBy": actor, "kind": "continue"},
        delivery="continue",
        created_at=now_ms(),
    )


def placed_in(history: History, row: Message) -> Message:
    """Return the row with the next free position of the conversation."""
    delivery = "queued" if row.delivery == "held" else row.delivery
    return row.model_copy(update={"position": history.take_position(), "delivery": delivery})


def posted_event(row: Message, *, queued: bool) -> MessagePosted:
    return MessagePosted(
        message_id=row.id,
        role=row.role,
        content=row.content,
        delivery=row.delivery,
        queued=queued,
        created_by=str(row.details.get("createdBy", "")),
    )


def checkpoint_event(checkpoint: Checkpoint) -> CheckpointCreated:
    return CheckpointCreated(
        checkpoint_id=checkpoint.id,
        created_by=checkpoint.created_by,
        reason=checkpoint.reason,
        detail=checkpoint.detail,
        message_cursor=checkpoint.message_cursor,
    )


def put_all(rows: Sequence[Message]) -> Callable[[UnitOfWork], None]:
    def work(uow: UnitOfWork) -> None:
        for row in rows:
            uow.messages.put(row)

    return work


def hold_all(ids: Sequence[str]) -> Callable[[UnitOfWork], None]:
    def work(uow: UnitOfWork) -> None:
        for message_id in ids:
            uow.messages.update(message_id, delivery="held")

    return work


def mark_resumed(checkpoint: Checkpoint | None) -> Callable[[UnitOfWork], None]:
    def work(uow: UnitOfWork) -> None:
        if checkpoint is not None:
            uow.checkpoints.update(checkpoint.id, resumed_at=now_ms())

    return work
