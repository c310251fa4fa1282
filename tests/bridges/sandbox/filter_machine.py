"""A machine that runs a filter as the kernel does: for architectures that the tests do not run on.

Owns: interpreting the classic BPF instructions that a filter may have. Never: writing filters.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

ALLOWED = 0


def verdict(content: bytes, architecture: int, number: int, arguments: Sequence[int]) -> int:
    """Return the error number that a call ends with, `ALLOWED` when it is let through."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *values)
    program = list(struct.iter_unpack("<HBBI", content))
    accumulator = position = 0
    while True:
        code, when_true, when_false, value = program[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return ALLOWED if value == 0x7FFF0000 else _errno(value)
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x45: accumulator & value != 0}
            position += when_true if holds[code] else when_false


def _errno(value: int) -> int:
    assert value & 0xFFFF0000 == 0x00050000, hex(value)
    return value & 0xFFFF
