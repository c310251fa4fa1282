"""Rows and events that a session's commands make. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.errors import Conflict, RateLimited
from app.events.union import CheckpointCreated, MessagePosted, head_of, message_address
from app.harness.conversation.history import History
from app.ids import new_id, now_ms
from app.messages import NUDGE, AssistantMessage
from app.states import RunState, SessionState
from app.storage.models import AuditEvent, Checkpoint, Message, MessageDetails, Run, Session
from app.storage.unit_of_work import UnitOfWork

Mode = Literal["queue", "steer", "reject"]


@dataclass(frozen=True, slots=True)
class Again:
    """The run that is tried again, and the model that its message asks for."""

    run: Run
    model: str | None


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """What became of a posted message: run now, or queued (`run` is None)."""

    message: Message
    run: Run | None
    queued: bool


def operator_message(
    session_id: str,
    content: str,
    attachments: Sequence[Mapping[str, Any]],
    model: str | None,
    actor: str,
    request_id: str | None = None,
) -> Message:
    """Return the row of a posted message; it has no place in the history yet."""
    details: MessageDetails = {"createdBy": actor}
    if attachments:
        details["attachments"] = [dict(attachment) for attachment in attachments]
    if model is not None:
        details["model"] = model
    if request_id is not None:
        details["requestId"] = request_id
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        role="operator",
        content=content,
        details=details,
        delivery="direct",
        created_at=now_ms(),
    )


def waiting_message(row: Message, *, steer: bool) -> Message:
    """Return the row of a message that waits for its turn, or for the next boundary."""
    return row.model_copy(update={"position": None, "delivery": "steer" if steer else "queued"})


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


def daemon_message(session_id: str, agent_path: str, content: str, details: MessageDetails) -> Message:
    """Return a message of the daemon to an agent; `details` say of which kind it is."""
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        agent_path=agent_path,
        role="system",
        content=content,
        details={"createdBy": "daemon", **details},
        created_at=now_ms(),
    )


def placed_in(history: History, row: Message, run_id: str) -> Message:
    """Return the row with the next free position of the conversation, as part of a run."""
    delivery = "queued" if row.delivery == "held" else row.delivery
    values = {"position": history.take_position(), "delivery": delivery, "run_id": run_id}
    return row.model_copy(update=values)


def checkpoint_of(
    session_id: str,
    run_id: str | None,
    *,
    reason: str,
    detail: str | None,
    created_by: str,
    cursor: str | None,
) -> Checkpoint:
    """Return the row of a checkpoint at the present end of the conversation."""
    return Checkpoint(
        id=new_id("ckp"),
        session_id=session_id,
        run_id=run_id,
        created_at=now_ms(),
        created_by=created_by,
        reason=reason,
        detail=detail,
        message_cursor=cursor,
    )


def busy(state: SessionState, *, waits: bool = False) -> Conflict:
    """Return the refusal of a message that must not wait; `waits`: the session's run does."""
    running = waits or state is SessionState.RUNNING
    message = "As many sessions run as may; post with mode=queue to wait for a place."
    if running:
        how = (
            "waits for an answer. Answer" if waits and state is SessionState.PAUSED else "is active. Wait for"
        )
        message = f"A run {how} it, cancel it, or post with mode=queue or mode=steer."
    return Conflict(
        message,
        reason="run_in_progress" if running else "no_capacity",
        details={"state": state.value},
    )


def at_work(state: SessionState, command: str, *, run: bool = False) -> Conflict:
    """Return the refusal of a command that must not come between a run, or a task in the background."""
    what = "A run" if run or state is SessionState.RUNNING else "A task in the background"
    return Conflict(
        f"{what} is active; cancel it before you {command} the session.",
        reason="run_in_progress",
        details={"state": state.value},
    )


def overflow_flag(row: Session, reason: str, state: str) -> dict[str, Any]:
    """Return what becomes of the flag that says the context is too long for the model."""
    if reason == "context_overflow":
        return {"context_overflow": True}
    if state == RunState.SUCCEEDED.value and row.context_overflow:
        return {"context_overflow": False}
    return {}


def posted_event(row: Message, *, queued: bool) -> MessagePosted:
    head = head_of(row.content)
    return MessagePosted(
        message_id=row.id,
        role=row.role,
        content=row.content if head is None else head,
        content_ref=None if head is None else message_address(row.session_id, row.id),
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


def queue_full(limit: int) -> RateLimited:
    return RateLimited(
        f"{limit} messages are waiting in this session already; wait until some have run.",
        reason="queue_full",
        details={"limit": limit},
    )


def queue_heavy(max_bytes: int) -> RateLimited:
    return RateLimited(
        f"With this message more than {max_bytes} bytes would wait in this session; "
        "wait until some have run.",
        reason="queue_full",
        details={"max_bytes": max_bytes},
    )


def put_all(rows: Sequence[Message]) -> Callable[[UnitOfWork], None]:
    def statements(uow: UnitOfWork) -> None:
        for row in rows:
            uow.messages.put(row)

    return statements


def hold_all(ids: Sequence[str]) -> Callable[[UnitOfWork], None]:
    def statements(uow: UnitOfWork) -> None:
        for message_id in ids:
            uow.messages.update(message_id, delivery="held")

    return statements


def both(
    first: Callable[[UnitOfWork], None], then: Callable[[UnitOfWork], None]
) -> Callable[[UnitOfWork], None]:
    """Return the work of storing what two pieces of work store."""

    def statements(uow: UnitOfWork) -> None:
        first(uow)
        then(uow)

    return statements


def mark_resumed(checkpoint: Checkpoint | None) -> Callable[[UnitOfWork], None]:
    def statements(uow: UnitOfWork) -> None:
        if checkpoint is not None:
            uow.checkpoints.update(checkpoint.id, resumed_at=now_ms())

    return statements


def session_audit(
    row: Session,
    event: str,
    actor: str,
    data: dict[str, Any],
    *,
    run_id: str | None = None,
    agent_path: str | None = None,
) -> AuditEvent:
    """Return an audit row of what was done to a session; `data` holds no secret."""
    return AuditEvent(
        created_at=now_ms(),
        event=event,
        actor=actor,
        project_id=row.project_id,
        session_id=row.id,
        run_id=run_id,
        agent_path=agent_path,
        data=data,
    )


TITLE_LENGTH = 80


def title_from(content: str) -> str:
    """Return the first non-empty line, shortened at a word to at most 80 characters."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), "")
    if len(line) <= TITLE_LENGTH:
        return line
    head, _, _ = line[: TITLE_LENGTH - 1].rpartition(" ")
    return (head or line[: TITLE_LENGTH - 1]) + "…"
