"""Variables that an adapter answered, taken apart.

Owns: fetching what is in one, and its names on a path. Never: which scope or frame it is of, or how it
is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.tools.debug.call import DebugCall
from app.tools.processes.foreign_text import objects, one_line, whole_number

MAX_NAME = 300
MAX_REFERENCE = 2**53
MAX_VALUE = 1_000
MAX_FETCHED = 10_000
MAX_DIGITS = 15
TAKEN_AT_ONCE = 200
"""More variables than that are taken apart in a thread: cleaning 3,000 long ones takes 0.2 s."""
_DIGITS = re.compile(r"\d+")
_INDEX = re.compile(r"\.?(?:\[(\d{1,15})\]|(\d{1,15}))(?=[.\[]|$)")
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
    def length(self) -> int | None:
        """The length of the container, which debugpy reports as one of its children."""
        is_length = (
            self.name == "len()" and not self.reference and self.value.isdecimal() and len(self.value) < 16
        )
        return int(self.value) if is_length else None

    @property
    def stands_for_more(self) -> bool:
        """Whether it stands for the further elements of a list, in debugpy's way."""
        return self.name == "more" and self.type in {"MoreItems", "MoreItemsRange"} and self.reference > 0

    @property
    def is_cut_note(self) -> bool:
        """Whether it says that debugpy reports no more of a container."""
        return self.name == "Unable to handle:" and not self.reference

    @property
    def is_made_up(self) -> bool:
        """Whether it is no variable of the program at all."""
        return self.is_group or self.length is not None or self.stands_for_more or self.is_cut_note

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
    answer = await call.ask("variables", variablesReference=reference)
    few = len(objects(answer.get("variables"))) <= TAKEN_AT_ONCE
    return raw_variables(answer) if few else await call.aside(raw_variables, answer)


def proper(rows: Iterable[Raw]) -> list[Raw]:
    """Return those that are variables of the program."""
    return [one for one in rows if not one.is_made_up]


def name_within(parent: str, child: Raw) -> str:
    """Return the name of a child as an expression would have it: `user.name`, `items[3]`, `d['key']`."""
    name = child.name
    if _DIGITS.fullmatch(name) and len(name) < 16:
        name = f"[{int(name)}]"
    if not parent:
        return name
    if name.startswith("["):
        return f"{parent}{name}"
    if name.startswith("*"):
        return f"*{parent}"
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
    found = leading_index(rest)
    if found is None or not _DIGITS.fullmatch(child.bare) or len(child.bare) > MAX_DIGITS:
        return 0
    return found[1] if found[0] == int(child.bare) else 0


def leading_index(rest: str) -> tuple[int, int] | None:
    """Return the index at which a path continues (`[3]`, `.3`), and its length in the path."""
    found = _INDEX.match(rest)
    return None if found is None else (int(found[1] or found[2]), found.end())
