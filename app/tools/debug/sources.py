"""Source files that an adapter names, as this caller may see them.

Owns: judging them by the caller's cage and rules, the shape of places and frames, previews of lines.
Never: asking the adapter; nor the content of a file that the caller may not read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from app.tools.debug.call import DebugCall, shown_path
from app.tools.debug.imported_names import imported_names
from app.tools.debug.results import Frame, Location, Source
from app.tools.processes.foreign_text import clean, one_line, whole_number
from app.tools.project_files.view import Verdict

MAX_NAME = 300
MAX_PATH = 4_096
MAX_PREVIEW = 300
MAX_ADDRESS = 100
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}(?![0-9A-Za-z_])")
_RUST_SIGNS = {
    "u7b": "{",
    "u7d": "}",
    "u20": " ",
    "u27": "'",
    "LT": "<",
    "GT": ">",
    "RF": "&",
    "BP": "*",
    "C": ",",
}
_RUST_SIGN = re.compile(rf"\$({'|'.join(_RUST_SIGNS)})\$")


@dataclass(frozen=True, slots=True)
class Seen:
    """A source that an adapter named. `parts` are below the root, None for one elsewhere; `shown` is how
    answers name it."""

    shown: str
    parts: tuple[str, ...] | None
    verdict: Verdict

    @property
    def is_readable(self) -> bool:
        return self.parts is not None and self.verdict == "inside"

    @property
    def beyond(self) -> bool | None:
        return True if self.parts is None and self.shown else None


class Sources:
    """The sources that one answer names; each is judged once. Blocking."""

    def __init__(self, call: DebugCall) -> None:
        self._call = call
        root = call.context.project_root
        roots = (os.path.realpath(root), os.path.abspath(root))
        self._roots = tuple(dict.fromkeys(one.rstrip("/") for one in roots))
        self._judged: dict[str, Seen] = {}

    def of(self, source: Any) -> Seen | None:
        """Judge a Source of the protocol; None for what is none, or may not be mentioned."""
        if not isinstance(source, dict):
            return None
        path, name = source.get("path"), source.get("name")
        text = path if isinstance(path, str) and path else name
        if not isinstance(text, str) or not text:
            return None
        if text not in self._judged:
            self._judged[text] = self._judge(text)
        seen = self._judged[text]
        return None if seen.verdict == "hidden" else seen

    def outside_cage(self, seen: Seen) -> bool | None:
        """True for what a caged caller may not read."""
        marked = seen.verdict == "outside" and (seen.parts is not None or self._call.view.restricts)
        return True if marked else None

    def location(self, frame: Any) -> Location | None:
        """Return where a StackFrame of the protocol is, with the line there if it may be read."""
        if not isinstance(frame, dict):
            return None
        seen, line = self.of(frame.get("source")), whole_number(frame.get("line"))
        name = function_name(one_line(frame.get("name"), MAX_NAME)) or None
        address = one_line(frame.get("instructionPointerReference"), MAX_ADDRESS) or None
        if seen is None or not line:
            return Location(function=name, address=address)
        return Location(
            path=seen.shown,
            line=line,
            column=_column(frame) if seen.is_readable else None,
            function=name,
            source_preview=self.preview(seen, line),
            outside_cage=self.outside_cage(seen),
            outside_project=seen.beyond,
        )

    def frame(self, number: int, frame: dict[str, Any]) -> Frame:
        """Return a StackFrame of the protocol as a row of the stack."""
        seen, line = self.of(frame.get("source")), whole_number(frame.get("line"))
        label = frame.get("presentationHint") == "label"
        readable = seen is not None and seen.is_readable
        return Frame(
            id=number,
            name=function_name(one_line(frame.get("name"), MAX_NAME)) or "?",
            path=seen.shown if seen is not None else None,
            line=line or None if seen is not None else None,
            column=_column(frame) if readable and line else None,
            address=one_line(frame.get("instructionPointerReference"), MAX_ADDRESS) or None,
            label=label or None,
            outside_cage=self.outside_cage(seen) if seen is not None else None,
            outside_project=seen.beyond if seen is not None else None,
        )

    def source(self, source: Any) -> Source | None:
        """Return a Source of the protocol as a row of a list; None for what may not be mentioned."""
        seen = self.of(source)
        if seen is None:
            return None
        return Source(path=seen.shown, outside_cage=self.outside_cage(seen), outside_project=seen.beyond)

    def preview(self, seen: Seen, line: int) -> str | None:
        """Return a line of a file that the caller may read."""
        if seen.parts is None or not seen.is_readable:
            return None
        path = "./" + "/".join(seen.parts)
        text = self._call.tooling.lines.line(self._call.workspace, path, line)
        return None if text is None else _preview(text)

    def imported(self, frame: dict[str, Any]) -> frozenset[str]:
        """Return the names that the imports of a frame's file bind; none of a file that may not be read."""
        seen = self.of(frame.get("source"))
        if seen is None or seen.parts is None or not seen.is_readable:
            return frozenset()
        text = self._call.tooling.lines.text(self._call.workspace, "./" + "/".join(seen.parts))
        return imported_names(text, os.path.splitext(seen.parts[-1])[1])

    def _judge(self, text: str) -> Seen:
        parts = self._below(text)
        if parts is None:
            return Seen(one_line(text, MAX_PATH), None, self._call.view.verdict_elsewhere())
        return Seen(one_line(shown_path(parts), MAX_PATH), parts, self._call.view.verdict(parts))

    def _below(self, path: str) -> tuple[str, ...] | None:
        """Also by its real name: an adapter may know a file by a link."""
        if not path.startswith("/") or "\0" in path or len(path) > MAX_PATH:
            return None
        for name in (os.path.normpath(path), os.path.realpath(path)):
            for root in self._roots:
                if name.startswith(f"{root}/"):
                    return tuple(name[len(root) + 1 :].split("/"))
        return None


def function_name(name: str) -> str:
    """Return the name of a function without what the compiler of Rust adds to it, and with the signs that it
    writes otherwise."""
    plain = _RUST_HASH.sub("", name)
    if "$" not in plain or "::" not in plain:
        return plain
    return (
        _RUST_SIGN.sub(lambda found: _RUST_SIGNS[found[1]], plain).replace("::_{", "::{").replace("..", "::")
    )


def _column(frame: dict[str, Any]) -> int | None:
    """Return the column from 0; adapters count from 1, and say 0 for none."""
    column = whole_number(frame.get("column"))
    return max(column - 1, 0) if column is not None else None


def _preview(text: str) -> str:
    """Keep the indentation: it shows where in its block a line is."""
    plain = text.rstrip().expandtabs(4)
    indentation = len(plain) - len(plain.lstrip())
    return " " * min(indentation, 40) + clean(plain.lstrip(), MAX_PREVIEW)
