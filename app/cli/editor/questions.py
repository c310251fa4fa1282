"""Questions and forms of agents, shown as text and answered by the next prompt.

Owns: which question is open in an editor, and what a prompt answers. Never: what a line means (`dialogs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.cli.dialogs import Dialog, Line, NotUnderstood, dialog_of


@dataclass(slots=True)
class OpenQuestion:
    """The oldest open question of a session, and how far its dialog has come."""

    interaction_id: str
    dialog: Dialog

    def opening(self) -> str:
        return _markdown([*self.dialog.opening(), *self.dialog.prompt()])

    def take(self, typed: str) -> tuple[Mapping[str, Any] | None, str]:
        """Return the body of the answer once it is complete, and the text to show before."""
        lines = typed.strip().split("\n")
        try:
            for place, line in enumerate(lines):
                body = self.dialog.take(line)
                if body is not None:
                    return body, ""
                if place == len(lines) - 1:
                    break
        except NotUnderstood as problem:
            return None, f"{problem}."
        return None, _markdown(self.dialog.prompt()) or "Go on."

    def refused(self, message: str) -> str:
        """Start again after the daemon refused the answer; return the text to show."""
        self.dialog.restart()
        return f"{message}\n\n{self.opening()}"


def oldest(pending: Sequence[Mapping[str, Any]], before: OpenQuestion | None) -> OpenQuestion | None:
    """Return the oldest open question of a list that has the newest first; `before` is the one that was
    shown last. Permission requests are no questions."""
    found = [one for one in pending if one["kind"] != "permission"]
    if not found:
        return None
    one = found[-1]
    if before is not None and before.interaction_id == one["id"]:
        return before
    return OpenQuestion(one["id"], dialog_of(one["kind"], one["request"]))


def _markdown(lines: Sequence[Line]) -> str:
    """Return lines as Markdown that keeps their breaks."""
    return "  \n".join(line.text.strip() for line in lines)
