"""Errors of one calculation, and the budget of one call.

Owns: `CalculationError` and `WorkBudget`. Never: the tool's own errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProblemCode = Literal[
    "syntax_error",
    "too_long",
    "too_deep",
    "too_large",
    "too_much_work",
    "division_by_zero",
    "no_real_result",
]


class CalculationError(Exception):
    """`position` counts the expression's characters from 1; None where none is to blame."""

    def __init__(self, code: ProblemCode, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.code: ProblemCode = code
        self.message = message
        self.position = position


@dataclass(slots=True)
class WorkBudget:
    """What is left of a call's work. A unit is about a microsecond of an ordinary machine."""

    left: int

    def spend(self, units: int) -> None:
        """Take `units`. Raises CalculationError `too_much_work`, before the work is done."""
        if units > self.left:
            self.left = 0
            raise CalculationError(
                "too_much_work", "this call has computed as much as one call may; make another with fewer"
            )
        self.left -= units
