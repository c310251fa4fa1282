"""How one hook ended: a command of the operator or the project that runs around tool calls.

Owns: the shape. Never: running a hook.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HookDecision = Literal["continue", "ask", "deny", "sent_back", "warning", "ignored"]


@dataclass(frozen=True, slots=True)
class HookReport:
    """`decision` is what followed: `warning` for a hook that failed and changes nothing, `ignored` for one
    that would send the agent back once too often. `reason` is clean and bounded."""

    hook: str
    event: str
    source: str
    decision: HookDecision
    duration_ms: int
    exit_code: int | None = None
    timed_out: bool = False
    reason: str | None = None
    tool: str | None = None
    tool_call_id: str | None = None
