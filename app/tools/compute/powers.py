"""Powers: exact where the result is a fraction of bounded size, else rounded.

Owns: the cost of a power, from bit lengths, before it is computed. Never: towers of powers (`parser`).
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction

from app.tools.compute.numbers import (
    MAX_BITS,
    MAX_DIGITS,
    UNIT_BITS,
    Number,
    approximate,
    bounded,
    divided,
    too_large,
)
from app.tools.compute.problems import CalculationError, WorkBudget

_GUARD_DIGITS = 40
_MAX_EXPONENT_DIGITS = 40
_ROOT_STEPS = 24
_DECIMAL_COST = 200


def power(base: Number, exponent: Number, budget: WorkBudget) -> Number:
    """Return `base ** exponent`. Raises CalculationError `too_large`, `division_by_zero` or
    `no_real_result`. 0 ** 0 is 1."""
    exact = base.exact and exponent.exact
    if not base.value and exponent.value < 0:
        raise CalculationError("division_by_zero", "division by zero: 0 has no negative power")
    if not exponent.value or base.value in (0, 1):
        return Number(base.value if exponent.value else Fraction(1), exact)
    if exponent.value.denominator != 1:
        return _root(base, exponent, exact, budget)
    if base.value == -1:
        return Number(Fraction(-1 if exponent.value.numerator % 2 else 1), exact)
    return _whole_power(base, exponent.value.numerator, exact, budget)


def _whole_power(base: Number, exponent: int, exact: bool, budget: WorkBudget) -> Number:
    shorter, longer = _bit_bounds(base.value)
    bits = longer * abs(exponent)
    if exact and bits <= 2 * MAX_BITS:
        budget.spend(4 + bits * bits // UNIT_BITS)
        return bounded(base.value**exponent)
    if exact and shorter <= 1:
        raise too_large()  # an integer, or one over an integer: its digits are all there is to it
    size = _approximate_power(abs(base.value), Fraction(exponent), budget)
    return approximate(-size if base.value < 0 and exponent % 2 else size)


def _bit_bounds(value: Fraction) -> tuple[int, int]:
    lengths = value.numerator.bit_length(), value.denominator.bit_length()
    return min(lengths), max(lengths)


def _root(base: Number, exponent: Number, exact: bool, budget: WorkBudget) -> Number:
    if base.value < 0:
        raise CalculationError("no_real_result", "a fractional power of a negative number is not real")
    budget.spend(4 + _ROOT_STEPS * base.bits * base.bits // UNIT_BITS)
    root = _exact_root(base.value, exponent.value.denominator) if exact else None
    if root is not None:
        return _whole_power(Number(root), exponent.value.numerator, exact, budget)
    return approximate(_approximate_power(base.value, exponent.value, budget))


def _exact_root(base: Fraction, degree: int) -> Fraction | None:
    """Return the root of `degree` when it is a fraction itself."""
    upper, lower = _integer_root(base.numerator, degree), _integer_root(base.denominator, degree)
    return None if upper is None or lower is None else Fraction(upper, lower)


def _integer_root(number: int, degree: int) -> int | None:
    if number == 1:
        return 1
    if degree >= number.bit_length():
        return None
    root = 1 << -(-number.bit_length() // degree)
    while True:  # Newton's method from above: falls until it has the whole part of the root
        smaller = ((degree - 1) * root + number // root ** (degree - 1)) // degree
        if smaller >= root:
            return root if root**degree == number else None
        root = smaller


def _approximate_power(base: Fraction, exponent: Fraction, budget: WorkBudget) -> Fraction:
    """Return the power with 40 right digits: an error in the base grows with the exponent, so
    as many digits more are computed as the exponent has."""
    whole = abs(exponent.numerator) // exponent.denominator
    if whole >= 10**_MAX_EXPONENT_DIGITS:
        raise too_large()
    digits = _GUARD_DIGITS + len(str(whole))
    budget.spend(_DECIMAL_COST)
    context = Context(prec=digits + 10, rounding=ROUND_HALF_EVEN, Emax=99_999, Emin=-99_999, traps=[])
    result = context.power(divided(base, digits + 10), divided(exponent, digits + 10))
    if not result.is_finite() or not result or abs(result.adjusted()) > MAX_DIGITS:
        raise too_large()
    return Fraction(result)
