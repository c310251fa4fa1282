"""An assembler for the classic BPF programs that filter system calls.

Owns: instructions, comparisons, and the bytes of a program. Never: which calls are refused (`seccomp_rules`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MOST_INSTRUCTIONS = 4096
"""The kernel takes no longer program."""

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER, _JUMP_ANY_BIT = 0x15, 0x25, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_FARTHEST_JUMP = 255
_WORD = 0xFFFFFFFF

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of 32 bits of an argument; `mask` is laid over them first (not with `any_bit`).

    The kernel itself reads most arguments as 32 bits: the upper half is no part of them, and a filter
    that compared it would be passed by setting it. `upper` compares the upper half, for pointers.
    """

    argument: int
    comparison: Literal["equal", "unequal", "any_bit"]
    value: int
    mask: int = _WORD
    upper: bool = False

    def instructions(self) -> tuple[list[Instruction], bool]:
        """Return what ends in a jump, and whether the jump's true side is the one that holds. The jump's
        targets are filled in by `Program`."""
        code = [(_LOAD, 0, 0, _ARGUMENTS + 8 * self.argument + (4 if self.upper else 0))]
        if self.mask != _WORD:
            code.append((_AND, 0, 0, self.mask))
        jump = _JUMP_ANY_BIT if self.comparison == "any_bit" else _JUMP_EQUAL
        code.append((jump, 0, 0, self.value))
        return code, self.comparison != "unequal"


class Program:
    """A filter that is being written. What no instruction refuses is allowed by `to_bytes`."""

    def __init__(self) -> None:
        self._code: list[Instruction] = []

    def require_architecture(self, number: int, errno: int) -> None:
        """Refuse every call that was not made by the machine's own convention. To be said first."""
        self._code += [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, number), _refusal(errno)]
        self._code.append((_LOAD, 0, 0, _NUMBER))

    def refuse_above(self, number: int, errno: int) -> None:
        """Refuse every call with a greater number."""
        self._code += [(_JUMP_GREATER, 0, 1, number), _refusal(errno)]

    def refuse(self, number: int, errno: int) -> None:
        """Refuse a call whatever its arguments are."""
        self._code += [(_JUMP_EQUAL, 0, 1, number), _refusal(errno)]

    def refuse_when(self, number: int, errno: int, cases: Iterable[Sequence[Comparison]]) -> None:
        """Refuse a call when all tests of one of the `cases` hold, and allow it else."""
        block: list[Instruction] = []
        for tests in cases:
            block += _case(tests, errno)
        block.append((_RETURN, 0, 0, _ALLOW))
        self._code += [(_JUMP_EQUAL, 0, _near(len(block)), number), *block]

    def to_bytes(self) -> bytes:
        """Return the program as the kernel and bubblewrap read it. Raises ValueError when it is too long."""
        code = [*self._code, (_RETURN, 0, 0, _ALLOW)]
        if len(code) > MOST_INSTRUCTIONS:
            raise ValueError(f"a filter of {len(code)} instructions is too long")
        return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _case(tests: Sequence[Comparison], errno: int) -> list[Instruction]:
    """Return the refusal behind its tests; the first test that does not hold jumps over it."""
    pieces = [test.instructions() for test in tests]
    left = sum(len(code) for code, _ in pieces) + 1
    block: list[Instruction] = []
    for code, when_true in pieces:
        left -= len(code)
        operation, _, _, value = code[-1]
        jumps = (0, _near(left)) if when_true else (_near(left), 0)
        block += [*code[:-1], (operation, *jumps, value)]
    return [*block, _refusal(errno)]


def _near(distance: int) -> int:
    if distance > _FARTHEST_JUMP:
        raise ValueError(f"a jump over {distance} instructions is too far")
    return distance


def _refusal(errno: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | errno)
