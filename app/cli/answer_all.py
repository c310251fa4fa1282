"""`kaged answer --all`: one answer for all open questions of a kind.

Owns: which open questions it means, and sending the answer to each. Never: the answer itself (`answer`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.output import CommandFailed
from app.cli.questions import interaction_path, send_answer

KINDS = ("permission", "ask", "form", "question", "plan")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which questions are meant: those of a kind, and permission requests of a tool (`*` stands for any part
    of its name). None means all."""

    kind: str | None
    tool: str | None

    def __post_init__(self) -> None:
        if self.tool is not None and self.kind not in (None, "permission"):
            raise click.UsageError("--tool goes with permission requests.")

    @property
    def is_narrow(self) -> bool:
        return self.kind is not None or self.tool is not None

    def takes(self, asked: Mapping[str, Any]) -> bool:
        if self.kind is not None and asked["kind"] != self.kind:
            return False
        if self.tool is None:
            return True
        return asked["kind"] == "permission" and fnmatchcase(str(asked["request"]["tool"]), self.tool)


async def answer_all(
    client: DaemonClient,
    asked: AsyncIterator[dict[str, Any]],
    body_of: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Send each question its answer, the oldest first; return those that it closed. A question that was
    closed meanwhile is left out. All answers are made before the first one is sent."""
    found = sorted([one async for one in asked], key=lambda one: str(one["id"]))
    answers = [(one, body_of(one)) for one in found]
    closed = []
    for one, body in answers:
        try:
            closed.append(await send_answer(client, interaction_path(one["session_id"], one["id"]), body))
        except CommandFailed as failure:
            if failure.details.get("reason") != "already_answered":
                raise
    return closed
