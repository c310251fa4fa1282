"""The fourth layer: a last check of the arguments before the call runs.

Owns: the protocol of watchdogs, their verdicts, and asking a person. Never: permitting what an earlier layer
refused; the judgements (`guard`).
Keeps S4 of docs/security.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from app.errors import ToolError
from app.tools.authorisation.patterns import escaped, matches_whole
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.rules import ConsentRequest, PermissionRule

PERMISSION = "watchdog"
"""The permission of the rules that remember a human's "always" for exactly one command or path."""
CODE = "watchdog_denied"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ask` wants a person to decide; without one it is a denial. `subjects` are the commands or paths of the
    verdict, for rules of the permission `watchdog`; without any, no rule can answer."""

    action: Literal["allow", "deny", "ask"]
    reason: str = ""
    subjects: tuple[str, ...] = ()


ALLOW = Verdict("allow")


class Watchdog(Protocol):
    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        """Judge a call that has passed the cage and the rules."""


async def consult(
    watchdogs: Sequence[Watchdog], definition: ToolDefinition, params: BaseModel, context: ToolCallContext
) -> None:
    """Raise ToolError `watchdog_denied` unless every watchdog, or the human, lets the call pass."""
    asking: list[Verdict] = []
    for watchdog in watchdogs:
        verdict = await watchdog.judge(definition, params, context)
        if verdict.action == "deny":
            raise _denied("Refused", verdict)
        if verdict.action == "ask" and not _remembered(verdict, context.rules):
            asking.append(verdict)
    if not asking:
        return
    if context.headless:
        raise _denied("This needs the operator's approval, and this run cannot ask", asking[0])
    answer = await context.ports.consent(_request(definition, asking))
    if answer not in {"once", "always"}:
        raise _denied("The operator refused", asking[0])


def _remembered(verdict: Verdict, rules: Sequence[PermissionRule]) -> bool:
    """Whether the operator has allowed all of this for good. The project file cannot."""
    allowed = [
        rule.pattern
        for rule in rules
        if rule.permission == PERMISSION and rule.action == "allow" and rule.scope != "manifest"
    ]
    return bool(verdict.subjects) and all(
        any(matches_whole(pattern, subject) for pattern in allowed) for subject in verdict.subjects
    )


def _request(definition: ToolDefinition, verdicts: Sequence[Verdict]) -> ConsentRequest:
    subjects = tuple(dict.fromkeys(subject for verdict in verdicts for subject in verdict.subjects))
    lasting = all(verdict.subjects for verdict in verdicts)
    return ConsentRequest(
        tool=definition.name,
        permission=PERMISSION,
        subjects=subjects or (definition.name,),
        reason="; ".join(dict.fromkeys(verdict.reason for verdict in verdicts)),
        source="watchdog",
        suggestions=tuple(PermissionRule(PERMISSION, escaped(one), "allow", "session") for one in subjects)
        if lasting
        else (),
    )


def _denied(lead: str, verdict: Verdict) -> ToolError:
    reason = verdict.reason or "no reason given"
    return ToolError(
        CODE,
        f"{lead}: {reason}. Find another way, or leave it to the operator.",
        detail={
            "needed": "a call that the watchdog lets pass"
            if verdict.action == "deny"
            else "the operator's consent",
            "verdict": verdict.action,
            "reason": reason,
        },
    )
