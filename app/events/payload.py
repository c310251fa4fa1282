"""What every event's payload is: its type, its channel, its reach, whether it is kept.

Owns: the base class, and where an event comes from. Never: an event (its siblings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

Channel = Literal["output", "events", "pty"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in a session an event comes from: a run, its agent, and the call that a child's run answers."""

    run_id: str | None = None
    agent_path: str | None = None
    parent_tool_call_id: str | None = None


NO_ORIGIN = Origin()


class EventPayload(BaseModel):
    """Base of all payloads: what it is called, where it goes, whether it is kept."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    TYPE: ClassVar[str]
    CHANNEL: ClassVar[Channel] = "events"
    DURABLE: ClassVar[bool] = True
    GLOBAL: ClassVar[bool] = False
    """Whether those who listen to all sessions are sent it, too."""
    SPARSE: ClassVar[bool] = False
    """Whether fields without a value are left out instead of being null."""

    def wire(self) -> dict[str, Any]:
        """Return the payload as JSON-ready values under its published names."""
        fields = self.model_dump(by_alias=True)
        return {k: v for k, v in fields.items() if v is not None} if self.SPARSE else fields
