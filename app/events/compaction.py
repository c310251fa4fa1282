"""The events of compactions: begun, done, without effect, failed over, proposed, decided, flagged.

Owns: their payloads. Never: the record of a compaction (`storage.models.compactions` keeps it whole);
the frame's `agent_path` says whose context it is about.
"""

from __future__ import annotations

from typing import Literal

from app.events.payload import EventPayload


class CompactionTriggered(EventPayload):
    """A compaction begins. `threshold_estimate` are the tokens that the next request would be, what is
    reserved for the answer included."""

    TYPE = "compaction.triggered"
    compaction_id: str
    trigger: str
    strategy: str
    threshold_estimate: int
    window: int


class CompactionCompleted(EventPayload):
    """Messages were taken out of what the model is sent; they stay readable as superseded ones."""

    TYPE = "compaction.completed"
    compaction_id: str
    trigger: str
    strategy: str
    threshold_estimate: int
    after_estimate: int
    superseded_count: int
    summary_message_id: str | None
    fallback_reason: str | None
    duration_ms: float


class CompactionNoop(EventPayload):
    """Nothing could be taken away; there is no record."""

    TYPE = "compaction.noop"
    compaction_id: str
    strategy: str
    reason: str


class CompactionFailed(EventPayload):
    """A strategy failed and another one takes its place."""

    TYPE = "compaction.failed"
    compaction_id: str
    attempted_strategy: str
    fallback_strategy: str
    reason: str


class CompactionProposed(EventPayload):
    """The session waits until an operator approves, edits or rejects what is proposed."""

    TYPE = "compaction.proposed"
    compaction_id: str
    trigger: str
    strategy: str
    threshold_estimate: int
    after_estimate: int
    superseded_count: int


class CompactionDecided(EventPayload):
    """An operator has decided on a proposal."""

    TYPE = "compaction.decided"
    compaction_id: str
    decision: Literal["approved", "edited", "rejected"]
    decided_by: str


class CompactionFlagged(EventPayload):
    """An operator has judged a compaction."""

    TYPE = "compaction.flagged"
    compaction_id: str
    flag: str | None
    notes_length: int


COMPACTION_EVENTS = (
    CompactionTriggered,
    CompactionCompleted,
    CompactionNoop,
    CompactionFailed,
    CompactionProposed,
    CompactionDecided,
    CompactionFlagged,
)
