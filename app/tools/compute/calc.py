"""`compute.calc`: exact arithmetic, several calculations in one call.

Owns: the tool's parameters, results and bounds. Never: failing the call because of one wrong calculation.
"""

from __future__ import annotations

from functools import partial

from pydantic import Field

from app.tools.compute.numbers import Number, combine, written
from app.tools.compute.parser import parse
from app.tools.compute.powers import power
from app.tools.compute.problems import CalculationError, ProblemCode, WorkBudget
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.project_files.threads import FileThreads

MAX_CALCULATIONS = 100
MAX_AROUND = 200
MAX_ECHO = 200
CALL_WORK = 40_000


class Calculation(ToolParams):
    expression: str = Field(description="What to compute, such as `(1.5 + 2) * 0xFF ** 2`.")
    prefix: str = Field(default="", max_length=MAX_AROUND, description="Text to put before the result.")
    suffix: str = Field(default="", max_length=MAX_AROUND, description="Text to put after the result.")


class ComputeCalcParams(ToolParams):
    calculations: list[Calculation] = Field(
        min_length=1,
        max_length=MAX_CALCULATIONS,
        description="The calculations; each is answered on its own, in this order.",
    )


class CalculationProblem(ToolResult):
    code: ProblemCode
    message: str
    position: int | None = Field(
        default=None, description="The character of the expression that is to blame, from 1."
    )


class CalculationResult(ToolResult):
    expression: str = Field(description="The expression; a long one is cut.")
    result: str | None = Field(default=None, description="The number, as text: it keeps all its digits.")
    text: str | None = Field(
        default=None, description="The result between prefix and suffix, when there are any."
    )
    rounded: bool | None = Field(default=None, description="True when the result is not exact.")
    error: CalculationProblem | None = Field(default=None, description="Why there is no result.")


class ComputeCalcResult(ToolResult):
    results: list[CalculationResult]


def build(threads: FileThreads) -> ToolDefinition:
    async def run(params: ComputeCalcParams, context: ToolCallContext) -> ComputeCalcResult:
        return await threads.run(context.session_id, partial(_compute, params))

    return ToolDefinition(
        name="compute.calc",
        title="Calculate",
        description=load_description("app.tools.compute", "calc.md"),
        parameters=ComputeCalcParams,
        result=ComputeCalcResult,
        run=run,
        acp_kind="other",
        read_only=True,
    )


def _compute(params: ComputeCalcParams) -> ComputeCalcResult:
    budget = WorkBudget(CALL_WORK)
    return ComputeCalcResult(results=[_answer(one, budget) for one in params.calculations])


def _answer(calculation: Calculation, budget: WorkBudget) -> CalculationResult:
    shown = calculation.expression
    if len(shown) > MAX_ECHO:
        shown = shown[:MAX_ECHO] + "..."
    shown = shown.encode("utf-8", "replace").decode()
    try:
        text, exact = written(evaluate(calculation.expression, budget), budget)
    except CalculationError as problem:
        error = CalculationProblem(code=problem.code, message=problem.message, position=problem.position)
        return CalculationResult(expression=shown, error=error)
    framed = f"{calculation.prefix}{text}{calculation.suffix}"
    return CalculationResult(
        expression=shown,
        result=text,
        text=framed if framed != text else None,
        rounded=None if exact else True,
    )


def evaluate(expression: str, budget: WorkBudget) -> Number:
    """Return the value of `expression`. Raises CalculationError, with the position to blame."""
    stack: list[Number] = []
    for step in parse(expression, budget):
        if step.number is not None:
            stack.append(step.number)
        elif step.operator == "negative":
            stack[-1] = Number(-stack[-1].value, stack[-1].exact)
        elif step.operator != "positive":
            right, left = stack.pop(), stack.pop()
            try:
                stack.append(_apply(step.operator, left, right, budget))
            except CalculationError as problem:
                raise CalculationError(
                    problem.code, f"at character {step.position}: {problem.message}", step.position
                ) from None
    (value,) = stack
    return value


def _apply(operator: str, left: Number, right: Number, budget: WorkBudget) -> Number:
    return power(left, right, budget) if operator == "**" else combine(operator, left, right, budget)
