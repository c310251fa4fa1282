"""`compute.calc`: its grammar against Python's own exact arithmetic, its bounds, its errors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.tools.compute.calc import CALL_WORK, evaluate
from app.tools.compute.numbers import Number, written
from app.tools.compute.problems import CalculationError, WorkBudget
from app.tools.compute.tokens import tokens

pytestmark = pytest.mark.requirement("calc.grammar")


async def _one(desk, expression: str, **more):
    """Compute one expression through the dispatch; return its entry."""
    answer = await desk.ok("compute.calc", calculations=[{"expression": expression, **more}])
    (entry,) = answer["results"]
    return entry


async def _result(desk, expression: str) -> str:
    entry = await _one(desk, expression)
    assert "error" not in entry, entry
    return entry["result"]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("24 / 4 / 3", "2"),
        ("100 / 7 % 3 * 7", "16"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("5.5 % 2", "1.5"),
        ("-2**2", "-4"),
        ("(-2)**2", "4"),
        ("+5", "5"),
        ("2 - -3", "5"),
        ("2---3", "-1"),
        ("-(1+2)", "-3"),
        ("2*-3", "-6"),
        ("\t1\n+\r2 ", "3"),
        ("((((7))))", "7"),
    ],
)
async def test_operators_signs_and_parentheses_have_their_usual_meaning(desk, expression, result):
    assert await _result(desk, expression) == result


@pytest.mark.requirement("calc.power")
@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2**3**2", "512"),
        ("(2**3)**2", "64"),
        ("2**-1", "0.5"),
        ("2**-3**2", "0.001953125"),
        ("-3**2*2", "-18"),
        ("0**0", "1"),
        ("(-1)**1e30", "1"),
        ("9**0.5", "3"),
        ("(8/27)**(1/3)", "0.6666666666666666666666666667"),
        ("2**0.5", "1.414213562373095048801688724"),
        ("1.0005**3650", "6.19996658193679206733875946"),
        ("(1+1e-30)**1e30", "2.718281828459045235360287471"),
    ],
)
async def test_powers_are_right_associative_and_take_any_exponent(desk, expression, result):
    assert await _result(desk, expression) == result


@pytest.mark.requirement("calc.literals")
@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0xFF", "255"),
        ("0XfF", "255"),
        ("0b1010", "10"),
        ("0o755", "493"),
        ("0xFF + 0b1010 + 0o755", "758"),
        ("1e10", "10000000000"),
        ("1.5E+3", "1500"),
        ("25e-1", "2.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e-12", "1e-12"),
        ("0x1e3", "483"),
    ],
)
async def test_numbers_are_written_in_every_documented_way(desk, expression, result):
    assert await _result(desk, expression) == result


@pytest.mark.requirement("calc.exact")
@pytest.mark.parametrize(
    ("expression", "result", "rounded"),
    [
        ("0.1 + 0.2", "0.3", False),
        ("10 / 2", "5", False),
        ("1.10 * 3", "3.3", False),
        ("1/3", "0.3333333333333333333333333333", True),
        ("2/3", "0.6666666666666666666666666667", True),
        ("1/3*3", "1", False),
        ("10**40/3", "3.333333333333333333333333333e+39", True),
        ("2**200", str(2**200), False),
        ("2**200 + 1", str(2**200 + 1), False),
        ("123456789012345678901234567890 * 3", "370370367037037036703703703670", False),
        ("1.05**20", "2.6532977051444201339454307651519775390625", False),
        ("-1/8", "-0.125", False),
        ("0 * -1", "0", False),
        ("1e-9", "1e-9", False),
        ("1.5e-7", "0.00000015", False),
        ("(2**0.5)**2", "2", True),
        ("2**0.5 * 2**0.5", "2", True),
        ("2**0.5 - 2**0.5", "0", True),
    ],
)
async def test_integers_and_decimals_are_exact_and_the_rest_says_that_it_is_rounded(
    desk, expression, result, rounded
):
    entry = await _one(desk, expression)
    assert (entry["result"], entry.get("rounded", False)) == (result, rounded)


@pytest.mark.requirement("calc.bounded")
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("9**9**9**9", "too_large"),
        ("2**99999999", "too_large"),
        ("2**(10**3999)", "too_large"),
        ("(1/2)**99999999", "too_large"),
        ("1.5**(10**3999)", "too_large"),
        ("1.5**1e30", "too_large"),
        ("1.5**-1e30", "too_large"),
        ("1.5**99999", "too_large"),
        ("1e9999", "too_large"),
        ("1e-9999", "too_large"),
        ("1e999999999", "too_large"),
        ("1e-999999999", "too_large"),
        ("1e" + "9" * 5000, "too_large"),
        ("9" * 4001, "too_large"),
        ("0x" + "f" * 9000, "too_large"),
        ("10**3999 * 10**3999", "too_large"),
        ("(" * 4999 + "1" + ")" * 4999, "too_deep"),
        ("(" * 10_000, "too_deep"),
        ("1" + "+1" * 10_000, "too_long"),
        ("1" * 1_000_000, "too_long"),
        ("-" * 9_999 + "1", "too_much_work"),
        ("**".join(["1.01"] * 1_600), "too_much_work"),
    ],
)
async def test_what_would_be_too_much_is_an_error_before_it_is_computed(desk, expression, code):
    entry = await _one(desk, expression)
    assert entry["error"]["code"] == code
    assert len(entry["expression"]) < 250


@pytest.mark.requirement("calc.bounded")
@pytest.mark.timeout(20)
async def test_many_large_calculations_share_one_bound_of_work(desk):
    heavy = {"expression": "(9**4000 / 7**4500) % (7**4000 / 9**3900)"}
    answer = await desk.ok("compute.calc", calculations=[heavy] * 100)
    assert answer["results"][-1]["error"]["code"] == "too_much_work"
    assert await desk.code("compute.calc", calculations=[{"expression": "1"}] * 101) == "invalid_params"
    assert await desk.code("compute.calc", calculations=[]) == "invalid_params"


@pytest.mark.requirement("calc.bounded")
async def test_a_number_of_four_thousand_digits_is_still_computed(desk):
    assert await _result(desk, "10**3999 + 7") == "1" + "0" * 3998 + "7"
    assert await _result(desk, "(" * 200 + "1" + ")" * 200) == "1"


@pytest.mark.parametrize(
    ("expression", "position", "message"),
    [
        ("", 1, "the expression is empty"),
        ("1 +", 4, "expected a number, a sign or (, found the end"),
        ("1 2", 3, "expected an operator, found 2"),
        ("2(3)", 2, "write * to multiply"),
        ("(1 + 2", 1, "expected ) for the ( at character 1"),
        ("1 + 2)", 6, "no ( is open"),
        ("()", 2, "expected a number"),
        ("1 * / 2", 5, "found /"),
        ("2^3", 2, "write ** for a power"),
        ("7 // 2", 3, "/ divides exactly"),
        ("sqrt(2)", 1, "write (x) ** 0.5"),
        ("2 * pi", 5, "3.14159"),
        ("10%", 4, "for per cent write / 100"),
        ("1,000", 2, "without separators"),
        ("1_000", 2, "without separators"),
        ("1.2.3", 4, "second decimal point"),
        ("0b102", 5, "'2' is no binary digit"),
        ("0o8", 3, "'8' is no octal digit"),
        ("0x", 3, "expected hexadecimal digits"),
        ("1e", 3, "digits of an exponent"),
        ("0755", 1, "0o755 for octal"),
        ("5km", 2, "put units in suffix"),
        ("٣ + 1", 1, "not one of the digits 0 to 9"),
        ("１", 1, "not one of the digits 0 to 9"),
        ("3 × 4", 3, "write * to multiply"),
        ("1 ; 2", 3, "';' does not belong"),
        ("__import__('os')", 1, "no functions or names"),
        ("1\u00a0+ 1", 2, "U+00A0"),
        ("\ud800", 1, "U+D800"),
        ("1/0", 2, "division by zero"),
        ("5 % (1 - 1)", 3, "division by zero"),
        ("0**-1", 2, "division by zero"),
        ("(-8)**(1/3)", 5, "not real"),
    ],
)
async def test_an_error_says_where_it_is_and_what_was_expected(desk, expression, position, message):
    error = (await _one(desk, expression))["error"]
    assert error["position"] == position
    assert message in error["message"]


@pytest.mark.requirement("calc.several")
async def test_each_calculation_has_its_own_result_or_error(desk):
    answer = await desk.ok(
        "compute.calc",
        calculations=[
            {"expression": "19.99 * 3", "prefix": "Total: ", "suffix": " EUR"},
            {"expression": "1 / 0", "prefix": "never shown"},
            {"expression": "0.1 + 0.2"},
        ],
    )
    first, second, third = answer["results"]
    assert first == {"expression": "19.99 * 3", "result": "59.97", "text": "Total: 59.97 EUR"}
    assert second["error"]["code"] == "division_by_zero"
    assert "result" not in second and "text" not in second
    assert third == {"expression": "0.1 + 0.2", "result": "0.3"}


integers = st.integers(0, 10**30).map(str)
literals = st.one_of(
    integers,
    st.integers(0, 1 << 64).map(hex),
    st.integers(0, 1 << 64).map(bin),
    st.integers(0, 1 << 64).map(oct),
    st.decimals(0, 10**9, allow_nan=False, places=4).map(lambda number: format(number, "f")),
)
small_powers = st.tuples(literals, st.integers(-3, 4)).map(lambda pair: f"({pair[0]})**{pair[1]}")
expressions = st.recursive(
    st.one_of(literals, small_powers),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", " * ", "/", " % ", "+-", "- +"]), inner).map("".join),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"-{one}"),
        inner.map(lambda one: f"-({one})**2"),
    ),
    max_leaves=12,
)


def _as_python(expression: str) -> str:
    """The same expression with each literal an exact fraction."""
    words = []
    for token in tokens(expression):
        exact = f"Fraction({int(token.text, 0)})" if token.text[:2] in {"0x", "0b", "0o"} else None
        words.append((exact or f"Fraction('{token.text}')") if token.kind == "number" else token.text)
    return "".join(words)


@pytest.mark.requirement("calc.exact")
@settings(max_examples=400, deadline=None)
@given(expressions)
def test_results_are_those_of_pythons_own_exact_arithmetic(expression):
    try:
        wanted = eval(_as_python(expression), {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(CalculationError, match="division by zero"):
            evaluate(expression, WorkBudget(CALL_WORK))
        return
    assert evaluate(expression, WorkBudget(CALL_WORK)) == Number(wanted)


@pytest.mark.requirement("calc.exact")
@settings(max_examples=300, deadline=None)
@given(st.fractions(), st.integers(-60, 60))
def test_what_is_written_is_the_number_to_at_least_28_digits(fraction, shift):
    value = fraction * Fraction(10) ** shift
    text, exact = written(Number(value), WorkBudget(CALL_WORK))
    if exact:
        assert Fraction(text) == value
    else:
        assert abs(Fraction(text) - value) <= abs(value) / 10**27 / 2
    evaluated = evaluate(text, WorkBudget(CALL_WORK))
    assert evaluated.value == Fraction(text)


@settings(max_examples=400, deadline=None)
@given(st.text("0123456789.+-*/%() exbo_^", max_size=30))
def test_any_text_has_a_value_or_an_error_with_a_place(text):
    try:
        evaluate(text, WorkBudget(CALL_WORK))
    except CalculationError as problem:
        assert problem.message
        assert problem.position is None or 1 <= problem.position <= len(text) + 1
