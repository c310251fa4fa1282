"""Exact numbers of bounded size: their arithmetic and their text.

Owns: `Number` (a fraction, and whether it is exact), its bound, rounding for display. Never: parsing; powers
(`powers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction

from app.tools.compute.problems import CalculationError, WorkBudget

MAX_DIGITS = 4_000
"""The limit for a numerator or denominator; Python writes out integers of up to 4,300 digits."""
MAX_BITS = MAX_DIGITS * 3322 // 1000
EXACT_DIGITS = 50
ROUNDED_DIGITS = 28
KEPT_DIGITS = 60
"""What is kept of a number that is not exact, so that what is shown of it is right."""
UNIT_BITS = 700_000
"""Multiplying two numbers costs one unit for each so many products of their bits."""
WRITTEN_BITS = 15
"""Writing a number out costs one unit for each so many bits."""
_STEP_UNITS = 4


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction
    exact: bool = True

    @property
    def bits(self) -> int:
        return self.value.numerator.bit_length() + self.value.denominator.bit_length()


def too_large(position: int | None = None) -> CalculationError:
    return CalculationError(
        "too_large", f"a number would have more than {MAX_DIGITS:,} digits; that is not computed", position
    )


def combine(operator: str, left: Number, right: Number, budget: WorkBudget) -> Number:
    """Return `left operator right` for + - * / %. Raises CalculationError. The remainder has the sign of the
    divisor (-7 % 3 = 2)."""
    budget.spend(_STEP_UNITS + left.bits * right.bits // UNIT_BITS)
    if operator == "+":
        value = left.value + right.value
    elif operator == "-":
        value = left.value - right.value
    elif operator == "*":
        value = left.value * right.value
    elif not right.value:
        raise CalculationError("division_by_zero", f"division by zero: the right side of {operator} is 0")
    elif operator == "/":
        value = left.value / right.value
    else:
        value = left.value % right.value
    return bounded(value) if left.exact and right.exact else approximate(bounded(value).value)


def bounded(value: Fraction) -> Number:
    """Return the exact number. Raises CalculationError `too_large`."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise too_large()
    return Number(value)


def approximate(value: Fraction) -> Number:
    """Return the number as one that is not exact, with the digits that are kept of such."""
    return Number(Fraction(divided(value, KEPT_DIGITS)), exact=False)


def divided(value: Fraction, digits: int) -> Decimal:
    """Return the value rounded to so many significant digits, half to even."""
    return _divided(value, digits)[0]


def _divided(value: Fraction, digits: int) -> tuple[Decimal, bool]:
    """Return the rounded value, and whether nothing was lost."""
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=99_999, Emin=-99_999, traps=[])
    result = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return result, not context.flags[Inexact]


def written(number: Number, budget: WorkBudget) -> tuple[str, bool]:
    """Return the number as text, and whether it is exact. Integers have all their digits; fractions of more
    than 50 digits are rounded to 28 significant digits."""
    budget.spend(20 + number.bits // WRITTEN_BITS)
    value = number.value
    if number.exact and value.denominator == 1:
        return str(value.numerator), True
    if number.exact:
        whole, complete = _divided(value, EXACT_DIGITS)
        if complete:
            return _plain(whole, EXACT_DIGITS), True
    return _plain(divided(value, ROUNDED_DIGITS), ROUNDED_DIGITS), False


def _plain(value: Decimal, places: int) -> str:
    """Write without superfluous zeros; with an exponent where the zeros would be many."""
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    magnitude = exponent + len(kept) - 1
    minus = "-" if sign else ""
    if -8 < magnitude < places:
        return minus + format(Decimal((0, tuple(map(int, kept)), exponent)), "f")
    fraction = f".{kept[1:]}" if len(kept) > 1 else ""
    return f"{minus}{kept[0]}{fraction}e{magnitude:+d}"
