"""The events of issues: one was filed, or something about it has changed.

Owns: their payloads. Never: the change itself (`harness.issues`).
"""

from __future__ import annotations

from typing import Literal

from app.event_base import EventPayload

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


ISSUE_EVENTS: tuple[type[EventPayload], ...] = (IssueChanged,)
