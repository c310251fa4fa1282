"""What a summary keeps word for word, taken from the data and not from a model's memory.

Owns: open todos, unanswered questions, paths that tools were called with, and decisions; their place in
a summary, and their way from one summary into the next. Pure. Never: the summary's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.harness.compaction.units import Unit
from app.harness.conversation.estimate import estimate_text
from app.messages import AssistantMessage, TextBlock, ToolCallBlock, UserMessage

PATH_ARGUMENTS = frozenset(
    {"path", "paths", "file", "files", "file_path", "source", "destination", "from_path", "to_path"}
)
"""Names of arguments by which tools take paths."""

_NOT_A_PATH = frozenset({"", ".", "./", "/"})
_MAX_LINE = 2_000
_FRAME_TOKENS = 60
_TITLES = {
    "Open todos": "todos",
    "Unanswered questions": "questions",
    "Files touched": "paths",
    "Decisions": "decisions",
}
_DECISION = re.compile(r"\b(?:decided|decisions?|agreed)\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+")


@dataclass(slots=True)
class Facts:
    """Lists without repetition, the oldest first; open todos and questions are those of now.

    `left_out` counts, by list, the oldest ones that there was no room for."""

    todos: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """Return what a later summary takes over; todos and questions are looked up again then."""
        return {"paths": self.paths, "decisions": self.decisions, "left_out": self.left_out}

    def take_headed(self, summary: str) -> None:
        """Take over the lines that a summarizer lists under a heading about decisions."""
        inside = False
        known = set(self.decisions)
        for line in summary.splitlines():
            if _is_heading(line):
                inside = "decision" in line.lower()
            elif inside and (said := _BULLET.sub("", line).strip()) and said not in known:
                known.add(said)
                self.decisions.append(said[:_MAX_LINE])

    def shorten(self, max_tokens: int) -> None:
        """Leave out what there is no room for: the oldest paths first, then the oldest decisions."""
        room = max_tokens - sum(_cost(line) for line in (*self.todos, *self.questions)) - _FRAME_TOKENS
        for name, share in (("decisions", 0.6), ("paths", 1.0)):
            lines: list[str] = getattr(self, name)
            left, keep = room * share, 0
            while keep < len(lines) and (left := left - _cost(lines[-1 - keep])) >= 0:
                keep += 1
            if keep < len(lines):
                self.left_out[name] = self.left_out.get(name, 0) + len(lines) - keep
                del lines[: len(lines) - keep]
            room -= sum(map(_cost, lines))

    def text(self) -> str:
        """Return the facts as the end of a summary; empty when there are none."""
        parts = []
        for title, name in _TITLES.items():
            shown = [f"- {line}" for line in getattr(self, name)]
            if name in self.left_out:
                shown.insert(0, f"- ({self.left_out[name]} older ones are left out)")
            if shown:
                parts.append("\n".join((f"### {title}", *shown)))
        return "\n\n".join(("## Kept word for word", *parts)) if parts else ""


def facts_of(units: Iterable[Unit], todos: Sequence[str] = (), questions: Sequence[str] = ()) -> Facts:
    """Return the facts in the units that go, and those that earlier summaries among them kept."""
    paths: dict[str, None] = {}
    decisions: dict[str, None] = {}
    left_out: dict[str, int] = {}
    for unit in units:
        for entry in unit.entries:
            if entry.facts is not None:
                paths |= dict.fromkeys(_texts(entry.facts.get("paths")))
                decisions |= dict.fromkeys(_texts(entry.facts.get("decisions")))
                for name, count in (entry.facts.get("left_out") or {}).items():
                    left_out[name] = left_out.get(name, 0) + int(count)
                continue
            message = entry.message
            if not isinstance(message, UserMessage | AssistantMessage):
                continue
            for block in message.blocks:
                if isinstance(block, ToolCallBlock):
                    paths |= dict.fromkeys(paths_in(block.arguments))
                elif isinstance(block, TextBlock):
                    decisions |= dict.fromkeys(_decisions(block.text))
    return Facts(list(todos), list(questions), list(paths), list(decisions), left_out)


def paths_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the paths that a tool was called with, also those in nested objects."""
    found: list[str] = []
    for name, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, Mapping):
                found += paths_in(one)
            elif isinstance(one, str) and name in PATH_ARGUMENTS and one.strip() not in _NOT_A_PATH:
                found.append(one[:_MAX_LINE])
    return found


def _decisions(text: str) -> list[str]:
    if _DECISION.search(text) is None:
        return []
    lines = (line.strip() for line in text.splitlines() if _DECISION.search(line) is not None)
    return [_BULLET.sub("", line)[:_MAX_LINE] for line in lines if line and not _is_heading(line)]


def _is_heading(line: str) -> bool:
    """Tell whether a line is a Markdown heading, or begins in bold as one."""
    bare = line.strip()
    return (len(bare) > 1 and bare.startswith("#")) or (len(bare) > 2 and bare.startswith("**"))


def _cost(line: str) -> int:
    return estimate_text(line) + 2


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
