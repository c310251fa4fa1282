"""Events of a session itself: its state, its fields, and what operators do in it.

Owns: their payloads. Never: who emits them.
"""

from __future__ import annotations

from app.events.payload import EventPayload
from app.messages import Frozen


class SessionStateChanged(EventPayload):
    """A session has another state. With the reason `cannot_run`, `detail` says why the message that waited
    does not run; it stays, and goes with the next one."""

    TYPE = "session.state"
    GLOBAL = True
    state: str
    previous: str
    reason: str | None = None
    detail: str | None = None


class SessionCreated(EventPayload):
    """A session is stored: created, forked or imported. It comes before the session's own events, so only
    subscribers to all sessions get it."""

    TYPE = "session.created"
    DURABLE = False
    project_id: str
    title: str


class SessionUpdated(EventPayload):
    """A session has another title, works on another issue of its project (null: on none), has another
    model from its next run on (null: its agent's), or another mode from the next call on, or a person has
    seen the end of a run (`seen_run_id`)."""

    TYPE = "session.updated"
    GLOBAL = True
    title: str
    issue_number: int | None = None
    model: str | None = None
    mode: str = "ask"
    seen_run_id: str | None = None


class SessionRolledBack(EventPayload):
    """What came after `message_cursor` is no part of the conversation any more (null: all of it).
    `compactions` are those that were undone by it, because they were made later; `files` is how many
    files were restored."""

    TYPE = "session.rolled_back"
    rollback_id: str
    checkpoint_id: str | None
    message_cursor: str | None
    created_by: str
    compactions: tuple[str, ...]
    files: int = 0


class RollbackUndone(EventPayload):
    """The conversation is again as it was before the rollback."""

    TYPE = "session.rollback_undone"
    rollback_id: str
    undone_by: str


class MessageEdited(EventPayload):
    """A message that waits has another text or turn; above 64 KB only the head of the text is here."""

    TYPE = "message.edited"
    SPARSE = True
    message_id: str
    content: str
    content_ref: str | None = None


class MessageRemoved(EventPayload):
    """A message that waited was taken away; no run begins with it."""

    TYPE = "message.removed"
    message_id: str


class PromptReloaded(EventPayload):
    """The prompts of these agents have another text, which holds from the next message boundary on."""

    TYPE = "prompt.reloaded"
    agents: tuple[str, ...]


class UnusablePrompt(Frozen):
    """A prompt's file, below the project's root, and why its text cannot be used."""

    agent_path: str
    file: str
    message: str


class PromptFailed(EventPayload):
    """The files of these prompts are missing, empty or unreadable: the last good text of each stays."""

    TYPE = "prompt.failed"
    prompts: tuple[UnusablePrompt, ...]


class WorkspaceUpdated(EventPayload):
    """The folder of its own that a session works in has another state. `step` says what is done meanwhile;
    `detail` what is wrong, or worth knowing. For a subagent's workspace the frame has its `agent_path`."""

    TYPE = "workspace.updated"
    GLOBAL = True
    workspace_id: str
    state: str
    step: str | None = None
    detail: str | None = None


class AttemptChecked(EventPayload):
    """The check of an attempt began or ended. `state` is `running`, `passed`, `failed`, `stopped`, or `none`
    when the session continues and the check will run again. `problem` says why it failed."""

    TYPE = "attempt.checked"
    GLOBAL = True
    attempt_group_id: str
    state: str
    exit_code: int | None = None
    problem: str | None = None


MORE_EVENTS: tuple[type[EventPayload], ...] = (
    MessageEdited,
    MessageRemoved,
    WorkspaceUpdated,
    AttemptChecked,
    SessionCreated,
)
