"""What all events have in common, and events of types that this version does not know."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from kaged_client._model import Model


class BaseEvent(Model):
    """One frame of a WebSocket. `seq` rises within a session; `run_id` names the run that it belongs to."""

    durable: ClassVar[bool] = True
    """Whether the daemon stores it: a durable event arrives once, also after a lost connection."""

    seq: int
    session_id: str
    ts: datetime
    channel: str = "events"
    run_id: str | None = None
    agent_path: str | None = None
    parent_tool_call_id: str | None = None

    @property
    def of_subagent(self) -> bool:
        """Whether it reports about a subagent, not the session's root agent."""
        return self.agent_path not in (None, "primary")


class UnknownEvent(BaseEvent):
    """An event of a newer daemon. `name` is its type on the wire."""

    name: str
    payload: dict[str, Any]
    type: Literal["unknown"] = "unknown"
