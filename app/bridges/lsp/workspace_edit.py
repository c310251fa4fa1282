"""What a language server wants changed, taken apart and checked before anything is touched.

Owns: the protocol's workspace edits as an ordered plan, and text edits applied to a text. Never:
reading or writing files, or deciding who may.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.lsp.file_uris import ForeignUri, path_to_uri, uri_to_path
from app.bridges.lsp.positions import Encoding, LineIndex

__all__ = [
    "Annotation",
    "CreateFile",
    "DeleteFile",
    "EditPlan",
    "ForeignUri",
    "MalformedEdit",
    "Operation",
    "RenameFile",
    "TextEdit",
    "TextEdits",
    "apply_text_edits",
    "parse_workspace_edit",
    "path_to_uri",
    "prevailing_line_end",
    "uri_to_path",
]
MAX_OPERATIONS = 10_000
MAX_EDITS = 200_000
MAX_NEW_TEXT = 64 * 1024 * 1024
"""The limit for all new texts together, in code points."""
_MAX_NUMBER = 2**31 - 1
_LINE_END = re.compile(r"\r\n|\r|\n")


class MalformedEdit(Exception):
    """The server's edit does not fit the protocol, or is more than is taken; says what is wrong."""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """`start` and `end` are lines from 0 and characters in the server's units."""

    start: tuple[int, int]
    end: tuple[int, int]
    new_text: str
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class TextEdits:
    """All edits of one state of a file; they refer to the same text. `version` is that of the
    document they were computed for, None where the server does not say."""

    path: Path
    version: int | None
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class CreateFile:
    path: Path
    overwrite: bool = False
    ignore_if_exists: bool = False
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class RenameFile:
    """A file or a folder."""

    old: Path
    new: Path
    overwrite: bool = False
    ignore_if_exists: bool = False
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    path: Path
    recursive: bool = False
    ignore_if_missing: bool = False
    annotation: str | None = None


Operation = TextEdits | CreateFile | RenameFile | DeleteFile


@dataclass(frozen=True, slots=True)
class Annotation:
    """A note of the server on a part of the edit. `label` and `description` are for people."""

    identifier: str
    label: str
    needs_confirmation: bool
    description: str | None = None


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What to do, in order. `annotations` are those that operations or edits refer to."""

    operations: tuple[Operation, ...] = ()
    annotations: tuple[Annotation, ...] = ()

    @property
    def needs_confirmation(self) -> tuple[Annotation, ...]:
        """The annotations that the server wants a human to confirm."""
        return tuple(note for note in self.annotations if note.needs_confirmation)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that is written, made, renamed (both names) or deleted, once, in order."""
        found: dict[Path, None] = {}
        for operation in self.operations:
            if isinstance(operation, RenameFile):
                found[operation.old] = None
                found[operation.new] = None
            else:
                found[operation.path] = None
        return tuple(found)


def parse_workspace_edit(
    edit: Any, *, max_operations: int = MAX_OPERATIONS, max_edits: int = MAX_EDITS
) -> EditPlan:
    """Return the plan of a WorkspaceEdit; an empty one for null.

    `documentChanges` wins over `changes` unless it is empty. Edits of one file between which no
    file is created, renamed or deleted refer to the same text and become one operation. Snippets
    are refused: kaged does not offer them, and their placeholders are choices for a human at a
    cursor. Raises MalformedEdit, also for what is no file of this machine.
    """
    if edit is None:
        return EditPlan()
    whole = _mapping(edit, "the workspace edit")
    return _Parser(max_operations, max_edits).parse(whole)


class _Parser:
    def __init__(self, max_operations: int, max_edits: int) -> None:
        self._max_operations = max_operations
        self._max_edits = max_edits
        self._edits = 0
        self._new_text = 0
        self._operations: list[Operation] = []
        self._open: dict[Path, int] = {}
        self._used: dict[str, None] = {}

    def parse(self, whole: Mapping[str, Any]) -> EditPlan:
        changes, ordered = whole.get("changes"), whole.get("documentChanges")
        if ordered is not None and not isinstance(ordered, list):
            raise MalformedEdit("documentChanges is not a list")
        if ordered:
            for one in ordered:
                self._document_change(_mapping(one, "an entry of documentChanges"))
        elif changes is not None:
            for uri, edits in _mapping(changes, "changes").items():
                self._add_edits(_path(uri), None, edits)
        notes = whole.get("changeAnnotations")
        known = {} if notes is None else _mapping(notes, "changeAnnotations")
        used = tuple(_annotation(identifier, known.get(identifier)) for identifier in self._used)
        return EditPlan(tuple(self._operations), used)

    def _document_change(self, one: Mapping[str, Any]) -> None:
        kind = one.get("kind")
        if kind is None:
            document = _mapping(one.get("textDocument"), "textDocument")
            version = document.get("version")
            if version is not None and type(version) is not int:
                raise MalformedEdit("a document's version is not a number")
            self._add_edits(_path(document.get("uri")), version, one.get("edits"))
            return
        given = one.get("options")
        options = {} if given is None else _mapping(given, "options")
        overwrite, ignore = _flag(options, "overwrite"), _flag(options, "ignoreIfExists")
        note = self._note(one)
        operation: Operation
        if kind == "create":
            operation = CreateFile(_path(one.get("uri")), overwrite, ignore, note)
        elif kind == "rename":
            old, new = _path(one.get("oldUri")), _path(one.get("newUri"))
            operation = RenameFile(old, new, overwrite, ignore, note)
        elif kind == "delete":
            recursive, missing = _flag(options, "recursive"), _flag(options, "ignoreIfNotExists")
            operation = DeleteFile(_path(one.get("uri")), recursive, missing, note)
        else:
            raise MalformedEdit(f"an operation of an unknown kind: {str(kind)[:40]!r}")
        self._open.clear()
        self._add(operation)

    def _add_edits(self, path: Path, version: int | None, edits: Any) -> None:
        parsed = self.text_edits(edits)
        place = self._open.get(path)
        if place is None:
            self._open[path] = len(self._operations)
            self._add(TextEdits(path, version, parsed))
            return
        earlier = self._operations[place]
        assert isinstance(earlier, TextEdits)
        if None not in {version, earlier.version} and version != earlier.version:
            raise MalformedEdit(f"edits of two versions of {path.name[:80]} in one step")
        known = earlier.version if version is None else version
        self._operations[place] = TextEdits(path, known, earlier.edits + parsed)

    def _add(self, operation: Operation) -> None:
        if len(self._operations) >= self._max_operations:
            raise MalformedEdit(f"the edit concerns more than {self._max_operations} files")
        self._operations.append(operation)

    def text_edits(self, edits: Any) -> tuple[TextEdit, ...]:
        if edits is None:
            return ()
        if not isinstance(edits, list):
            raise MalformedEdit("a list of edits is missing")
        self._edits += len(edits)
        if self._edits > self._max_edits:
            raise MalformedEdit(f"the edit consists of more than {self._max_edits} edits")
        return tuple(self._text_edit(_mapping(one, "an edit")) for one in edits)

    def _text_edit(self, one: Mapping[str, Any]) -> TextEdit:
        if "snippet" in one or one.get("insertTextFormat") not in {None, 1}:
            raise MalformedEdit("the edit is a snippet, which was not offered")
        text = one.get("newText")
        if not isinstance(text, str):
            raise MalformedEdit("an edit has no newText")
        self._new_text += len(text)
        if self._new_text > MAX_NEW_TEXT:
            raise MalformedEdit(f"the new text is longer than {MAX_NEW_TEXT} characters")
        span = _mapping(one.get("range"), "range")
        start, end = _position(span.get("start")), _position(span.get("end"))
        if end < start:
            raise MalformedEdit("an edit ends before it starts")
        return TextEdit(start, end, text, self._note(one))

    def _note(self, one: Mapping[str, Any]) -> str | None:
        identifier = one.get("annotationId")
        if identifier is None:
            return None
        if not isinstance(identifier, str):
            raise MalformedEdit("annotationId is not a text")
        self._used[identifier] = None
        return identifier


def _annotation(identifier: str, given: Any) -> Annotation:
    """An annotation that the server refers to but does not give is taken as one to confirm."""
    if given is None:
        return Annotation(identifier, identifier, True)
    one = _mapping(given, "an annotation")
    label, description = one.get("label"), one.get("description")
    return Annotation(
        identifier,
        label if isinstance(label, str) else identifier,
        _flag(one, "needsConfirmation"),
        description if isinstance(description, str) else None,
    )


def _path(uri: Any) -> Path:
    try:
        return uri_to_path(uri)
    except ForeignUri as problem:
        raise MalformedEdit(str(problem)) from None


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedEdit(f"{what} is not an object")
    return value


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name)
    if value is not None and not isinstance(value, bool):
        raise MalformedEdit(f"{name} is neither true nor false")
    return value is True


def _position(value: Any) -> tuple[int, int]:
    given = _mapping(value, "a position")
    line, character = given.get("line"), given.get("character")
    if type(line) is not int or type(character) is not int or line < 0 or character < 0:
        raise MalformedEdit("a position is not two numbers from 0")
    return min(line, _MAX_NUMBER), min(character, _MAX_NUMBER)


def apply_text_edits(
    text: str,
    edits: Iterable[TextEdit],
    encoding: Encoding,
    *,
    lines: LineIndex | None = None,
    line_end: str | None = None,
) -> str:
    """Return `text` with all `edits`, each of which refers to `text` as given.

    Insertions at one place keep their order and go before what is replaced there. Positions beyond
    a line or the text mean its end. `lines` is the text's index where the caller has it; with
    `line_end` the new texts get that line end. Raises MalformedEdit when edits overlap.
    """
    index = LineIndex(text) if lines is None else lines
    placed = [(_offset(index, one.start, encoding), _offset(index, one.end, encoding), one) for one in edits]
    placed.sort(key=lambda one: (one[0], one[1] > one[0]))
    parts: list[str] = []
    done = 0
    for start, end, one in placed:
        if start < done:
            line, character = one.start
            raise MalformedEdit(f"two edits overlap at line {line + 1}, character {character}")
        new = one.new_text if line_end is None else _LINE_END.sub(line_end, one.new_text)
        parts += (text[done:start], new)
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _offset(index: LineIndex, place: tuple[int, int], encoding: Encoding) -> int:
    return index.offset({"line": place[0], "character": place[1]}, encoding)


def prevailing_line_end(text: str) -> str | None:
    """Return the line end that most lines of `text` have, None for a text of one line."""
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    most = max(counts, key=lambda end: counts[end])
    return most if counts[most] else None
