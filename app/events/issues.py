"""The events of issues: one was filed, or something about it has changed.

Owns: their payloads. Never: the change itself (`harness.issues`).
"""

from __future__ import annotations

from typing import Literal

from app.events.payload import EventPayload
from app.messages import Frozen

IssueStatus = Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
IssueChange = Literal[
    "created",
    "edited",
    "assigned",
    "commented",
    "transitioned",
    "linked",
    "unlinked",
    "attached",
    "detached",
]


class IssueChanged(EventPayload):
    """An issue is new or has changed; `status` and `assignment` are those after it. It goes to the
    sessions that are bound to the issue, and to who listens to all sessions."""

    TYPE = "issue.changed"
    issue_id: str
    number: int
    project_id: str
    status: IssueStatus
    assignment: str | None
    change: IssueChange
    actor: str


TodoChange = Literal[
    "set",
    "added",
    "started",
    "completed",
    "dropped",
    "noted",
    "reopened",
    "edited",
    "accepted",
    "rejected",
]


class WireTodo(Frozen):
    """An entry of a checklist as events show it. `accepted`: an operator has signed the criterion off."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]
    kind: Literal["step", "criterion"]
    phase: str | None
    position: int
    accepted: bool
    origin_agent: str | None


class TodoChanged(EventPayload):
    """The checklist of an issue has changed: `todos` are its entries after that, without what was
    abandoned. Above 64 KB they are left out, and `todos_ref` is the address of the list. It goes
    where `issue.changed` goes."""

    TYPE = "todo.changed"
    SPARSE = True
    issue_id: str
    number: int
    project_id: str
    change: TodoChange
    actor: str
    open: int
    total: int
    todos: tuple[WireTodo, ...] | None = None
    todos_ref: str | None = None


class TodoProposed(EventPayload):
    """A subagent's answer proposes entries for the checklist of its session's issue (`number`, null without
    one), for a person or the root agent to decide about: `GET /sessions/{id}/todo-proposals`. Accepting
    one publishes `todo.changed`."""

    TYPE = "todo.proposed"
    GLOBAL = True
    number: int | None
    project_id: str | None


class TodoRejected(EventPayload):
    """An operator has rejected a proposal for the checklist of the session's issue."""

    TYPE = "todo.rejected"
    GLOBAL = True
    number: int | None
    project_id: str | None
    proposal_id: str


ISSUE_EVENTS: tuple[type[EventPayload], ...] = (IssueChanged, TodoChanged, TodoProposed, TodoRejected)
