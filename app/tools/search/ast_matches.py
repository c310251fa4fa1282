"""Matches of a pattern as answers show them.

Owns: reading each file again through the path check, and comparing it with the match. Never: text that only
the child process reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from pydantic import Field

from app.errors import ToolError
from app.tools.ast_grep.found import Captured, Found
from app.tools.ast_grep.snapshot import parsed_text
from app.tools.contract.definition import ToolResult
from app.workspace import MAX_WHOLE_FILE, Workspace

MAX_TEXT = 4_000
MAX_CAPTURED = 1_000
MARK = "\ufeff"
CUT = " [truncated]"


class AstMatch(ToolResult):
    file: str
    line: int = Field(description="Line of its first character, from 1.")
    content: str | None = Field(default=None, description="The matching code.")
    meta_variables: dict[str, str | list[str]] | None = Field(
        default=None, description="What each $NAME stands for; a list for $$$NAME."
    )
    context_before: list[str] | None = None
    context_after: list[str] | None = None
    column: int | None = Field(default=None, description="In characters, from 1.")
    end_line: int | None = None
    end_column: int | None = Field(default=None, description="Of the character after the match.")
    byte_start: int | None = Field(default=None, description="In the file, from 0.")
    byte_end: int | None = Field(default=None, description="Of the byte after the match.")
    outside_cage: bool | None = Field(default=None, description="True: nothing more may be shown.")


def inside(workspace: Workspace, shown: str, found: Sequence[Found], context: int) -> list[AstMatch]:
    """Return the matches of one file that the caller may read, without those that the file no longer
    contains. Blocks."""
    text = _text_of(workspace, shown)
    if text is None:
        return []
    lines = text.split(b"\n") if context else []
    if lines and not lines[-1]:
        lines.pop()
    return [_match(shown, one, lines, context, marked=_is_marked(text)) for one in _true(found, text)]


def outside(workspace: Workspace, shown: str, found: Sequence[Found]) -> list[AstMatch]:
    """Return the places of the matches in a file that the caller may only know of. Blocking."""
    text = _text_of(workspace, shown)
    if text is None:
        return []
    lines = dict.fromkeys(one.line for one in _true(found, text))
    return [AstMatch(file=shown, line=line, outside_cage=True) for line in lines]


def read_text(workspace: Workspace, shown: str) -> bytes | None:
    """Return what ast-grep is to parse of a file, None for a binary one. Raises ToolError."""
    with workspace.open(shown) as opened:
        if opened.is_directory or opened.status.st_size > MAX_WHOLE_FILE:
            return None
        with os.fdopen(os.dup(opened.descriptor), "rb") as file:
            known = parsed_text(file.read(MAX_WHOLE_FILE))
    return None if known is None else known[0]


def _text_of(workspace: Workspace, shown: str) -> bytes | None:
    try:
        return read_text(workspace, shown)
    except ToolError:
        return None  # gone, or by now a link to what the caller may not read


def _true(found: Iterable[Found], text: bytes) -> list[Found]:
    return [one for one in found if text[one.start : one.end] == one.text.encode("utf-8", "replace")]


def _is_marked(text: bytes) -> bool:
    return text.startswith(MARK.encode())


def _match(shown: str, one: Found, lines: list[bytes], context: int, *, marked: bool) -> AstMatch:
    return AstMatch(
        file=shown,
        line=one.line,
        content=cut(one.text, MAX_TEXT),
        meta_variables={name: _captured(value) for name, value in one.captures.items()},
        context_before=_shown_lines(lines[max(one.line - 1 - context, 0) : one.line - 1])
        if context
        else None,
        context_after=_shown_lines(lines[one.end_line : one.end_line + context]) if context else None,
        column=one.column - (marked and one.line == 1),
        end_line=one.end_line,
        end_column=one.end_column - (marked and one.end_line == 1),
        byte_start=one.start,
        byte_end=one.end,
    )


def _captured(value: Captured) -> Captured:
    if isinstance(value, str):
        return cut(value, MAX_CAPTURED)
    return [cut(one, MAX_CAPTURED) for one in value]


def _shown_lines(lines: Iterable[bytes]) -> list[str]:
    texts = (line.decode("utf-8", "replace").removesuffix("\r").removeprefix(MARK) for line in lines)
    return [cut(text, MAX_CAPTURED) for text in texts]


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + CUT
