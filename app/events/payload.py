"""What every event's payload is: its type, its channel, whether it is kept.

Owns: the base class. Never: an event (its siblings).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

Channel = Literal["output", "events", "pty"]


class EventPayload(BaseModel):
    """Base of all payloads: what it is called, where it goes, whether it is kept."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    TYPE: ClassVar[str]
    CHANNEL: ClassVar[Channel] = "events"
    DURABLE: ClassVar[bool] = True
    SPARSE: ClassVar[bool] = False
    """Whether fields without a value are left out instead of being null."""

    def wire(self) -> dict[str, Any]:
        """Return the payload as JSON-ready values under its published names."""
        fields = self.model_dump(by_alias=True)
        return {k: v for k, v in fields.items() if v is not None} if self.SPARSE else fields
