"""Children of variables that have very many: a page of them, or one by its index.

Owns: asking for a part where the adapter can give one, and reading the ways in which adapters cut long
lists by themselves. Never: the shape of a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.tools.debug.call import DebugCall
from app.tools.debug.values import Raw, children_of, proper, raw_variables

FETCHED_WHOLE = 100
_RANGE = re.compile(r"\[(\d{1,15}):(\d{1,15})\]")


@dataclass(frozen=True, slots=True)
class Page:
    """Some children, how many there are, and whether the adapter reports no more of them than these."""

    rows: list[Raw]
    total: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Bucket:
    """A part of a long list that debugpy puts into a variable of its own."""

    first: int
    end: int
    reference: int


async def page_of(call: DebugCall, parent: Raw, start: int, count: int) -> Page:
    """Return `count` children from `start` on."""
    if (parent.indexed or 0) > FETCHED_WHOLE:
        return await _indexed_page(call, parent, start, count)
    return await page_among(call, await children_of(call, parent.reference), start, count)


async def page_among(call: DebugCall, children: Sequence[Raw], start: int, count: int) -> Page:
    """As `page_of`, for children that have been fetched; what they stand for is fetched too."""
    rows = proper(children)
    buckets = await _buckets(call, children)
    if not buckets:
        length = next((one.length for one in children if one.length is not None), len(rows))
        cut = any(one.is_cut_note for one in children)
        return Page(rows[start : start + count], max(length, len(rows)) if cut else len(rows), cut)
    elements = [one for one in rows if one.bare.isdecimal()]
    others = [one for one in rows if not one.bare.isdecimal()]  # attributes of a class of the program's own
    part, end, length = elements[start : start + count], start + count, buckets[-1].end
    for bucket in buckets:
        if bucket.first < end and start < bucket.end:
            inside = await children_of(call, bucket.reference)
            part += inside[max(start - bucket.first, 0) : end - bucket.first]
    part += others[max(start - length, 0) : max(end - length, 0)]
    return Page(part, length + len(others))


async def child_by_index(call: DebugCall, parent: Raw, children: Sequence[Raw], index: int) -> list[Raw]:
    """Return the child with an index that is not among those fetched; none where it is not to be had."""
    if parent.indexed is not None and index < parent.indexed:
        answer = await call.ask(
            "variables", variablesReference=parent.reference, filter="indexed", start=index, count=1
        )
        return raw_variables(answer)
    for bucket in await _buckets(call, children):
        if bucket.first <= index < bucket.end:
            return (await children_of(call, bucket.reference))[index - bucket.first :][:1]
    return []


async def _indexed_page(call: DebugCall, parent: Raw, start: int, count: int) -> Page:
    """Ask for the elements in part; what is named stands after them."""
    indexed, end = parent.indexed or 0, start + count
    part: list[Raw] = []
    if start < indexed:
        wanted = min(end, indexed) - start
        answer = await call.ask(
            "variables", variablesReference=parent.reference, filter="indexed", start=start, count=wanted
        )
        part = _elements(raw_variables(answer), start, wanted)
    if end <= indexed or not parent.named:
        return Page(part, indexed + (parent.named or 0))
    answer = await call.ask("variables", variablesReference=parent.reference, filter="named")
    # An adapter that takes no notice of the filter answers everything.
    named = [one for one in proper(raw_variables(answer)) if not one.bare.isdecimal()]
    return Page(part + named[max(start - indexed, 0) : end - indexed], indexed + len(named))


def _elements(rows: list[Raw], first: int, wanted: int) -> list[Raw]:
    """Return what was asked for out of an answer: js-debug adds the prototype to each part, and an adapter
    that takes no notice of the part answers all elements."""
    elements = [one for one in rows if one.bare.isdecimal()] or rows
    if len(elements) >= first + wanted > wanted:
        return elements[first : first + wanted]
    return elements[:wanted]


async def _buckets(call: DebugCall, children: Sequence[Raw]) -> list[Bucket]:
    more = next((one for one in children if one.stands_for_more), None)
    if more is None:
        return []
    whole = _bucket(more)
    found = [whole] if whole else [_bucket(one) for one in await children_of(call, more.reference)]
    return [one for one in found if one is not None]


def _bucket(one: Raw) -> Bucket | None:
    span = _RANGE.fullmatch(one.value)
    return Bucket(int(span[1]), int(span[2]), one.reference) if span and one.reference else None
