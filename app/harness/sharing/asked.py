"""What is asked for when a session is shared, and the parts that the file is made of.

Owns: the words for what may be included, and the parts. Pure. Never: reading or writing them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Format = Literal["html", "markdown"]
CallState = Literal["done", "failed", "without a result"]
Included = Literal["results", "thinking", "subagents", "images"]

INCLUDABLE: tuple[Included, ...] = ("results", "thinking", "subagents", "images")
"""What leaves only when it is asked for. `results` are the complete arguments and results of tool calls, the
contents of attached files, and the notes of the daemon to its model."""

SUFFIX: dict[Format, str] = {"html": "html", "markdown": "md"}
MEDIA_TYPE: dict[Format, str] = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The format, and what is included beside the messages."""

    format: Format
    include: frozenset[Included]

    @classmethod
    def of(cls, format_: Format, include: Iterable[Included]) -> Wanted:
        return cls(format_, frozenset(include))


@dataclass(frozen=True, slots=True)
class Image:
    """An image; `data` is base64, and None where images do not leave."""

    media_type: str
    size: int
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the operator, or an answer of an agent. `markdown` is false for what is shown as it is."""

    number: int
    who: Literal["operator", "agent"]
    at: int
    text: str
    markdown: bool = True
    model: str = ""
    images: tuple[Image, ...] = ()
    attached: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model thought before it answered."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call. `arguments` and `result` are None where results do not leave."""

    name: str
    about: str
    state: CallState
    arguments: str | None = None
    result: str | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Noted:
    """A line between messages; `text` is what stands behind it."""

    line: str
    text: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """Here a subagent has worked: what it said follows, up to `Joined`."""

    run_id: str
    agent: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The end of what a subagent said."""


Part = Said | Thought | Called | Noted | Branch | Joined
