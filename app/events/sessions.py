"""Events of what operators do in a session: going back, changing messages that wait, new prompt texts.

Owns: their payloads. Never: who emits them.
"""

from __future__ import annotations

from app.events.payload import EventPayload
from app.messages import Frozen


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
    """A message that waits has another text; above 64 KB only its head is here."""

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
    `detail` what is wrong, or worth knowing."""

    TYPE = "workspace.updated"
    GLOBAL = True
    workspace_id: str
    state: str
    step: str | None = None
    detail: str | None = None


MORE_EVENTS: tuple[type[EventPayload], ...] = (MessageEdited, MessageRemoved, WorkspaceUpdated)
