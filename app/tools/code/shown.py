"""How much of a list an answer shows.

Owns: the part that is shown, and the file with the whole list where that is not all. Never: the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import orjson

from app.tools.call import ToolCallContext
from app.tools.code.parameters import LspParams
from app.tools.code.results import LspResult
from app.tools.definition import ToolResult
from app.tools.output import write_sidecar

Row = TypeVar("Row", bound=ToolResult)
MAX_SHOWN_BYTES = 150_000


def part_of(rows: Sequence[Row], params: LspParams) -> list[Row]:
    """Return the rows from `offset` on, as many as `limit` says and as fit into an answer."""
    return fitting(rows[params.offset : params.offset + params.most])


def fitting(rows: Iterable[Row]) -> list[Row]:
    """Return as many rows as fit into an answer."""
    size = 0
    shown: list[Row] = []
    for row in rows:
        size += len(row.model_dump_json(exclude_none=True).encode())
        if size > MAX_SHOWN_BYTES and shown:
            break
        shown.append(row)
    return shown


def finished(
    result: LspResult, rows: Sequence[ToolResult], shown: int, params: LspParams, context: ToolCallContext
) -> LspResult:
    """Return the result; where `shown` rows from the offset on are not all, it says so and names the
    file that holds them all. Blocking when that is so."""

    def whole() -> bytes:
        return b"\n".join([*(orjson.dumps(row.model_dump(exclude_none=True)) for row in rows), b""])

    return finished_by(result, len(rows), shown, whole, params, context)


def finished_by(
    result: LspResult,
    total: int,
    shown: int,
    whole: Callable[[], bytes],
    params: LspParams,
    context: ToolCallContext,
) -> LspResult:
    """As `finished`, with `whole` making the content of the file."""
    if shown == total:
        return result
    after = params.offset + shown
    note = f"{shown} of {total} shown, from {params.offset}; the file at output_path has them all"
    if after < total:
        note += f"; offset {after} shows more"
    notes = note if result.note is None else f"{result.note} {note}"
    cut = result.model_copy(update={"truncated": after < total or None, "note": notes})
    return cut.whole_in(write_sidecar(context, "code.lsp", whole(), "jsonl"))
