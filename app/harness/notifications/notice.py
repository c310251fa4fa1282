"""One notification as it leaves the daemon: who, where, what kind, and the link.

Owns: its fields, its words, and its JSON. Never: a command's text, a file's content, or anything that answers
by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

_ASKS = {
    "permission": "asks for permission",
    "ask": "asks a question",
    "question": "asks a question",
    "form": "asks you to fill in a form",
    "plan": "proposes a plan",
}
_UNITS = {"tokens": "tokens", "usd": "cost", "seconds": "time", "steps": "steps"}


@dataclass(frozen=True, slots=True)
class Notice:
    """The content of a notification. `agent` is the path of who asks or has ended. `title` is that of the
    session, None unless the settings include it."""

    id: str
    kind: str
    session_id: str
    project_id: str
    project: str
    agent: str
    link: str
    created_at: int
    title: str | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """Return the short line above the text."""
        return f"{self.project}: {_HEADINGS[self.kind]}"

    @property
    def text(self) -> str:
        """Return one sentence about what happened."""
        of = f"“{self.title}”" if self.title else "its session"
        match self.kind:
            case "question":
                return f"{self.agent} {_ASKS.get(str(self.about.get('asks')), 'asks something')} in {of}."
            case "failure":
                return f"A run of {self.agent} failed in {of}."
            case "budget":
                unit = _UNITS.get(str(self.about.get("unit")), "budget")
                state = "is reached" if self.about.get("reached") else "is nearly reached"
                return f"The limit of {unit} {state} for {self.agent} in {of}."
            case "finish":
                return f"{self.agent} has finished in {of}."
            case _:
                return "Notifications of kaged arrive here."

    def body(self) -> bytes:
        """Return the JSON that webhooks and commands are given."""
        created = datetime.fromtimestamp(self.created_at / 1000, UTC).isoformat(timespec="milliseconds")
        asks, code = self.about.get("asks"), self.about.get("code")
        unit, reached = self.about.get("unit"), self.about.get("reached")
        return orjson.dumps(
            {
                "id": self.id,
                "kind": self.kind,
                "created_at": created.replace("+00:00", "Z"),
                "project": {"id": self.project_id, "slug": self.project},
                "session": {"id": self.session_id, "title": self.title},
                "agent": self.agent,
                "asks": asks,
                "failure": code,
                "budget": None if unit is None else {"unit": unit, "reached": reached},
                "text": self.text,
                "link": self.link,
            }
        )


_HEADINGS = {
    "question": "waits for you",
    "failure": "failed",
    "budget": "budget",
    "finish": "finished",
    "test": "test",
}


def trial_notice(page_url: str, notice_id: str, at: int) -> Notice:
    """Return the notification that `kaged notify test` sends."""
    return Notice(notice_id, "test", "", "", "kaged", "primary", f"{page_url}/", at)
