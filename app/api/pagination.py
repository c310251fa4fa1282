"""Pages of rows as pages of answers, and pages of lists that are in memory.

Owns: the conversion, and the choice of what is in a page of a list in memory. Never: the form of cursors
(`storage.pages` makes and reads them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from app.api.dependencies import PageRequest
from app.api.schemas.model import AnswerModel, PageOf
from app.storage.pages import Page, decode_cursor, encode_cursor

RowT = TypeVar("RowT")
AnswerT = TypeVar("AnswerT", bound=AnswerModel)


def answer_page(page: Page[RowT], convert: Callable[[RowT], AnswerT]) -> PageOf[AnswerT]:
    return PageOf(items=[convert(row) for row in page.items], next_cursor=page.next_cursor, total=page.total)


def page_by_name(
    kind: str, rows: Iterable[RowT], name_of: Callable[[RowT], str], page: PageRequest
) -> Page[RowT]:
    """Return one page of a list that is in memory, in the order of the rows' names or ids.

    `kind` distinguishes the cursors of this list from others. Raises `ValidationFailed` for a cursor
    that is not one of this list."""
    named = {name_of(row): row for row in rows}
    after = "" if page.cursor is None else decode_cursor(page.cursor, kind, (str,))[0]
    names = sorted(name for name in named if name > after)
    shown = names[: page.limit]
    more = encode_cursor(kind, (shown[-1],)) if len(names) > page.limit else None
    return Page([named[name] for name in shown], more, len(named))
