"""Puts the tokens of an expression into the order of operations, without recursion.

Owns: the grammar, its bounds, and what was expected where. Never: arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.tools.compute.numbers import Number
from app.tools.compute.problems import CalculationError, WorkBudget
from app.tools.compute.tokens import Token, tokens

MAX_CHARACTERS = 10_000
MAX_DEPTH = 200
_TOKEN_UNITS = 5
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "**": 4}
_SIGN_BINDING = 3
"""A sign binds less than a power and more than a product: -2**2 = -4, 2**-1 = 1/2."""
_SIGNS = {"+": "positive", "-": "negative"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a stack machine: push `number`, or apply `operator`: a binary one, `negative` or
    `positive`."""

    position: int
    number: Number | None = None
    operator: str = ""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An operator whose right side is still being read, or an open parenthesis (binding 0)."""

    operator: str
    binding: int
    position: int


def parse(expression: str, budget: WorkBudget) -> list[Operation]:
    """Return the steps that compute `expression`. Raises CalculationError."""
    if len(expression) > MAX_CHARACTERS:
        raise CalculationError(
            "too_long",
            f"the expression has {len(expression):,} characters; at most {MAX_CHARACTERS:,} are read",
        )
    parser = _Parser()
    for token in tokens(expression):
        budget.spend(_TOKEN_UNITS + len(token.text) // 4)
        if parser.expects_operand:
            parser.operand(token)
        else:
            parser.operator(token)
    return parser.steps


class _Parser:
    """Dijkstra's two stacks: steps that are certain, and operators that wait for their turn."""

    def __init__(self) -> None:
        self.steps: list[Operation] = []
        self.expects_operand = True
        self._waiting: list[_Waiting] = []
        self._depth = 0

    def operand(self, token: Token) -> None:
        if token.kind == "number":
            assert token.value is not None
            self.steps.append(Operation(token.position, Number(token.value)))
            self.expects_operand = False
        elif token.kind == "open":
            self._open(token)
        elif token.kind == "operator" and token.text in _SIGNS:
            self._waiting.append(_Waiting(_SIGNS[token.text], _SIGN_BINDING, token.position))
        else:
            raise _expected("a number, a sign or (", token, self._reason(token))

    def operator(self, token: Token) -> None:
        if token.kind == "operator":
            binding = _BINDING[token.text]
            self._settle(binding if token.text != "**" else binding + 1)
            self._waiting.append(_Waiting(token.text, binding, token.position))
            self.expects_operand = True
        elif token.kind == "close":
            self._close(token)
        elif token.kind == "end":
            self._finish()
        else:
            raise _expected("an operator or )" if self._depth else "an operator", token, _product(token))

    def _open(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculationError(
                "too_deep",
                f"at character {token.position}: more than {MAX_DEPTH} parentheses inside each other",
                token.position,
            )
        self._waiting.append(_Waiting("(", 0, token.position))

    def _close(self, token: Token) -> None:
        if not self._depth:
            raise _expected("an operator or the end", token, "no ( is open")
        self._depth -= 1
        self._settle(1)
        self._waiting.pop()

    def _finish(self) -> None:
        self._settle(1)
        if self._waiting:
            opened = self._waiting[-1].position
            raise CalculationError(
                "syntax_error", f"expected ) for the ( at character {opened}, found the end", opened
            )

    def _settle(self, binding: int) -> None:
        """Move the operators that bind at least so much from the waiting ones to the steps."""
        while self._waiting and self._waiting[-1].binding >= binding:
            done = self._waiting.pop()
            self.steps.append(Operation(done.position, operator=done.operator))

    def _reason(self, token: Token) -> str:
        before = self._waiting[-1] if self._waiting else None
        if token.kind == "end" and not self.steps and before is None:
            return "the expression is empty"
        if token.kind != "operator" and before is not None and before.operator == "%":
            return "% is the remainder; for per cent write / 100"
        return ""


def _product(token: Token) -> str:
    return "write * to multiply" if token.kind == "open" else ""


def _expected(what: str, token: Token, reason: str) -> CalculationError:
    found = "the end" if token.kind == "end" else token.text[:40]
    tail = f" ({reason})" if reason else ""
    message = f"at character {token.position}: expected {what}, found {found}{tail}"
    return CalculationError("syntax_error", message, token.position)
