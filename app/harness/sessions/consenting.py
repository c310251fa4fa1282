"""Consent to a call that no run waits for: what is stored of it, and the refusal.

Owns: reading a stored question as the request that it was. Pure. Never: running the call (the next run
does) or consents that a run waits for (`consent`).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import ToolError
from app.harness.questions.consent_rows import GivenAnswer, answered_event, rejected, rules_to_store
from app.harness.sessions.answering import CheckedAnswer
from app.storage.models import Interaction
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.rules import ConsentRequest, PermissionRule


def request_of(row: Interaction) -> ConsentRequest:
    """Return the request that a stored question was made of, without what rules judge it by."""
    asked = row.request
    return ConsentRequest(
        tool=asked["tool"],
        permission=asked["permission"],
        subjects=tuple(asked["subjects"]),
        reason=asked["reason"],
        source=asked["source"],
        suggestions=tuple(
            PermissionRule(one["permission"], one["pattern"], one["action"], "session")
            for one in asked["suggestions"]
        ),
    )


def rules_of(row: Interaction, given: GivenAnswer) -> tuple[PermissionRule, ...]:
    """Return the rules that an answer stores; raises `ValidationFailed` when it does not fit."""
    return rules_to_store(given.rule, request_of(row)) if given.answer == "always" else ()


def stored_consent(
    row: Interaction, given: GivenAnswer, actor: str, rules: Sequence[PermissionRule]
) -> CheckedAnswer:
    """Return the answer to be stored; a refusal is the call's result at once."""
    event = answered_event(row, given, actor, rules)
    answer = event.model_dump(include={"answer", "comment", "rules"}, exclude_none=True)
    answer |= {"scope": given.scope} if rules else {}
    envelope = ToolEnvelope.of_error(_refusal(row, given)) if given.answer == "reject" else None
    return CheckedAnswer(answer, event, envelope, lambda uow: None)


def _refusal(row: Interaction, given: GivenAnswer) -> ToolError:
    request = request_of(row)
    if given.comment:
        return rejected(request, given.comment)
    return ToolError(
        "watchdog_denied" if request.source == "watchdog" else "permission_denied",
        f"The operator refused this. {request.reason} "
        "Find another way, or tell the operator what you need and why.",
        detail={"needed": "the operator's consent", "reason": request.reason},
    )
