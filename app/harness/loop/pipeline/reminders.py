"""When a model call ends with a reminder of what is still to be done.

Owns: asking for the reminder before each call, and leaving it out where the model has just read the list.
Never: its text (`harness.issues.reminder`), or a place in the conversation: nothing of it is kept there.
"""

from __future__ import annotations

import logging

from app.errors import KagedError
from app.harness.issues.reminder import TOOL, just_shown
from app.harness.run.run_context import RunContext

log = logging.getLogger("kaged.run")


async def due_reminder(run: RunContext) -> str | None:
    """Return what the next call of the model ends with; None for nothing. Does not raise: a call without
    its reminder is better than none."""
    if run.plan.remind is None or just_shown(run.history.visible):
        return None
    try:
        return await run.plan.remind(has_tool=f"{TOOL}.done" in run.plan.allowed_tools)
    except KagedError as problem:
        log.warning("run %s continues without its reminder: %s", run.scope.run_id, problem.message)
        return None
