"""The events of what is asked of humans: a question, and what became of it.

Owns: their payloads. Never: the question itself (`storage.models.interactions` keeps it whole).
"""

from __future__ import annotations

from typing import Any, Literal

from app.events.payload import EventPayload
from app.messages import Frozen

ConsentState = Literal["answered", "cancelled", "expired"]
ConsentWord = Literal["once", "always", "reject"]


class WireRule(Frozen):
    """A permission rule as events and answers show it."""

    permission: str
    pattern: str
    action: Literal["allow", "deny", "ask"]


class PermissionRequested(EventPayload):
    """A tool call waits for consent. `subjects` are the parts that need it: of more than 64 KB only
    the beginning is here, and `request_ref` is the address of the whole question. `suggestions` are
    the rules that the answer `always` stores."""

    TYPE = "permission.requested"
    GLOBAL = True
    interaction_id: str
    tool_call_id: str
    tool: str
    permission: str
    subjects: tuple[str, ...]
    reason: str
    source: Literal["rule", "watchdog", "hook"]
    suggestions: tuple[WireRule, ...]
    request_ref: str | None = None


class PermissionAnswered(EventPayload):
    """A call does not wait any more. `state` is `answered`, `cancelled` (its run was stopped) or
    `expired` (the daemon was restarted); only the first has an `answer`. `rules` are those that the
    answer stored; `covered_by` is the interaction, rule or mode (`mode:edits`) that answered this as well."""

    TYPE = "permission.answered"
    GLOBAL = True
    SPARSE = True
    interaction_id: str
    tool_call_id: str
    state: ConsentState
    answer: ConsentWord | None = None
    answered_by: str | None = None
    comment: str | None = None
    rules: tuple[WireRule, ...] | None = None
    covered_by: str | None = None


class InteractionRequested(EventPayload):
    """A tool call asks a person something. `request` has the shape of the kind; one above 64 KB is left out
    (null), and `request_ref` is the address of the question."""

    TYPE = "interaction.requested"
    GLOBAL = True
    interaction_id: str
    tool_call_id: str
    kind: Literal["ask", "form", "question", "plan"]
    request: dict[str, Any] | None
    request_ref: str | None = None


class InteractionAnswered(EventPayload):
    """A question is not open any more. `state` is `answered`, `cancelled` (its session went on or ended
    without an answer) or `expired` (its waiter is gone); only the first has an `answer`, which stands at
    `answer_ref` when it is above 64 KB."""

    TYPE = "interaction.answered"
    GLOBAL = True
    SPARSE = True
    interaction_id: str
    tool_call_id: str
    kind: Literal["ask", "form", "question", "plan"]
    state: ConsentState
    answer: dict[str, Any] | None = None
    answer_ref: str | None = None
    answered_by: str | None = None


INTERACTION_EVENTS: tuple[type[EventPayload], ...] = (InteractionRequested, InteractionAnswered)
