"""What a call is about, one thing at a time: the unit that permission rules judge.

Owns: `Subject`. Never: finding subjects (`subjects`) or judging them (`decision`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SubjectKind = Literal["command", "path", "host", "call"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a call is about. `tools` are the tool's name and its action's, `capability`
    what use it makes of it (`shell`, `fs.write`), if any.

    `spellings` are texts that mean this subject, each with the number of leading characters that
    are certain; the first is the one shown, and the only one that may be allowed by. A `dynamic`
    subject might be anything at all.
    """

    kind: SubjectKind
    tools: tuple[str, ...]
    capability: str | None
    spellings: tuple[tuple[str, int], ...]
    dynamic: bool = False

    @property
    def text(self) -> str:
        return self.spellings[0][0]

    @property
    def permission(self) -> str:
        return self.capability or self.tools[-1]


def plain(text: str) -> tuple[tuple[str, int], ...]:
    """The spellings of a subject that is certain."""
    return ((text, len(text)),)
