"""What an agent is told about where it works: the last part of its system prompt.

Owns: the text. It changes with the day only, and within a run not at all, so that provider caches hit.
Never: anything that differs from turn to turn, as the model or the time of day.
"""

from __future__ import annotations

import platform
from datetime import date
from pathlib import Path

from app.messages import SystemBlock


def environment(root: Path, today: date) -> tuple[SystemBlock, ...]:
    """Return the part for a project's folder on a day."""
    text = (
        "<environment>\n"
        f"Date: {today.isoformat()}\n"
        f"Platform: {platform.system().lower()}\n"
        f"Project: {root.name}\n"
        f"Working directory: {root}\n"
        "</environment>"
    )
    return (SystemBlock(name="environment", text=text),)
