"""Lists: iterate over all items, or take one page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kaged_client._call import Call
from kaged_client._model import Model

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """One page. `next_cursor` is None on the last one; `total` counts the items of all pages."""

    items: list[M]
    next_cursor: str | None
    total: int


def _page(data: dict[str, Any], cls: type[M]) -> Page[M]:
    return Page(
        [cls.from_json(item) for item in data["items"]], data.get("next_cursor"), data.get("total", 0)
    )


class Items(Generic[M]):
    """A list of the daemon. `for` reads page after page; `limit` is the size of a page."""

    def __init__(self, read: Callable[[Call], dict[str, Any]], call: Call, cls: type[M]) -> None:
        self._read, self._call, self._cls = read, call, cls

    def page(self) -> Page[M]:
        """Return the first page, or the one of the given `cursor`."""
        return _page(self._read(self._call), self._cls)

    def __iter__(self) -> Iterator[M]:
        call = self._call
        while True:
            page = _page(self._read(call), self._cls)
            yield from page.items
            if page.next_cursor is None:
                return
            call = call.with_query(cursor=page.next_cursor)


class AsyncItems(Generic[M]):
    """A list of the daemon. `async for` reads page after page; `limit` is the size of a page."""

    def __init__(self, read: Callable[[Call], Awaitable[dict[str, Any]]], call: Call, cls: type[M]) -> None:
        self._read, self._call, self._cls = read, call, cls

    async def page(self) -> Page[M]:
        """Return the first page, or the one of the given `cursor`."""
        return _page(await self._read(self._call), self._cls)

    async def __aiter__(self) -> AsyncIterator[M]:
        call = self._call
        while True:
            page = _page(await self._read(call), self._cls)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            call = call.with_query(cursor=page.next_cursor)
