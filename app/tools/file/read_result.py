"""What `file.read` takes and gives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, field_validator

from app.tools.contract.definition import Boolean, Integer, ToolParams, ToolResult
from app.tools.documents.pdf import page_ranges
from app.tools.file.text_scan import MAX_CONTENT_BYTES, shown_line

DEFAULT_LIMIT = 2000
_PAGES = re.compile(r"\s*\d{1,6}\s*(-\s*\d{1,6}\s*)?(,\s*\d{1,6}\s*(-\s*\d{1,6}\s*)?){0,99}")


class FileReadParams(ToolParams):
    path: str = Field(description="Path relative to the project's root, of a file or a directory.")
    offset: Integer = Field(default=1, ge=1, description="First line (or entry) to return, from 1.")
    limit: Integer = Field(default=DEFAULT_LIMIT, ge=1, description="Most lines (or entries) to return.")
    pages: str | None = Field(
        default=None, max_length=200, description="Pages of a PDF, as `3` or `1-5,8`; else ignored."
    )
    raw: Boolean = Field(
        default=False, description="Read a notebook as the JSON that it is (to edit it), not as cells."
    )

    @field_validator("pages")
    @classmethod
    def _ranges(cls, pages: str | None) -> str | None:
        if pages is None or not pages.strip():
            return None
        if _PAGES.fullmatch(pages) is None:
            raise ValueError("write page numbers and ranges from 1 on, such as 3 or 1-5,8")
        for first, last in page_ranges(pages):
            if first < 1 or last < first:
                raise ValueError("page numbers start at 1, and a range goes upwards, such as 2-5")
        return pages


class FileReadResult(ToolResult):
    path: str = Field(description="The path that was read.")
    type: Literal["file", "directory", "image", "notebook", "pdf", "binary"]
    total_lines: int | None = Field(default=None, description="Lines in the file, or entries.")
    truncated: bool | None = Field(default=None, description="Whether lines follow the ones returned.")
    next_offset: int | None = Field(default=None, description="The offset after this answer.")
    encoding: str | None = Field(default=None, description="The encoding, when it is not plain UTF-8.")
    line_ending: Literal["crlf", "mixed"] | None = Field(
        default=None, description="The line endings in these lines, when not all are LF."
    )
    note: str | None = None
    size: int | None = Field(default=None, description="Bytes of a file that is not text.")
    mime: str | None = Field(default=None, description="Media type of a file that is not text.")
    width: int | None = Field(default=None, description="Pixels of an image.")
    height: int | None = Field(default=None, description="Pixels of an image.")
    total_pages: int | None = Field(default=None, description="Pages of a PDF.")
    content: str | None = Field(default=None, description="Lines as `N: text`, or one entry per line.")


def numbered(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{number}: {text}" for number, text in enumerate(lines, first))


def beyond(offset: int, total: int, noun: str) -> str | None:
    """Return the note about an offset that lies past the end."""
    return f"offset {offset} is past the end: there are {total} {noun}" if offset > max(total, 1) else None


def notes(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None


def rendered(
    result: FileReadResult, lines: list[str], params: FileReadParams, note: str | None = None
) -> FileReadResult:
    """Return `result` with the window that `params` asks for, of lines that stand for the file."""
    start = params.offset - 1
    shown: list[str] = []
    room = MAX_CONTENT_BYTES
    for line in lines[start : start + params.limit]:
        shown.append(shown_line(line))
        room -= len(shown[-1].encode("utf-8", "replace")) + 1
        if room <= 0:
            break
    after = start + len(shown)
    more = after < len(lines)
    return result.model_copy(
        update={
            "content": numbered(shown, params.offset),
            "total_lines": len(lines),
            "truncated": more,
            "next_offset": after + 1 if more else None,
            "note": notes(result.note, note, beyond(params.offset, len(lines), "lines")),
        }
    )
