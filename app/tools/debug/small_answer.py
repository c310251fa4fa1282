"""Answers that stay within so many bytes: less of the output, shorter values, fewer frames.

Owns: what is left out first. Never: what an answer says.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from app.tools.debug.results import DebugResult, ExceptionShown, Local, ProjectFrame

CUT = "…"
MAX_SOURCE = 120


@dataclass(frozen=True, slots=True)
class _Size:
    """How much is shown: characters of the output, of values and names, of the message and of a path; frames,
    and locals of a frame."""

    output: int
    value: int
    frames: int
    message: int
    locals: int = 12
    path: int = 4_096


_SIZES = (
    _Size(1_200, 200, 5, 1_000),
    _Size(1_000, 100, 5, 600),
    _Size(700, 60, 4, 500),
    _Size(500, 40, 3, 400),
    _Size(300, 30, 2, 300),
    _Size(150, 20, 1, 200),
    _Size(100, 20, 1, 120, locals=4, path=100),
)
"""Each time less; the last one fits whatever there is."""


def size_of(result: DebugResult) -> int:
    """Return the bytes of an answer."""
    return len(orjson.dumps(result.model_dump(exclude_none=True)))


def fitting(result: DebugResult, most: int) -> DebugResult:
    """Return the answer, cut as far as it has to be."""
    for size in _SIZES:
        if size_of(result) <= most:
            break
        result = _cut(result, size).model_copy(update={"truncated": True})
    return result


def head(text: str, most: int) -> str:
    """Return the beginning of a text, marked where it is cut."""
    return text if len(text) <= most else text[:most] + CUT


def tail(text: str, most: int) -> str:
    """Return the end of a text, marked where it is cut."""
    return text if len(text) <= most else CUT + text[-most:]


def _cut(result: DebugResult, size: _Size) -> DebugResult:
    thrown, rows = result.exception, result.project_frames
    return result.model_copy(
        update={
            "output": result.output and tail(result.output, size.output),
            "exception": thrown and _thrown(thrown, size),
            "project_frames": rows and [_frame(one, size) for one in rows[: size.frames]],
        }
    )


def _thrown(thrown: ExceptionShown, size: _Size) -> ExceptionShown:
    return ExceptionShown(
        type=thrown.type and head(thrown.type, size.message),
        message=thrown.message and head(thrown.message, size.message),
    )


def _frame(row: ProjectFrame, size: _Size) -> ProjectFrame:
    local = row.locals and [
        Local(name=head(one.name, size.value), value=head(one.value, size.value))
        for one in row.locals[: size.locals]
    ]
    cut = {
        "locals": local,
        "source": row.source and head(row.source, MAX_SOURCE),
        "function": row.function and head(row.function, MAX_SOURCE),
        "path": row.path and tail(row.path, size.path),
    }
    return row.model_copy(update=cut)
