"""The note that a session is in plan mode, said again with every model call.

Owns: its text for an agent. It is no part of the conversation, and the tools of a request stay the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.tools.contract.definition import load_description
from app.tools.contract.modes import is_planning
from app.tools.contract.rules import PermissionRule
from app.tools.dialogue.plan import NAME

_NOTE = load_description("app.tools.dialogue", "plan_mode.md")


def plan_note(rules: Sequence[PermissionRule], allowed: Collection[str]) -> str | None:
    """Return the note for an agent that may call the tools `allowed`; None outside of plan mode."""
    if not is_planning(rules):
        return None
    proposes = NAME in allowed
    end = f"Then propose a plan with {NAME}." if proposes else "Then answer with what you found."
    return f"{_NOTE} {end}"
