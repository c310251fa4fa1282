"""Plans that an agent proposes in plan mode, and what an operator decides about one.

Owns: the states of a plan as a table, and the check of a decision. Pure. Never: storing it, or changing the
mode (`sessions.answering`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from app.errors import Conflict, ValidationFailed
from app.harness.run.answers import PlanDecision
from app.tools.contract.modes import MODE_NAMES, PLAN, ModeName
from app.tools.dialogue.plan import MAX_PLAN

PLAN_KIND = "plan"
MAX_COMMENT = 10_000


class PlanState(StrEnum):
    """A proposed plan. `edited`: accepted with changes of the operator. A plan without a decision stays
    `proposed`. Its interaction is cancelled when the session goes on."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    EDITED = "edited"
    REJECTED = "rejected"


class PlanEvent(StrEnum):
    ACCEPT = "accept"
    EDIT = "edit"
    REJECT = "reject"


PLAN_MOVES: Mapping[tuple[PlanState, PlanEvent], PlanState] = {
    (PlanState.PROPOSED, PlanEvent.ACCEPT): PlanState.ACCEPTED,
    (PlanState.PROPOSED, PlanEvent.EDIT): PlanState.EDITED,
    (PlanState.PROPOSED, PlanEvent.REJECT): PlanState.REJECTED,
}


def move_plan(state: PlanState, event: PlanEvent) -> PlanState:
    """Return the next state; raise `Conflict` when a plan was decided before."""
    found = PLAN_MOVES.get((state, event))
    if found is None:
        raise Conflict(
            f"The plan is {state.value}: it cannot be decided again.",
            reason="invalid_transition",
            details={"state": state.value},
        )
    return found


def checked_plan(given: PlanDecision) -> dict[str, Any]:
    """Return a decision as it is stored: the new state, and the mode, the plan or the comment that belong to
    it. Raises `ValidationFailed` by field."""
    event = PlanEvent(given.decision)
    wrong = _reject(given) if event is PlanEvent.REJECT else _accept(given, edits=event is PlanEvent.EDIT)
    if wrong:
        raise ValidationFailed("The decision about the plan is not complete.", fields=wrong)
    answer = {"mode": given.mode, "plan": given.plan, "comment": given.comment}
    state = move_plan(PlanState.PROPOSED, event)
    return {"state": state.value, **{name: value for name, value in answer.items() if value is not None}}


def mode_after(answer: Mapping[str, Any]) -> ModeName | None:
    """Return the mode that a stored decision puts the session into; None when it stays in plan mode."""
    return next((name for name in MODE_NAMES if name == answer.get("mode")), None)


def _accept(given: PlanDecision, *, edits: bool) -> dict[str, str]:
    wrong = {}
    if given.mode is None or given.mode == PLAN:
        others = ", ".join(f"`{name}`" for name in MODE_NAMES if name != PLAN)
        wrong["mode"] = f"is required: the mode that the plan is carried out in, one of {others}"
    if not edits and given.plan is not None:
        wrong["plan"] = "belongs to the decision `edit`"
    if edits and not (given.plan or "").strip():
        wrong["plan"] = "is required: the plan with your changes"
    if edits and len(given.plan or "") > MAX_PLAN:
        wrong["plan"] = f"has more than {MAX_PLAN} characters"
    return wrong | _comment(given)


def _reject(given: PlanDecision) -> dict[str, str]:
    named = {"mode": given.mode, "plan": given.plan}
    wrong = {name: "does not belong to the decision `reject`" for name, value in named.items() if value}
    return wrong | _comment(given)


def _comment(given: PlanDecision) -> dict[str, str]:
    long = len(given.comment or "") > MAX_COMMENT
    return {"comment": f"has more than {MAX_COMMENT} characters"} if long else {}
