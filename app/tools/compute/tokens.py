"""The tokens of an expression: numbers, operators, parentheses, each with its position.

Owns: literals (decimal, 0x, 0b, 0o, exponents), their bounds, unknown characters. Never: grammar (`parser`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from app.tools.compute.numbers import MAX_BITS, MAX_DIGITS, too_large
from app.tools.compute.problems import CalculationError

Kind = Literal["number", "operator", "open", "close", "end"]
_SPACE = re.compile(r"[ \t\r\n]*")
_OPERATOR = re.compile(r"\*\*|[-+*/%]")
_PREFIXED = re.compile(r"0([xXbBoO])([0-9A-Za-z_]*)")
_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]*))?|\.([0-9]+)")
_EXPONENT = re.compile(r"[eE]([+-]?)([0-9]*)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BASES = {"x": (16, "0123456789abcdef"), "b": (2, "01"), "o": (8, "01234567")}
_BASE_NAMES = {16: "hexadecimal", 2: "binary", 8: "octal"}
_INSTEAD = {
    "^": "^ is no operator here; write ** for a power",
    "×": "write * to multiply",
    "·": "write * to multiply",
    "÷": "write / to divide",
    "−": "write - (the plain hyphen) for minus",
    "–": "write - (the plain hyphen) for minus",
    "√": "write ** 0.5 for a square root",
    "²": "write ** 2 for a square",
    "³": "write ** 3 for a cube",
    ",": "write numbers without separators (1000000), and one expression for each calculation",
    "_": "write numbers without separators (1000000)",
    "=": "write only what is to be computed; there are no assignments or comparisons",
    "!": "there is no factorial; write the product",
    "[": "group with parentheses",
    "]": "group with parentheses",
    "{": "group with parentheses",
    "}": "group with parentheses",
    "$": "put units of money in prefix or suffix",
    "€": "put units of money in prefix or suffix",
}
_NO_NAMES = {
    "sqrt": "for a square root write (x) ** 0.5",
    "cbrt": "for a cube root write (x) ** (1/3)",
    "pow": "for a power write x ** y",
    "mod": "for a remainder write x % y",
    "pi": "write its digits: 3.14159265358979323846",
    "e": "write its digits: 2.71828182845904523536",
}


@dataclass(frozen=True, slots=True)
class Token:
    """`position` counts characters from 1; `value` is a number's."""

    kind: Kind
    text: str
    position: int
    value: Fraction | None = None


def tokens(expression: str) -> Iterator[Token]:
    """Yield the words, and `end` last. Raises CalculationError at the first that is none."""
    at = 0
    while True:
        space = _SPACE.match(expression, at)
        at = space.end() if space else at
        if at == len(expression):
            yield Token("end", "", at + 1)
            return
        token = _token(expression, at)
        yield token
        at += len(token.text)


def _token(expression: str, at: int) -> Token:
    character = expression[at]
    if character in "()":
        return Token("open" if character == "(" else "close", character, at + 1)
    if operator := _OPERATOR.match(expression, at):
        text = operator.group()
        if text == "/" and expression.startswith("//", at):
            raise _wrong(at, "// is no operator here; / divides exactly, and a - a % b is the whole part")
        return Token("operator", text, at + 1)
    if prefixed := _PREFIXED.match(expression, at):
        return _in_base(prefixed, at)
    if decimal := _DECIMAL.match(expression, at):
        return _decimal(expression, decimal, at)
    raise _unknown(expression, at)


def _in_base(found: re.Match[str], at: int) -> Token:
    base, known = _BASES[found.group(1).lower()]
    digits = found.group(2)
    for number, digit in enumerate(digits):
        if digit.lower() not in known:
            raise _wrong(at + 2 + number, f"{digit!r} is no {_BASE_NAMES[base]} digit")
    if not digits:
        raise _wrong(at + 2, f"expected {_BASE_NAMES[base]} digits after {found.group()}")
    value = int(digits, base)
    if value.bit_length() > MAX_BITS:
        raise too_large(at + 1)
    return Token("number", found.group(), at + 1, Fraction(value))


def _decimal(expression: str, found: re.Match[str], at: int) -> Token:
    whole = found.group(1) or ""
    after = found.group(2) or found.group(3) or ""
    if len(whole) > 1 and whole.startswith("0") and "." not in found.group() and whole.strip("0"):
        raise _wrong(at, "a number does not begin with 0; write 0o755 for octal, or leave the zeros out")
    if len(whole) + len(after) > MAX_DIGITS:
        raise too_large(at + 1)
    end, exponent = found.end(), 0
    if scientific := _EXPONENT.match(expression, end):
        end, exponent = scientific.end(), _exponent(scientific, at)
    _check_end(expression, end)
    shift = exponent - len(after)
    if abs(shift) > MAX_DIGITS:
        raise too_large(at + 1)
    digits = int(whole + after)
    value = Fraction(digits * 10**shift) if shift >= 0 else Fraction(digits, 10**-shift)
    return Token("number", expression[at:end], at + 1, value)


def _exponent(found: re.Match[str], at: int) -> int:
    sign, digits = found.groups()
    if not digits:
        raise _wrong(found.end(), "expected the digits of an exponent, as in 1e10")
    significant = digits.lstrip("0")
    if len(significant) > len(str(MAX_DIGITS)):
        raise too_large(at + 1)
    return int(sign + (significant or "0"))


def _check_end(expression: str, end: int) -> None:
    following = expression[end : end + 1]
    if following == ".":
        raise _wrong(end, "a second decimal point in one number")
    if following == "_":
        raise _wrong(end, _INSTEAD["_"])
    if following.isalpha() and following.isascii():
        raise _wrong(end, f"expected an operator before {following!r}; put units in suffix")


def _unknown(expression: str, at: int) -> CalculationError:
    character = expression[at]
    if word := _WORD.match(expression, at):
        name = word.group()[:40]
        advice = _NO_NAMES.get(name.lower(), "write numbers and operators only")
        return _wrong(at, f"there are no functions or names such as {name}; {advice}")
    if character in _INSTEAD:
        return _wrong(at, _INSTEAD[character])
    if character.isdigit() or character.isnumeric():
        return _wrong(at, f"{_shown(character)} is not one of the digits 0 to 9")
    return _wrong(at, f"{_shown(character)} does not belong in an expression")


def _shown(character: str) -> str:
    if character.isascii():
        return repr(character)
    lead = f"{character} " if character.isprintable() else ""
    return f"{lead}U+{ord(character):04X}"


def _wrong(at: int, message: str) -> CalculationError:
    return CalculationError("syntax_error", f"at character {at + 1}: {message}", at + 1)
