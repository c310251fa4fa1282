"""Which run answers a message, and when it has ended. Without input or output.

Owns: following a message over its queue, its runs and its questions. Never: the stream.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kaged_client._generated.events import (
    Event,
    InteractionAnsweredEvent,
    InteractionRequestedEvent,
    MessageRemovedEvent,
    PermissionAnsweredEvent,
    PermissionRequestedEvent,
    ResyncEvent,
    RunEndedEvent,
    RunStartedEvent,
)
from kaged_client._generated.models import MessageAnswer, RunDetail, SessionDetail
from kaged_client.errors import MessageRemoved, RunFailed

_WAITS_FOR_ANSWER = "interaction"
_ROOT_AGENT = "primary"
_ENDED = ("succeeded", "failed", "cancelled", "interrupted")


class Next(enum.Enum):
    """What a stream does after an event."""

    GO_ON = enum.auto()
    LOOK = enum.auto()
    """Read the session: it may have ended in a way that no event tells."""
    FINISH = enum.auto()


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `text` is its last answer; `detail` has steps, tool calls, usage and cost."""

    text: str
    detail: RunDetail

    @property
    def run_id(self) -> str:
        return self.detail.id

    @property
    def state(self) -> str:
        """`succeeded`, `failed`, `cancelled` or `interrupted`."""
        return self.detail.state

    @property
    def reason(self) -> str | None:
        return self.detail.reason

    @property
    def succeeded(self) -> bool:
        return self.detail.state == "succeeded"

    @property
    def cost_usd(self) -> float | None:
        """US dollars with those of subagents; None is unknown, never free."""
        return self.detail.total_cost_usd

    def raise_unless_succeeded(self) -> RunResult:
        """Return the result. Raises `RunFailed` for a run that did not succeed."""
        if not self.succeeded:
            raise RunFailed(self.run_id, self.state, self.reason, self.detail.error)
        return self


@dataclass(slots=True)
class Progress:
    """One message on its way."""

    steers: bool
    message_id: str = ""
    run_id: str | None = None
    waiting: bool = False
    open_questions: list[str] = field(default_factory=list)

    def begun(self, answer: Mapping[str, Any]) -> bool:
        """Remember the message and the run that a posting or a resumption has begun; False for none."""
        message, run = answer.get("message"), answer.get("run")
        self.message_id = message["id"] if message else ""
        self.run_id = run["id"] if run else None
        self.steers = self.steers and bool(answer.get("queued"))
        return bool(message or run)

    def take(self, event: Event) -> Next:
        """Return what follows an event. Raises `MessageRemoved`."""
        if isinstance(event, ResyncEvent):
            return Next.LOOK
        if isinstance(event, PermissionRequestedEvent | InteractionRequestedEvent):
            self.open_questions.append(event.payload.interaction_id)
        if isinstance(event, PermissionAnsweredEvent | InteractionAnsweredEvent):
            if event.payload.interaction_id in self.open_questions:
                self.open_questions.remove(event.payload.interaction_id)
            if self.waiting and event.payload.state != "answered" and not event.of_subagent:
                return Next.LOOK
        if event.type == "unknown" or event.of_subagent:
            return Next.GO_ON
        if isinstance(event, MessageRemovedEvent) and event.payload.message_id == self.message_id:
            raise MessageRemoved(f"The message {self.message_id} was removed before it was run.")
        if isinstance(event, RunStartedEvent) and (
            self.waiting or event.payload.trigger_message_id == self.message_id
        ):
            self.run_id, self.waiting = event.payload.run_id, False
        if isinstance(event, RunEndedEvent):
            return self._ended(event)
        return Next.GO_ON

    def _ended(self, event: RunEndedEvent) -> Next:
        if event.payload.run_id != self.run_id and not self.steers:
            return Next.GO_ON
        self.run_id = event.payload.run_id
        if event.payload.reason == _WAITS_FOR_ANSWER:
            self.waiting = True  # the answer starts a run that continues the work
            return Next.GO_ON
        return Next.FINISH

    def settled(self, session: SessionDetail) -> bool:
        """Whether a session that was looked at will not go on with the message."""
        last = session.last_run
        if last is None or session.queued_messages or session.state in ("running", "queued"):
            return False
        if session.state == "paused" and (self.waiting or session.state_reason == _WAITS_FOR_ANSWER):
            return False
        if last.state not in _ENDED:
            return False
        self.run_id = last.id
        return True


def last_text(messages: Iterable[MessageAnswer]) -> str:
    """Return the last text that the model wrote."""
    text = ""
    for message in messages:
        if message.role == _ROOT_AGENT and message.content:
            text = message.content
    return text
