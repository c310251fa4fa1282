"""`kaged.plan`: a plan for the operator, which ends the planning of a session in plan mode.

Owns: the tool's parameters, and its result from a decision. Never: deciding, or changing the mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult, WholeText, load_description
from app.tools.contract.modes import ModeName, is_planning
from app.tools.contract.ports import HumanQuestion

NAME = "kaged.plan"
MAX_PLAN = 50_000
_NEXT = {
    "accepted": "The operator accepted the plan. Carry it out now.",
    "edited": "The operator accepted the plan with changes. Carry out `plan` as it is here.",
    "rejected": "The operator rejected the plan. Improve it, and propose it again.",
}
_HEADLESS = "Nobody can decide about a plan in this session. Give the plan as your answer, and end there."
_NOT_PLANNING = "The session is not in plan mode, so no plan is needed. Go on with the work."


class PlanParams(ToolParams):
    plan: WholeText = Field(
        min_length=1, max_length=MAX_PLAN, description="The whole plan, in Markdown: steps, files, checks."
    )


class PlanResult(ToolResult):
    state: Literal["accepted", "edited", "rejected"]
    next: str
    mode: ModeName | None = Field(default=None, description="The session's mode from now on.")
    plan: str | None = None
    comment: str | None = None


def result_of(answer: Mapping[str, Any]) -> PlanResult:
    """Return the result for a checked decision."""
    named = {name: answer.get(name) for name in ("mode", "plan", "comment")}
    return PlanResult(state=answer["state"], next=_NEXT[answer["state"]], **named)


def build() -> ToolDefinition:
    async def run(params: PlanParams, context: ToolCallContext) -> PlanResult:
        if not is_planning(context.rules):
            raise ToolError("not_in_plan_mode", _NOT_PLANNING)
        if context.headless:
            raise ToolError("nobody_to_ask", _HEADLESS)
        return result_of(await context.ports.ask(HumanQuestion("plan", params.model_dump())))

    return ToolDefinition(
        name=NAME,
        title="Propose a plan",
        description=load_description("app.tools.dialogue", "plan.md"),
        parameters=PlanParams,
        result=PlanResult,
        run=run,
        acp_kind="think",
        principal_scope="root-only",
        root_default=True,
    )
