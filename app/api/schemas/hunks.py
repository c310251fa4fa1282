"""A hunk of a diff on the wire, of changes and of git."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel
from app.harness.git_output.hunks import Hunk, shown_lines

HunkSign = Literal[" ", "-", "+", "\\"]


class HunkAnswer(AnswerModel):
    """A hunk of a diff. Each line is its sign and its text without the newline: `" "` in both files, `"-"` in
    the old, `"+"` in the new one. `"\\\\"` marks a last line without a newline."""

    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[tuple[HunkSign, str]]
    digest: str = Field(
        description="Identifies this hunk in this state of the file, to revert, stage or unstage it."
    )

    @classmethod
    def of(cls, hunk: Hunk, digest: str) -> HunkAnswer:
        return cls.model_construct(
            header=hunk.header,
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
            lines=list(shown_lines(hunk)),
            digest=digest,
        )
