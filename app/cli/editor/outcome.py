"""How a run's end ends the turn of an editor.

Owns: stop reasons, and the text that explains one. Never: following the run (`turn`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acp.schema import StopReason

from app.cli.editor.failures import refused

_REASONS: dict[str, StopReason] = {
    "length": "max_tokens",
    "max_steps": "max_turn_requests",
    "content_refused": "refusal",
    "cancelled": "cancelled",
}
_NOTES = {
    "length": "The answer reached the output limit. Send `continue` to go on.",
    "max_steps": "The run reached its limit of steps.",
    "stuck": "The run was stopped because it repeated itself.",
    "paused": "The run was paused elsewhere. `kaged session resume {session}` continues it.",
    "checkpoint": "The agent paused itself. `kaged session resume {session}` continues it.",
    "awaiting_compaction": "A compaction waits for a decision on kaged's page.",
    "daemon_restart": "The daemon was restarted. `kaged session resume {session}` continues the run.",
}


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Why a turn ends, and a note for the conversation."""

    stop_reason: StopReason
    note: str = ""


def end_of(payload: Mapping[str, Any], session_id: str) -> TurnEnd:
    """Return how a turn ends with its run. Raises RequestError for a run that failed."""
    state, reason = payload["state"], str(payload["reason"])
    if state == "cancelled":
        return TurnEnd("cancelled")
    error = payload.get("error") or {}
    if state == "failed":
        message = error.get("message") or f"The run failed: {reason}."
        if reason == "content_refused":
            return TurnEnd("refusal", message)
        raise refused(reason, message, {"run_id": payload["run_id"]})
    note = _NOTES.get(reason, "").format(session=session_id)
    if reason.startswith("budget_"):
        limit = reason.removeprefix("budget_")
        return TurnEnd("max_turn_requests", f"The run reached its limit of {limit}.")
    return TurnEnd(_REASONS.get(reason, "end_turn"), note)
