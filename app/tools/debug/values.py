"""Variables that an adapter answered, taken apart.

Owns: fetching the children of one, their names on the way, their shape in answers, and bounds on all
of that. Never: which scope or frame they are of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.tools.debug.call import DebugCall
from app.tools.debug.results import Variable
from app.tools.foreign_text import objects, one_line, whole_number

MAX_NAME = 300
MAX_REFERENCE = 2**53
MAX_VALUE = 1_000
MAX_INNER_VALUE = 300
MAX_FETCHED = 10_000
MAX_CHILDREN = 50
MAX_ROWS = 1_000
MAX_BYTES = 100_000
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_DIGITS = re.compile(r"\d+")
_SIGILS = "@:$%&"


@dataclass(frozen=True, slots=True)
class Raw:
    """A Variable of the protocol. `reference` 0 means that there is nothing in it."""

    name: str
    value: str
    type: str | None
    reference: int
    named: int | None
    indexed: int | None
    memory: str | None
    lazy: bool

    @property
    def is_group(self) -> bool:
        """Whether it is no variable but a heading over some, as debugpy's "special variables"."""
        return not self.value and not self.type and self.reference > 0 and self.name.endswith(" variables")

    @property
    def is_made_up(self) -> bool:
        """Whether it is no variable at all: a heading, or debugpy's count of a container."""
        return self.is_group or (self.name == "len()" and not self.reference)

    @property
    def bare(self) -> str:
        """The name without what shows that it is an index, a key or an attribute."""
        name = self.name.strip()
        if name.startswith("[") and name.endswith("]"):
            name = name[1:-1].strip()
        if len(name) >= 2 and name[0] == name[-1] and name[0] in "'\"`":
            name = name[1:-1]
        return name.lstrip(_SIGILS) or name


def raw_variables(answer: dict[str, Any]) -> list[Raw]:
    """Take the answer to a `variables` request apart."""
    return [_raw(one) for one in objects(answer.get("variables"))[:MAX_FETCHED]]


def reference_of(one: dict[str, Any]) -> int:
    """Return by which number the inside of a value is asked for, 0 when there is nothing in it."""
    reference = one.get("variablesReference")
    return reference if type(reference) is int and 0 < reference <= MAX_REFERENCE else 0


def _raw(one: dict[str, Any]) -> Raw:
    hint = one.get("presentationHint")
    return Raw(
        name=one_line(one.get("name"), MAX_NAME) or "?",
        value=one_line(one.get("value"), MAX_VALUE),
        type=one_line(one.get("type"), MAX_NAME) or None,
        reference=reference_of(one),
        named=whole_number(one.get("namedVariables")),
        indexed=whole_number(one.get("indexedVariables")),
        memory=one_line(one.get("memoryReference"), MAX_NAME) or None,
        lazy=isinstance(hint, dict) and hint.get("lazy") is True,
    )


async def children_of(call: DebugCall, reference: int) -> list[Raw]:
    """Return what is in a scope or a variable, as much as is ever looked at."""
    return raw_variables(await call.ask("variables", variablesReference=reference))


async def page_of(call: DebugCall, parent: Raw, start: int, count: int) -> tuple[list[Raw], int]:
    """Return `count` children from `start` on, and how many there are. Long lists are fetched in part
    where the adapter can do that."""
    indexed = parent.indexed or 0
    if indexed <= MAX_CHILDREN:
        every = proper(await children_of(call, parent.reference))
        return every[start : start + count], len(every)
    named = []
    if parent.named:
        answer = await call.ask("variables", variablesReference=parent.reference, filter="named")
        named = proper(raw_variables(answer))
        named = [] if len(named) > parent.named + MAX_CHILDREN else named
    part = named[start : start + count]
    begin = max(start - len(named), 0)
    wanted = min(count - len(part), indexed - begin)
    if wanted > 0:
        answer = await call.ask(
            "variables", variablesReference=parent.reference, filter="indexed", start=begin, count=wanted
        )
        rows = raw_variables(answer)
        part += rows if len(rows) <= wanted else rows[begin : begin + wanted]
    return part, len(named) + indexed


async def indexed_child(call: DebugCall, parent: Raw, index: int) -> list[Raw]:
    """Return one of very many children, fetched alone where the adapter can do that."""
    answer = await call.ask(
        "variables", variablesReference=parent.reference, filter="indexed", start=index, count=1
    )
    return raw_variables(answer)


def proper(rows: Iterable[Raw]) -> list[Raw]:
    """Return those that are variables of the program."""
    return [one for one in rows if not one.is_made_up]


def name_within(parent: str, child: Raw) -> str:
    """Return the name of a child as an expression would have it: `user.name`, `items[3]`, `d['key']`."""
    name = child.name
    if not parent:
        return name
    if name.startswith("["):
        return f"{parent}{name}"
    if _DIGITS.fullmatch(name):
        return f"{parent}[{int(name)}]"
    if name[:1] in {"'", '"'}:
        return f"{parent}[{name}]"
    return f"{parent}.{name}"


def step_into(rest: str, children: Iterable[Raw]) -> tuple[Raw, str] | None:
    """Return the child that a path begins with, and the rest of the path after it. The longest name
    counts, so that keys with dots in them are found."""
    best: tuple[int, Raw] | None = None
    for child in children:
        length = max((_length(rest, one) for one in _spellings(child)), default=0)
        length = max(length, _index_length(rest, child))
        if length and (best is None or length > best[0]):
            best = (length, child)
    return None if best is None else (best[1], rest[best[0] :])


def _spellings(child: Raw) -> tuple[str, ...]:
    bare = child.bare
    quoted = (f"['{bare}']", f'["{bare}"]', f"[{bare}]")
    return (child.name, bare, f"[{child.name}]", *quoted)


def _length(rest: str, spelling: str) -> int:
    """Return how much of a path a name takes, 0 when the path does not go on with it."""
    for dot in ("", "."):
        whole = dot + spelling
        if rest.startswith(whole) and (len(rest) == len(whole) or rest[len(whole)] in ".["):
            return len(whole)
    return 0


def _index_length(rest: str, child: Raw) -> int:
    """As `_length`, for numbers: adapters may write index 3 as 03."""
    found = re.match(r"\.?(?:\[(\d{1,9})\]|(\d{1,9}))(?=[.\[]|$)", rest)
    if found is None or not _DIGITS.fullmatch(child.bare) or len(child.bare) > 9:
        return 0
    return found.end() if int(found[1] or found[2]) == int(child.bare) else 0


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
        rows, _ = await self._inner(reference, depth)
        return rows

    async def _with_children(self, row: Variable, one: Raw, depth: int) -> Variable:
        if depth <= 0 or not one.reference or one.lazy or self.is_full:
            return row
        children, more = await self._inner(one.reference, depth, one)
        inside = [child.model_dump(exclude_none=True) for child in children]
        return row.model_copy(update={"children": inside, "more": more or None})

    async def _inner(
        self, reference: int, depth: int, parent: Raw | None = None
    ) -> tuple[list[Variable], int]:
        if parent is not None and parent.indexed:
            part, total = await page_of(self._call, parent, 0, MAX_CHILDREN)
        else:
            every = proper(await children_of(self._call, reference))
            part, total = every[:MAX_CHILDREN], len(every)
        rows: list[Variable] = []
        for one in part:
            if self.is_full:
                break
            row = self._row(one, one.name, MAX_INNER_VALUE)
            rows.append(await self._with_children(row, one, depth - 1))
        return rows, total - len(rows)

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
