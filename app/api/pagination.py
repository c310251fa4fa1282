"""Pages of rows as pages of answers.

Owns: the conversion. Never: cursors (`storage.pages` makes and reads them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from app.api.schemas.model import AnswerModel, PageOf
from app.storage.pages import Page

RowT = TypeVar("RowT")
AnswerT = TypeVar("AnswerT", bound=AnswerModel)


def answer_page(page: Page[RowT], convert: Callable[[RowT], AnswerT]) -> PageOf[AnswerT]:
    """Return `page` with each row converted."""
    return PageOf(items=[convert(row) for row in page.items], next_cursor=page.next_cursor, total=page.total)
