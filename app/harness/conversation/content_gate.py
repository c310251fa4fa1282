"""The content gate of one agent: what of a message comes from a file that its model must not be sent.

Owns: knowing that by the paths that a tool result names, by diffs and numbered lines, and by the files' own
lines. Blocks. Never: when messages are examined, or the note in a row (`withheld`).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import xxhash

from app.errors import ToolError
from app.harness.conversation.gated_lines import MIN_CHARACTERS, GatedLines, lines_of
from app.harness.conversation.withheld import Cut, Cuts, result_without, user_message_without
from app.messages import ModelMessage, TextBlock, ToolCallBlock, ToolResult, ToolResultsMessage, UserMessage
from app.tools.search.glob_pattern import parse_glob
from app.workspace import locate

_PATH_KEYS = ("path", "file", "file_path", "filePath", "new_path")
_COMMIT = re.compile(r"commit [0-9a-f]{7,}")
_ATTACHMENT = re.compile(r"<attachment name=(['\"])(.*?)\1>\n")
_MAX_PREFIX = 300
_MAX_GAP = 200


def note_of(path: str) -> str:
    """Return what stands in the place of withheld content, in one line."""
    return f"[withheld: {orjson.dumps(path).decode()[1:-1]} (content_gates)]"


class _Part(NamedTuple):
    """A part of a text that comes from a withheld file; `is_json` says that it is a whole JSON value."""

    start: int
    end: int
    path: str
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class Examined:
    """A message as the model is sent it. `cuts` are by the tool call that they are in the result of, "" in
    other messages; `paths` are the withheld files, one for each cut."""

    message: ModelMessage
    cuts: Mapping[str, Cuts]
    paths: tuple[str, ...]


class ContentGate:
    """`globs` name files and folders below `root`; a glob without a slash is meant at any depth."""

    def __init__(self, root: Path, globs: tuple[str, ...]) -> None:
        self.globs = globs
        self.digest = xxhash.xxh3_64_hexdigest("\0".join(globs).encode())
        self._root = root
        self._patterns = [parse_glob(glob).compiled() for glob in globs]
        self._lines = GatedLines(root, globs, self._matches)
        self._known: dict[str, str | None] = {}
        self._lock = threading.Lock()

    def examine(self, messages: Sequence[tuple[ModelMessage, Mapping[str, ToolCallBlock]]]) -> list[Examined]:
        """Return each message without what comes from withheld files. Beside a message are the calls that it
        has the results of, by id."""
        with self._lock:
            self._known.clear()
            self._lines.refresh()
            return [self._examined(message, calls) for message, calls in messages]

    # -- inside -----------------------------------------------------------------------------

    def _examined(self, message: ModelMessage, calls: Mapping[str, ToolCallBlock]) -> Examined:
        cuts: dict[str, Cuts] = {}
        paths: list[str] = []
        if isinstance(message, ToolResultsMessage):
            results = []
            for result in message.results:
                parts = self._of_result(result, calls.get(result.tool_call_id))
                own = _cuts(0, parts)
                if parts and parts[0] == _whole(result.content, parts[0].path):
                    own += tuple(Cut(n + 1, 0, 0, "") for n in range(len(result.images)))
                results.append(result_without(result, own) if own else result)
                if own:
                    cuts[result.tool_call_id] = own
                    paths += [part.path for part in parts]
            return Examined(
                ToolResultsMessage(results=tuple(results)) if cuts else message, cuts, tuple(paths)
            )
        if isinstance(message, UserMessage):
            own = ()
            for index, block in enumerate(message.blocks):
                parts = self._of_text(block.text) if isinstance(block, TextBlock) else []
                own += _cuts(index, parts)
                paths += [part.path for part in parts]
            if own:
                return Examined(user_message_without(message, own), {"": own}, tuple(paths))
        return Examined(message, {}, ())

    def _of_result(self, result: ToolResult, call: ToolCallBlock | None) -> list[_Part]:
        content = result.content
        head, body = _head(content)
        own = [*_paths(head), *_paths(None if call is None else call.arguments)]
        for path in own:
            withheld = self._withheld(path)
            if withheld is not None:
                return [] if content == note_of(withheld) else [_whole(content, withheld)]
        walk = _Rows(content[:body], self._withheld)
        if not walk.look(head):
            return [_whole(content, walk.rows[-1].path)]
        lines = [
            part
            for part in self._of_lines(content)
            if not any(start <= part.start < end for start, end in walk.others)
        ]
        if any(map(self._names, own)):
            # Lines that both files have are no copy: imports, braces, licences.
            sizeable = sum(len(line.strip()) >= MIN_CHARACTERS for line in content[body:].split("\n"))
            lines = lines if 2 * len(lines) >= sizeable else []
        return _joined(content, [*walk.rows, *self._of_prefixes(content, body), *lines])

    def _of_text(self, text: str) -> list[_Part]:
        attached = _ATTACHMENT.match(text)
        named = None if attached is None else self._withheld(attached[2])
        if named is not None:
            return [] if text == note_of(named) else [_whole(text, named)]
        return _joined(text, [*self._of_prefixes(text, 0), *self._of_lines(text)])

    def _of_lines(self, text: str) -> list[_Part]:
        return [_Part(*found) for found in self._lines.occurrences(text)]

    def _of_prefixes(self, text: str, start: int) -> Iterator[_Part]:
        """Yield the parts of diffs about a withheld file, and lines that begin with its path and a colon."""
        section: str | None = None
        for begin, end in lines_of(text):
            if begin < start:
                continue
            line = text[begin : min(end, begin + _MAX_PREFIX)]
            if line.startswith("diff --"):
                section = next(filter(None, map(self._named, _compared(line))), None)
            elif _COMMIT.match(line):
                section = None
            path, colon, _ = line.partition(":")
            withheld = section or (self._named(path.strip()) if colon else None)
            if withheld is not None and begin < end:
                yield _Part(begin, end, withheld)

    def _matches(self, path: str) -> bool:
        return any(pattern.fullmatch(path) for pattern in self._patterns)

    def _withheld(self, path: str) -> str | None:
        """Return the withheld file that a path names, also when links lead there."""
        if path not in self._known:
            target = self._root.joinpath(*self._names(path))
            self._known[path] = self._named(path) or self._named(os.path.realpath(target))
        return self._known[path]

    def _named(self, path: str) -> str | None:
        """Return the withheld file that a path names by its text."""
        names = self._names(path)
        covered = any(self._matches("/".join(names[: end + 1])) for end in range(len(names)))
        return "/".join(names) if covered else None

    def _names(self, path: str) -> tuple[str, ...]:
        """Return the names of a path below the root; none for the root itself and what is not below it."""
        try:
            return locate(self._root, path).parts
        except ToolError:
            return ()


class _Rows:
    """The values of a JSON head that name a path: `rows` are withheld, `others` are not."""

    def __init__(self, head: str, withheld: Callable[[str], str | None]) -> None:
        self.rows: list[_Part] = []
        self.others: list[tuple[int, int]] = []
        self._head = head
        self._withheld = withheld
        self._at = 0

    def look(self, value: Any) -> bool:
        """Walk through a value; False when a withheld part of it is not found again in the text."""
        pairs: Iterable[tuple[str, Any]] = ()
        if isinstance(value, dict):
            pairs = value.items()
        elif isinstance(value, list):
            pairs = (("", one) for one in value if isinstance(one, dict | list))
        return all(self._look_at(key, one) for key, one in pairs)

    def _look_at(self, key: str, value: Any) -> bool:
        paths = [*_paths(value), *([key] if "/" in key or "." in key else [])]
        if not paths:
            return self.look(value)
        before = f"{_dumped(key)}:" if key else ""
        start = self._head.find(before + _dumped(value), self._at)
        withheld = next(filter(None, map(self._withheld, paths)), None)
        if withheld is None:
            if start >= 0:
                self._at = start
                self.others.append((start, start + len(before) + len(_dumped(value))))
            return self.look(value)
        self._at = start + len(before) + len(_dumped(value))
        self.rows.append(_Part(start + len(before), self._at, withheld, is_json=True))
        return start >= 0


def _dumped(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _head(content: str) -> tuple[Any, int]:
    """Return the JSON that a result begins with and where its body starts; None without any."""
    first, _, _ = content.partition("\n")
    try:
        return orjson.loads(first), min(len(first) + 1, len(content))
    except ValueError:
        return None, 0


def _paths(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [value[key] for key in _PATH_KEYS if isinstance(value.get(key), str)]


def _compared(line: str) -> tuple[str, ...]:
    """Return the files that the first line of a diff names."""
    if not line.startswith("diff --git "):
        return (line.split(" ", 2)[-1].strip(),)
    before, _, after = line.removeprefix("diff --git ").replace('"', "").rstrip().partition(" b/")
    return before.removeprefix("a/"), after


def _whole(text: str, path: str) -> _Part:
    return _Part(0, len(text), path)


def _cuts(block: int, parts: list[_Part]) -> Cuts:
    notes = ((part, note_of(part.path)) for part in parts)
    return tuple(
        Cut(block, part.start, part.end, _dumped(note) if part.is_json else note) for part, note in notes
    )


def _joined(text: str, parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts in order, without overlaps; neighbours from one file are one part."""
    joined: list[_Part] = []
    for part in sorted(parts, key=lambda one: (one.start, -one.end)):
        last = joined[-1] if joined else None
        if last is not None and (part.start < last.end or _neighbours(text, last, part)):
            joined[-1] = last._replace(end=max(last.end, part.end))
        else:
            joined.append(part)
    return joined


def _neighbours(text: str, one: _Part, other: _Part) -> bool:
    if (one.path, one.is_json) != (other.path, other.is_json) or other.start - one.end > _MAX_GAP:
        return False
    gap = text[one.end : other.start]
    if one.is_json:
        return gap == ","
    return all(len(gap[start:end].strip()) < MIN_CHARACTERS for start, end in lines_of(gap))
