"""Diagnostics: what is wrong in a project file, where, and what to write instead.

Owns: `Diagnostic`, the collecting `DiagnosticBag`, and the rendering that compilers made familiar.
Never: deciding what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.harness.dsl.document import Position, render_path

Severity = Literal["error", "warning"]

MAX_DIAGNOSTICS = 1000
_LONGEST_SOURCE_LINE = 160
_LONGEST_MESSAGE = 1000


class Diagnostic(BaseModel):
    """One finding. Lines and columns count from 1; `path` is the value's path inside `file`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    severity: Severity
    code: str
    message: str
    file: str
    line: int
    column: int
    path: str


class DiagnosticBag:
    """Collects findings in any order; gives them back once each, sorted by position."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    @property
    def has_errors(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self._found)

    def __len__(self) -> int:
        return len(self._found)

    def error(self, code: str, message: str, position: Position) -> None:
        self._add("error", code, message, position)

    def warning(self, code: str, message: str, position: Position) -> None:
        self._add("warning", code, message, position)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding once, by file, line and column; errors before warnings at one position."""
        return tuple(
            sorted(self._found, key=lambda d: (d.file, d.line, d.column, d.severity, d.code, d.message))
        )

    def _add(self, severity: Severity, code: str, message: str, position: Position) -> None:
        # A hostile file can hold tens of thousands of mistakes. Errors are never crowded out by warnings.
        if len(self._found) >= MAX_DIAGNOSTICS and (severity == "warning" or self.has_errors):
            return
        diagnostic = Diagnostic(
            severity=severity,
            code=code,
            message=message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…",
            file=position.source.display,
            line=position.line,
            column=position.column,
            path=render_path(position.path),
        )
        self._found[diagnostic] = None


def format_diagnostic(diagnostic: Diagnostic, source: str | None = None, *, prefix: str = "") -> str:
    """Render `file:line:column: error[code]: message`, then the source line with a caret below it.

    `prefix` is put before the file name, so that an editor can open it from another folder.
    """
    position = f"{prefix}{diagnostic.file}:{diagnostic.line}:{diagnostic.column}"
    head = f"{position}: {diagnostic.severity}[{diagnostic.code}]: {_one_line(diagnostic.message)}"
    lines = source.splitlines() if source else []
    if not 1 <= diagnostic.line <= len(lines):
        return head
    gutter = f"{diagnostic.line:>5} | "
    shown, offset = _clip(lines[diagnostic.line - 1], diagnostic.column - 1)
    blank = "".join("\t" if character == "\t" else " " for character in shown[:offset])
    return f"{head}\n{gutter}{_printable(shown)}\n{' ' * (len(gutter) - 2)}| {blank}^"


def format_diagnostics(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None, *, prefix: str = ""
) -> str:
    """Render all diagnostics and a closing count such as `2 errors, 1 warning`."""
    found = list(diagnostics)
    texts = [format_diagnostic(d, (sources or {}).get(d.file), prefix=prefix) for d in found]
    errors = sum(d.severity == "error" for d in found)
    return "\n".join([*texts, f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _one_line(message: str) -> str:
    return _printable(" ".join(message.split()))


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() or character == "\t" else "\ufffd" for character in text
    )


def _clip(line: str, offset: int) -> tuple[str, int]:
    """Cut a very long line around the caret; return the shown part and the caret's offset in it."""
    offset = max(0, min(offset, len(line)))
    if len(line) <= _LONGEST_SOURCE_LINE:
        return line, offset
    start = max(0, offset - _LONGEST_SOURCE_LINE // 2)
    return line[start : start + _LONGEST_SOURCE_LINE], offset - start
