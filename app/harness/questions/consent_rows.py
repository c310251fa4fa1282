"""Permission requests and their answers as rows, events and rules. Pure.

Owns: these shapes. Never: waiting, storing or publishing (`queue`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.errors import ToolError, ValidationFailed
from app.events.interactions import PermissionAnswered, PermissionRequested, WireRule
from app.events.union import INLINE_BYTES
from app.harness.run.scope import Scope
from app.ids import new_id, now_ms
from app.states import InteractionState
from app.storage.models import Interaction
from app.tools.authorisation.patterns import matches
from app.tools.contract.rules import ConsentAnswer, ConsentRequest, PermissionRule, SubjectKind


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a human said. `rule` chooses what `always` stores: the number of a suggestion, or a pattern
    of the human's own; None means every suggestion. `comment` is for the model."""

    answer: ConsentAnswer
    rule: int | str | None = None
    scope: Literal["session", "project"] = "session"
    comment: str | None = None


def permission_row(scope: Scope, call_id: str, request: ConsentRequest) -> Interaction:
    """Return the row of a new permission request; nothing of the request is cut."""
    stored = {
        "tool": request.tool,
        "permission": request.permission,
        "subjects": list(request.subjects),
        "reason": request.reason,
        "source": request.source,
        "suggestions": [shown(rule).model_dump() for rule in request.suggestions],
    }
    return interaction_row(scope, call_id, "permission", stored)


def interaction_row(scope: Scope, call_id: str, kind: str, request: dict[str, Any]) -> Interaction:
    """Return the row of what a person is asked for a call."""
    return Interaction(
        id=new_id("itx"),
        session_id=scope.session_id,
        run_id=scope.run_id or None,
        agent_path=scope.agent_path,
        tool_call_id=call_id,
        kind=kind,
        request=request,
        created_at=now_ms(),
    )


def shown(rule: PermissionRule) -> WireRule:
    """Return a rule as events and answers show it."""
    return WireRule(permission=rule.permission, pattern=rule.pattern, action=rule.action)


def requested_permission(row: Interaction, request: ConsentRequest) -> PermissionRequested:
    """Return the event of a new question; of very long subjects it has the beginning and the address."""
    subjects = within(request.subjects, INLINE_BYTES)
    whole = subjects == request.subjects
    address = f"/api/v1/sessions/{row.session_id}/interactions/{row.id}"
    return PermissionRequested(
        interaction_id=row.id,
        tool_call_id=row.tool_call_id or "",
        tool=request.tool,
        permission=request.permission,
        subjects=subjects,
        reason=request.reason,
        source=request.source,
        suggestions=tuple(shown(rule) for rule in request.suggestions) if whole else (),
        request_ref=None if whole else address,
    )


def within(subjects: Sequence[str], room: int) -> tuple[str, ...]:
    """Return the subjects from the first on, cut where `room` bytes are used up."""
    kept: list[str] = []
    for subject in subjects:
        encoded = subject.encode("utf-8", "replace")
        if len(encoded) > room:
            kept.append(encoded[:room].decode("utf-8", "ignore"))
            break
        kept.append(subject)
        room -= len(encoded)
    return tuple(kept)


def answered_event(
    row: Interaction,
    given: GivenAnswer | None = None,
    actor: str | None = None,
    rules: Sequence[PermissionRule] = (),
    covered_by: str | None = None,
    *,
    state: InteractionState = InteractionState.ANSWERED,
) -> PermissionAnswered:
    """Return the event of a closed question; without `given` it was not answered."""
    return PermissionAnswered(
        interaction_id=row.id,
        tool_call_id=row.tool_call_id or "",
        state=state.value,
        answer=given.answer if given is not None else None,
        answered_by=actor,
        comment=given.comment if given is not None else None,
        rules=tuple(shown(rule) for rule in rules) or None,
        covered_by=covered_by,
    )


def request_of(row: Interaction) -> ConsentRequest:
    """Return the request of a stored question, without what rules judge it by."""
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


def rejected(request: ConsentRequest, comment: str | None) -> ToolError:
    """Return the refusal of a call that the operator rejected, with a comment for the model if there is
    one."""
    advice = "Find another way, or tell the operator what you need and why."
    message = f"The operator refused this. {request.reason} {advice}"
    detail = {"needed": "the operator's consent", "reason": request.reason}
    if comment:
        message, detail["comment"] = f"The operator refused this, and says: {comment}", comment
    codes = {"watchdog": "watchdog_denied", "hook": "hook_denied"}
    code = codes.get(request.source, "permission_denied")
    return ToolError(code, message, detail=detail)


def rules_to_store(choice: int | str | None, request: ConsentRequest) -> tuple[PermissionRule, ...]:
    """Return what the answer `always` stores: all suggestions, one of them, or a pattern of one's own.

    Raises `ValidationFailed` when there is no such suggestion, or when the pattern stands for nothing
    of what was asked."""
    if choice is None:
        return request.suggestions
    if isinstance(choice, int):
        if not 0 <= choice < len(request.suggestions):
            count = len(request.suggestions)
            raise ValidationFailed(
                "There is no such suggestion.",
                fields={"rule": f"the question has {count} suggestion{'' if count == 1 else 's'}, from 0"},
            )
        return (request.suggestions[choice],)
    rule = PermissionRule(request.permission, choice, "allow", "session")
    kinds: tuple[SubjectKind, ...] = ("command", "path", "host")
    if not any(matches(choice, subject, kind) for subject in request.subjects for kind in kinds):
        raise ValidationFailed(
            "The pattern does not stand for what was asked.",
            fields={"rule": f"matches none of {', '.join(map(repr, request.subjects[:5]))}"},
        )
    return (rule,)
