"""The hook before every execution: a second opinion on arguments that the cage would allow.

Owns: the protocol of watchdogs and the meaning of their verdicts. Never: permitting what the
capability check refused; that check runs first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from app.errors import ToolError
from app.tools.call import ToolCallContext
from app.tools.definition import ToolDefinition


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ask` means that a human should decide; without one it is a denial."""

    action: Literal["allow", "deny", "ask"]
    reason: str = ""


ALLOW = Verdict("allow")


class Watchdog(Protocol):
    async def judge(
        self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext
    ) -> Verdict: ...


async def consult(
    watchdog: Watchdog | None, definition: ToolDefinition, params: BaseModel, context: ToolCallContext
) -> None:
    """Raise ToolError `watchdog_denied` unless the watchdog allows the call."""
    if watchdog is None:
        return
    verdict = await watchdog.judge(definition, params, context)
    if verdict.action == "allow":
        return
    asked = verdict.action == "ask"
    reason = verdict.reason or "no reason given"
    lead = "This call needs the operator's consent, which cannot be asked for here" if asked else "Refused"
    raise ToolError(
        "watchdog_denied", f"{lead}: {reason}", detail={"verdict": verdict.action, "reason": reason}
    )
