"""The event of a hook: a command of the operator or the project that ran in a session.

Owns: its payload. Never: running a hook.
"""

from __future__ import annotations

from typing import Literal

from app.events.payload import EventPayload


class HookEnded(EventPayload):
    """A hook has ended. `decision` is what followed: `continue`; `ask` (the operator is asked); `deny` (the
    call does not run, or the message is withheld); `sent_back` (the agent goes on); `warning` (the hook
    failed, and nothing follows); `ignored` (it would have sent the agent back a fourth time). `exit_code` is
    left out for a hook that was killed or not started."""

    TYPE = "hook.ended"
    SPARSE = True
    hook: str
    event: Literal["before_tool", "after_tool", "on_prompt", "on_stop"]
    source: Literal["config", "project"]
    decision: Literal["continue", "ask", "deny", "sent_back", "warning", "ignored"]
    duration_ms: int
    exit_code: int | None = None
    timed_out: bool | None = None
    reason: str | None = None
    tool: str | None = None
    tool_call_id: str | None = None
