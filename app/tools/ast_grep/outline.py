"""What a file declares, from what ast-grep finds in it.

Owns: names, kinds and what is within what. Never: the query (`declarations`), or which files are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.tools.ast_grep.found import Found
from app.tools.processes.foreign_text import one_line

MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration. Lines and the column count from 1; they are those of its name. `container` is the name
    of the declaration around it."""

    name: str
    kind: str
    line: int
    column: int
    end_line: int
    container: str | None


def outline(found: Sequence[Found]) -> list[Declared]:
    """Return the declarations of one file, by position."""
    declared: list[Declared] = []
    around: list[tuple[int, str]] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        ((kind, captured),) = list(one.captures.items())[:1] or [("", "")]
        name = one_line(captured, MAX_NAME) if isinstance(captured, str) else ""
        if not name:
            continue
        while around and around[-1][0] < one.end:
            around.pop()
        line, column = one.places.get(kind, (one.line, one.column))
        container = around[-1][1] if around else None
        declared.append(Declared(name, kind.lower(), line, column, one.end_line, container))
        around.append((one.end, name))
    return declared
