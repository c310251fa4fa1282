"""How much of a list an answer shows.

Owns: the part that is shown, and the file with the whole list where that is not all. Never: the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pydantic_core import to_json

from app.tools.code.parameters import LspParams
from app.tools.code.results import LspResult, ResultRow
from app.tools.contract.call import ToolCallContext
from app.tools.contract.output import first_fitting, write_sidecar

Row = TypeVar("Row", bound=ResultRow)
MAX_SHOWN_BYTES = 150_000
_BATCH = 64


def part_of(rows: Sequence[Row], params: LspParams) -> list[Row]:
    """Return the rows from `offset` on, as many as `limit` says and as fit into an answer."""
    return fitting(rows[params.offset : params.offset + params.most])


def fitting(rows: Iterable[Row]) -> list[Row]:
    """Return as many rows as fit into an answer, one at least."""
    return first_fitting(rows, MAX_SHOWN_BYTES, _as_json, batch=_BATCH, one_at_least=True)


def _as_json(rows: Any) -> bytes:
    return to_json(rows, exclude_none=True)


def finished(
    result: LspResult, rows: Sequence[ResultRow], shown: int, params: LspParams, context: ToolCallContext
) -> LspResult:
    """Return the result; where `shown` rows from the offset on are not all, it says so and names the
    file that holds them all. Blocking when that is so."""

    def whole() -> bytes:
        return b"\n".join([*(_as_json(row) for row in rows), b""])

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
