"""An exported session read line by line: every line is checked before anything is stored.

Owns: the order of a file, from its first line to its seal. Never: what a line holds (`transfer_lines`).
"""

from __future__ import annotations

from app.errors import PayloadTooLarge, ValidationFailed
from app.harness.transfer.transfer_lines import (
    ImportedSession,
    LinesBefore,
    SealLine,
    SessionLine,
    WrongLine,
    parsed_line,
)
from app.harness.transfer.transfer_seal import Seal

MAX_LINES = 500_000


class ExportReader:
    """Checks the lines one after the other; each may refer to those before it."""

    def __init__(self) -> None:
        self.number = 0
        self.rows = 0
        self.header: ImportedSession | None = None
        """What the first line said; None before it was taken."""
        self._before: LinesBefore | None = None
        self._seal = Seal()
        self._whole = False

    @property
    def found(self) -> ImportedSession:
        if self.header is None:
            raise wrong(1, "there is no line at all")
        return self.header

    def take(self, raw: bytes) -> bool:
        """Check the next line; return whether it is a row (and neither the first line, the last nor empty).

        Raises `ValidationFailed` that names the line, `PayloadTooLarge` when there are too many."""
        self.number += 1
        if self.number > MAX_LINES:
            raise PayloadTooLarge(
                f"The export has more than {MAX_LINES} lines.",
                reason="too_many_lines",
                details={"max_lines": MAX_LINES},
            )
        if self._whole and raw.strip():
            raise wrong(self.number, "it comes after the last line of the export")
        try:
            taken = bool(raw.strip()) and self._take(raw)
        except WrongLine as problem:
            raise wrong(self.number, str(problem)) from None
        self._seal.add(raw)
        self.rows += taken
        return taken

    def _take(self, raw: bytes) -> bool:
        line = parsed_line(raw)
        if self._before is None or self.header is None:
            if not isinstance(line, SessionLine):
                raise WrongLine("the first line must be the session itself")
            self.header, self._before = line.data, LinesBefore(line.data.session)
            return False
        if isinstance(line, SessionLine) or (isinstance(line, SealLine) and not self.header.sealed):
            raise WrongLine(f"kind {line.kind!r} is not known")
        if isinstance(line, SealLine):
            if (problem := self._seal.problem_with(line.data)) is not None:
                raise WrongLine(problem)
            self._whole = True
            return False
        line.check(self._before)
        return True

    def finish(self) -> None:
        """Raise `ValidationFailed` when the last line of the export has not come."""
        if self.found.sealed and not self._whole:
            raise wrong(self.number + 1, "the export ends before its last line: the file is cut off")


def wrong(number: int, problem: str) -> ValidationFailed:
    return ValidationFailed(
        f"Line {number} of the export cannot be read: {problem}.", fields={f"lines.{number}": problem}
    )
