"""Answers that stay within so many bytes: less of the output, shorter values, fewer frames.

Owns: what is left out first. Never: what an answer says.
"""

from __future__ import annotations

import orjson

from app.tools.debug.results import DebugResult, ExceptionShown, Local, ProjectFrame

CUT = "…"


def size_of(result: DebugResult) -> int:
    """Return the bytes of an answer."""
    return len(orjson.dumps(result.model_dump(exclude_none=True)))


def fitting(result: DebugResult, most: int) -> DebugResult:
    """Return the answer, cut as far as it has to be."""
    for output, values, frames, message in _SIZES:
        if size_of(result) <= most:
            return result
        result = _cut(result, output, values, frames, message).model_copy(update={"truncated": True})
    return result


_SIZES = (
    (1_200, 200, 5, 1_000),
    (1_000, 100, 5, 600),
    (700, 60, 4, 500),
    (500, 40, 3, 400),
    (300, 30, 2, 300),
    (150, 20, 1, 200),
)
"""Characters of output and of values, frames, and characters of the message; each time less."""


def _cut(result: DebugResult, output: int, values: int, frames: int, message: int) -> DebugResult:
    thrown = result.exception
    rows = result.project_frames
    return result.model_copy(
        update={
            "output": result.output and _tail(result.output, output),
            "exception": thrown and ExceptionShown(type=thrown.type, message=_head(thrown.message, message)),
            "project_frames": rows and [_frame(one, values) for one in rows[:frames]],
        }
    )


def _frame(row: ProjectFrame, values: int) -> ProjectFrame:
    local = row.locals
    shorter = local and [Local(name=one.name, value=_head(one.value, values) or "") for one in local[:12]]
    return row.model_copy(update={"locals": shorter, "source": _head(row.source, 120)})


def _head(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else text[:most] + CUT


def _tail(text: str, most: int) -> str:
    return text if len(text) <= most else CUT + text[-most:]
