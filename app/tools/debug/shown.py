"""Rows of variables, as an answer shows them.

Owns: their shape, the levels below them, and bounds on how many there are and how large. Never: finding
the variables.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.tools.debug.call import DebugCall
from app.tools.debug.long_lists import Page, page_among, page_of
from app.tools.debug.results import Variable
from app.tools.debug.values import MAX_VALUE, Raw, children_of, name_within
from app.tools.processes.foreign_text import one_line

MAX_INNER_VALUE = 300
MAX_CHILDREN = 50
MAX_ROWS = 1_000
MAX_BYTES = 100_000


class Shown:
    """Rows of one answer: how many there are and how large they are is bounded for all together."""

    def __init__(self, call: DebugCall) -> None:
        self._call = call
        self._rows = 0
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._rows >= MAX_ROWS or self._size >= MAX_BYTES

    async def rows(self, part: Sequence[Raw], parent: str, depth: int) -> list[Variable]:
        """Return the variables as an answer shows them, `depth` levels of them; as many as fit."""
        shown: list[Variable] = []
        for one in part:
            if self.is_full:
                break
            row = self._row(one, name_within(parent, one), MAX_VALUE)
            shown.append(await self._with_children(row, one, depth - 1))
        return shown

    async def of_reference(self, reference: int, depth: int) -> list[Variable]:
        """Return what is in an evaluated value, `depth` levels of it."""
        children = await children_of(self._call, reference)
        return await self._inner(await page_among(self._call, children, 0, MAX_CHILDREN), depth)

    def alone(self, one: Raw, name: str) -> Variable:
        """Return a variable in which there is nothing further."""
        return self._row(one, name, MAX_VALUE)

    async def _with_children(self, row: Variable, one: Raw, depth: int) -> Variable:
        if depth <= 0 or not one.reference or one.lazy or self.is_full:
            return row
        page = await page_of(self._call, one, 0, MAX_CHILDREN)
        children = await self._inner(page, depth)
        inside = [child.model_dump(exclude_none=True) for child in children]
        more = page.total - len(children)
        return row.model_copy(update={"children": inside, "more": more or None})

    async def _inner(self, page: Page, depth: int) -> list[Variable]:
        rows: list[Variable] = []
        for one in page.rows:
            if self.is_full:
                break
            row = self._row(one, name_within("", one), MAX_INNER_VALUE)
            rows.append(await self._with_children(row, one, depth - 1))
        return rows

    def _row(self, one: Raw, name: str, most: int) -> Variable:
        row = Variable(
            name=name,
            value=one_line(one.value, most),
            type=one.type,
            expandable=True if one.reference else None,
            memory_reference=one.memory,
        )
        self._rows += 1
        self._size += len(row.name) + len(row.value) + len(row.type or "") + 40
        return row
