"""How often a session has called a tool, by its stored calls.

Owns: which calls count. Never: a limit; the tools have theirs.
"""

from __future__ import annotations

from app.storage.storage import Storage

_REFUSALS = (
    "permission_denied",
    "watchdog_denied",
    "capability_denied",
    "principal_scope_violation",
    "invalid_params",
    "tool_not_found",
    "tool_unavailable",
    "tool_limit_reached",
    "not_run",
)
"""The codes of calls that have done nothing."""


async def calls_made(storage: Storage, session_id: str, run_id: str | None, call_id: str) -> int:
    """Return the number of a call that runs among the calls of the same tool in its session."""
    return await storage.read(
        lambda uow: uow.tool_calls.made_up_to(session_id, run_id, call_id, refusals=_REFUSALS)
    )
