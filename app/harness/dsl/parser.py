"""YAML 1.2 text to nodes with positions, within fixed limits.

Owns: the core schema of YAML 1.2, and limits on size, depth, aliases and nodes, held before anything large is
built. Never: the meaning of a key. Tags are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from ruamel.yaml.reader import ReaderError

from app.harness.dsl.advice import of_yaml
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import DocumentPath, Node, Position, Scalar, SourceFile

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 50_000

_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_TRUE = re.compile(r"^(?:true|True|TRUE)$")
_FALSE = re.compile(r"^(?:false|False|FALSE)$")
_INTEGER = re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$")
_FLOAT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")
_NOT_FINITE = re.compile(r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Refused(Exception):
    """The document breaks a limit; reading it further makes no sense."""

    def __init__(self, code: str, message: str, event: Event | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.event = event


@dataclass(slots=True)
class _Open:
    """A map or list that is being read."""

    start: Event
    path: DocumentPath
    key: Position
    is_map: bool
    anchor: str | None
    entries: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    pending_key: tuple[str, Position] | None = None
    skip_value: bool = False
    weight: int = 1


def parse(data: bytes, source: SourceFile, bag: DiagnosticBag) -> Node | None:
    """Parse a document; None when it is empty or when an error was reported."""
    text = decode(data, source, bag)
    if text is None:
        return None
    source = replace(source, text=text)
    builder = _Builder(source, bag)
    # The scanner without comments is faster, and gives the same positions.
    try:
        return builder.read(YAML(typ="safe", pure=True).parse(text))
    except _Refused as refused:
        bag.error(refused.code, refused.message, builder.position_of(refused.event))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        problem = error.problem or error.context or "not YAML"
        opened = error.context_mark.line if error.context_mark is not None else None
        hint = of_yaml(problem, text, line - 1, column - 1, opened)
        bag.error("yaml_syntax", f"not valid YAML: {problem}{hint}", Position(source, line, column, ()))
    except ReaderError as error:
        position = Position(source, *_line_and_column(text, error.position), ())
        character = (
            error.character if isinstance(error.character, int) else ord(str(error.character)[:1] or "?")
        )
        bag.error("yaml_syntax", f"not valid YAML: character U+{character:04X} is not allowed", position)
    except (
        YAMLError,
        ValueError,
        LookupError,
        ArithmeticError,
        AttributeError,
        AssertionError,
        TypeError,
    ) as error:
        # The library lets such errors out for some malformed escapes, directives and indicators.
        bag.error("yaml_syntax", f"not valid YAML: {error}", Position(source, 1, 1, ()))
    return None


def decode(data: bytes, source: SourceFile, bag: DiagnosticBag) -> str | None:
    """Decode UTF-8 within the size limit; report and return None otherwise."""
    start = Position(source, 1, 1, ())
    if len(data) > MAX_BYTES:
        bag.error("file_too_large", f"{len(data)} bytes; a project file has at most {MAX_BYTES}", start)
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        position = Position(source, *_line_and_column(before, len(before)), ())
        byte = f"0x{data[error.start]:02x}"
        bag.error("invalid_utf8", f"byte {byte} is not UTF-8; save the file as UTF-8", position)
        return None


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[: max(0, offset)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


class _Builder:
    """Builds nodes from events with an explicit stack: no recursion that a document could exhaust."""

    def __init__(self, source: SourceFile, bag: DiagnosticBag) -> None:
        self._source = source
        self._bag = bag
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._open_anchors: set[str] = set()
        self._nodes = 0
        self._documents = 0
        self._root: Node | None = None

    def position_of(self, event: Event | None, path: DocumentPath = ()) -> Position:
        if event is None or event.start_mark is None:
            return Position(self._source, 1, 1, path)
        return Position(self._source, event.start_mark.line + 1, event.start_mark.column + 1, path)

    def read(self, events: Iterator[Event]) -> Node | None:
        for event in events:
            match event:
                case StreamStartEvent() | StreamEndEvent() | DocumentEndEvent():
                    continue
                case DocumentStartEvent():
                    self._start_document(event)
                case MappingStartEvent() | SequenceStartEvent():
                    self._open(event)
                case MappingEndEvent() | SequenceEndEvent():
                    self._close()
                case AliasEvent():
                    self._alias(event)
                case ScalarEvent():
                    self._scalar(event)
        return self._root

    def _start_document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _Refused("yaml_documents", "one file holds one document; remove the second `---`", event)
        if event.version is not None and tuple(event.version) != (1, 2):
            raise _Refused("yaml_version", "the project file is YAML 1.2; remove the %YAML line", event)

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _Refused("yaml_depth", f"nested deeper than {MAX_DEPTH} levels", event)
        self._count(1, event)
        path, key = self._position(event)
        self._refuse_tag(event, path, key)
        is_map = isinstance(event, MappingStartEvent)
        if event.anchor:
            self._open_anchors.add(event.anchor)
        self._stack.append(_Open(event, path, key, is_map, event.anchor))

    def _close(self) -> None:
        opened = self._stack.pop()
        value = opened.entries if opened.is_map else tuple(opened.items)
        node = Node(value, self.position_of(opened.start, opened.path), opened.key)
        if opened.anchor:
            self._open_anchors.discard(opened.anchor)
            self._anchors[opened.anchor] = (node, opened.weight)
        self._place(node, opened.weight, opened.start)

    def _alias(self, event: AliasEvent) -> None:
        name = event.anchor
        if name in self._open_anchors:
            raise _Refused("yaml_alias", f"alias *{name} stands inside what it stands for", event)
        if name not in self._anchors:
            raise _Refused(
                "yaml_alias",
                f"alias *{name} has no anchor before it; put a text that begins with `*` into quotes",
                event,
            )
        node, weight = self._anchors[name]
        self._count(weight, event)
        path, key = self._position(event)
        self._place(replace(node, position=self.position_of(event, path), key=key), weight, event)

    def _scalar(self, event: ScalarEvent) -> None:
        self._count(1, event)
        path, key = self._position(event)
        self._refuse_tag(event, path, key)
        position = self.position_of(event, path)
        if key.path == path and event.style is None and not event.value:
            position = key  # the scanner has gone on to the next line by then
        node = Node(self._resolve(event, position), position, key)
        if event.anchor:
            self._anchors[event.anchor] = (node, 1)
        self._place(node, 1, event)

    def _position(self, event: Event) -> tuple[DocumentPath, Position]:
        """The path of the value that starts now, and the position that names it."""
        if not self._stack:
            return (), self.position_of(event)
        parent = self._stack[-1]
        if not parent.is_map:
            path = (*parent.path, len(parent.items))
            return path, self.position_of(event, path)
        if parent.pending_key is not None:
            name, position = parent.pending_key
            return (*parent.path, name), position
        return parent.path, self.position_of(event, parent.path)

    def _place(self, node: Node, weight: int, event: Event) -> None:
        """Put a finished node where it belongs."""
        if not self._stack:
            self._root = node
            return
        parent = self._stack[-1]
        parent.weight += weight
        if not parent.is_map:
            parent.items.append(node)
        elif parent.skip_value:
            parent.skip_value = False
            parent.pending_key = None
        elif parent.pending_key is None:
            self._take_key(parent, node, event)
        else:
            parent.entries[parent.pending_key[0]] = node
            parent.pending_key = None

    def _take_key(self, parent: _Open, node: Node, event: Event) -> None:
        name = node.text
        if name is None:
            shown = event.value if isinstance(event, ScalarEvent) else node.kind
            self._bag.error(
                "yaml_key", f"keys are strings; put `{shown}` in quotes", self.position_of(event, parent.path)
            )
            parent.skip_value = True
            return
        path = (*parent.path, name)
        position = self.position_of(event, path)
        parent.pending_key = (name, position)
        first = parent.entries.get(name)
        if first is not None:
            self._bag.error(
                "duplicate_key",
                f"`{name}` stands here twice; first in line {first.key.line}: keep one of them",
                position,
            )
            parent.skip_value = True

    def _count(self, weight: int, event: Event) -> None:
        self._nodes += weight
        if self._nodes > MAX_NODES:
            raise _Refused("yaml_too_many_nodes", f"more than {MAX_NODES} values, aliases expanded", event)

    def _refuse_tag(self, event: Event, path: DocumentPath, key: Position) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) != "!":
            position = self.position_of(event, path or key.path)
            self._bag.error("yaml_tag", f"YAML tags are not allowed; remove `{tag}`", position)

    def _resolve(self, event: ScalarEvent, position: Position) -> Scalar:
        text: str = event.value
        if _SURROGATE.search(text):
            self._bag.error("yaml_character", "half of a surrogate pair is not a character", position)
            return _SURROGATE.sub("\ufffd", text)
        if event.style is not None:
            return text
        if _NULL.match(text):
            return None
        if _TRUE.match(text) or _FALSE.match(text):
            return bool(_TRUE.match(text))
        if _NOT_FINITE.match(text) or _INTEGER.match(text) or _FLOAT.match(text):
            return self._number(text, position)
        return text

    def _number(self, text: str, position: Position) -> int | float:
        """A number that JSON can carry: 64 bits, finite."""
        number: int | float = 1  # fits wherever a number does, so that one mistake is one finding
        if len(text) <= 64 and _INTEGER.match(text):
            number = int(text, 0) if text[:2] in ("0o", "0x") else int(text, 10)
        elif len(text) <= 64 and _FLOAT.match(text):
            number = float(text)
        else:
            self._bag.error(
                "yaml_number",
                f"`{text[:64]}` is not a number that can be used here; write a finite one, or remove the key",
                position,
            )
        if (isinstance(number, int) and not -(2**63) <= number < 2**63) or number in (
            float("inf"),
            float("-inf"),
        ):
            self._bag.error("yaml_number", f"`{text}` is out of range; numbers here have 64 bits", position)
            return 1
        return number
