"""The events of workflow runs: one waits for its turn, has begun to work, has ended.

Owns: their payloads. Never: the run itself (`harness.workflows`).
"""

from __future__ import annotations

from typing import Any, Literal

from app.events.payload import EventPayload

WorkflowCause = Literal["operator", "agent", "schedule", "issue"]
WorkflowEnd = Literal["succeeded", "failed", "cancelled"]


class WorkflowQueued(EventPayload):
    """A run is stored. It has no session before its turn comes, so only subscribers to all sessions get
    this event."""

    TYPE = "workflow.queued"
    DURABLE = False
    workflow_run_id: str
    workflow: str
    project_id: str
    cause: WorkflowCause
    invoked_by: str
    issue_number: int | None = None


class WorkflowStarted(EventPayload):
    """The session of a run works for the first time."""

    TYPE = "workflow.started"
    GLOBAL = True
    workflow_run_id: str
    workflow: str
    project_id: str
    issue_number: int | None = None


class WorkflowEnded(EventPayload):
    """A run is over. `error` is `{code, message}` of one that failed."""

    TYPE = "workflow.ended"
    GLOBAL = True
    workflow_run_id: str
    workflow: str
    project_id: str
    state: WorkflowEnd
    error: dict[str, Any] | None = None
    duration_ms: int
    cost_usd: float | None = None


WORKFLOW_EVENTS: tuple[type[EventPayload], ...] = (WorkflowQueued, WorkflowStarted, WorkflowEnded)
