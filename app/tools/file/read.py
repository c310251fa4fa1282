"""`file.read`: a file's lines, a directory's entries, or what a binary file is.

Owns: the tool's parameters, result and windowing. Never: opening paths (the workspace does).
"""

from __future__ import annotations

import asyncio
import codecs
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import xxhash
from pydantic import Field

from app.errors import ToolError
from app.tools.call import ToolCallContext
from app.tools.definition import Effects, FsRequirement, Integer, ToolDefinition, ToolParams, ToolResult
from app.tools.description import load_description
from app.tools.file.lines import LineWindow
from app.tools.media_type import media_type_of, signature_type
from app.tools.project_files import ProjectFiles
from app.tools.read_tracker import Digest
from app.tools.text_format import HEAD, LATIN_1, UTF_8, TextFormat, guess_format, looks_binary
from app.workspace import Opened, Workspace

DEFAULT_LIMIT = 2000
MAX_LINE_CHARACTERS = 2000
MAX_CONTENT_BYTES = 256 * 1024
MAX_UTF_16_BYTES = 64 * 1024 * 1024
CHUNK = 1024 * 1024
TRUNCATED_LINE = " [truncated]"


class FileReadParams(ToolParams):
    path: str = Field(description="Path relative to the project's root, of a file or a directory.")
    offset: Integer = Field(default=1, ge=1, description="First line (or entry) to return, from 1.")
    limit: Integer = Field(default=DEFAULT_LIMIT, ge=1, description="Most lines (or entries) to return.")


class FileReadResult(ToolResult):
    path: str = Field(description="The path that was read.")
    type: Literal["file", "directory", "binary"]
    total_lines: int | None = Field(default=None, description="Lines in the file, or entries.")
    truncated: bool | None = Field(default=None, description="Whether lines follow the ones returned.")
    next_offset: int | None = Field(default=None, description="Offset that goes on after this answer.")
    encoding: str | None = Field(default=None, description="The encoding, when it is not plain UTF-8.")
    line_ending: Literal["crlf", "mixed"] | None = Field(
        default=None, description="The line endings in these lines, when not all are LF."
    )
    note: str | None = None
    size: int | None = Field(default=None, description="Bytes of a binary file.")
    mime: str | None = Field(default=None, description="Media type of a binary file.")
    content: str | None = Field(default=None, description="Lines as `N: text`, or one entry per line.")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A result, and the digest of the whole file when one was read."""

    result: FileReadResult
    key: str
    digest: Digest | None = None


class Stopped(Exception):
    """The call was cancelled while a long file was being read."""


def build(files: ProjectFiles) -> ToolDefinition:
    """Return the tool over `files`."""

    async def run(params: FileReadParams, context: ToolCallContext) -> FileReadResult:
        workspace = files.workspace(context)
        stop = threading.Event()
        try:
            reading = await asyncio.to_thread(_read, workspace, params, stop)
        except asyncio.CancelledError:
            stop.set()
            raise
        if reading.digest is not None:
            files.reads.record(context, reading.key, reading.digest)
        return reading.result

    return ToolDefinition(
        name="file.read",
        title="Read a file or directory",
        description=load_description("app.tools.file", "read.md"),
        parameters=FileReadParams,
        result=FileReadResult,
        run=run,
        acp_kind="read",
        requires=(FsRequirement("ro"),),
        read_only=True,
        effects_of=lambda params: Effects(reads=(params.path,)),
        body_field="content",
        max_output_bytes=4 * MAX_CONTENT_BYTES,
    )


def _read(workspace: Workspace, params: FileReadParams, stop: threading.Event) -> _Reading:
    with workspace.open(params.path) as opened:
        if opened.is_directory:
            return _Reading(_directory(workspace, opened, params), opened.key)
        return _file(opened, params, stop)


def _directory(workspace: Workspace, opened: Opened, params: FileReadParams) -> FileReadResult:
    with os.scandir(opened.descriptor) as entries:
        found = [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in entries
            if opened.location.in_scratch or workspace.may_read((*opened.parts, entry.name))
        ]
    found.sort(key=lambda entry: os.fsencode(entry[0]))
    start = params.offset - 1
    shown = found[start : start + params.limit]
    more = start + len(shown) < len(found)
    return FileReadResult(
        path=opened.location.shown,
        type="directory",
        content="\n".join(_entry(name, is_directory) for name, is_directory in shown),
        total_lines=len(found),
        truncated=more,
        next_offset=start + len(shown) + 1 if more else None,
        note=_beyond(params.offset, len(found), "entries"),
    )


def _entry(name: str, is_directory: bool) -> str:
    text = os.fsencode(name).decode("utf-8", "replace").replace("\n", "\\n").replace("\r", "\\r")
    return text + "/" if is_directory else text


def _beyond(offset: int, total: int, noun: str) -> str | None:
    return f"offset {offset} is past the end: there are {total} {noun}" if offset > max(total, 1) else None


def _file(opened: Opened, params: FileReadParams, stop: threading.Event) -> _Reading:
    scan = _Scan(opened, params)
    for chunk in _chunks(opened, stop):
        scan.feed(chunk)
    return _Reading(scan.result(), opened.key, scan.digest())


def _chunks(opened: Opened, stop: threading.Event) -> Iterator[bytes]:
    """Yield the content up to the size it had when it was opened, so that a log that grows
    faster than it is read still ends. A size of 0 is not believed."""
    size = opened.status.st_size
    left = size if size > 0 else None
    while chunk := os.read(opened.descriptor, CHUNK if left is None else min(CHUNK, left)):
        if stop.is_set():
            raise Stopped
        if left is not None:
            left -= len(chunk)
        yield chunk


class _Scan:
    """One pass over a file: its digest, its encoding, and the window of lines."""

    def __init__(self, opened: Opened, params: FileReadParams) -> None:
        self._opened = opened
        self._params = params
        self._hash = xxhash.xxh3_128()
        self._head: bytes | None = None
        self._format: TextFormat | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        self._wide: list[bytes] = []
        self._window = LineWindow(
            offset=params.offset,
            limit=params.limit,
            max_line_bytes=4 * (MAX_LINE_CHARACTERS + 1),
            max_bytes=MAX_CONTENT_BYTES,
        )

    def digest(self) -> Digest:
        return self._hash.digest()

    def feed(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        if self._head is None:
            self._head = chunk[:HEAD]
            self._format = None if signature_type(self._head) else guess_format(self._head)
            if self._format is not None:
                chunk = chunk[len(self._format.mark) :]
        if self._format is None:
            return
        if self._format.encoding in {"utf-16-le", "utf-16-be"}:
            self._hold_wide(chunk)
            return
        self._confirm(chunk)
        self._window.feed(chunk)

    def _hold_wide(self, chunk: bytes) -> None:
        if self._opened.status.st_size > MAX_UTF_16_BYTES:
            raise ToolError("file_too_large", f"{self._opened.location.shown}: too large for a UTF-16 file")
        self._wide.append(chunk)

    def _confirm(self, chunk: bytes, *, final: bool = False) -> None:
        """Go on checking that the content is UTF-8; once it is not, it is Latin-1 or binary."""
        assert self._format is not None
        if self._format.encoding != "utf-8" or (self._decoder is None and chunk.isascii()):
            return
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self._format = None if looks_binary(self._head or b"") else LATIN_1

    def result(self) -> FileReadResult:
        if self._head is None:
            self._format = UTF_8
        if self._format is not None and self._wide:
            self._unpack_wide()
        if self._format is not None and self._decoder is not None:
            self._confirm(b"", final=True)
        if self._format is None:
            return self._binary()
        self._window.finish()
        return self._text(self._format)

    def _unpack_wide(self) -> None:
        assert self._format is not None
        try:
            text = b"".join(self._wide).decode(self._format.encoding, "surrogatepass")
        except UnicodeDecodeError:
            self._format = None
            return
        self._window.feed(text.encode("utf-8", "replace"))

    def _binary(self) -> FileReadResult:
        shown = self._opened.location.shown
        return FileReadResult(
            path=shown,
            type="binary",
            size=self._opened.status.st_size,
            mime=media_type_of(shown, self._head or b""),
        )

    def _text(self, text_format: TextFormat) -> FileReadResult:
        window = self._window
        encoding = "latin-1" if text_format.encoding == "latin-1" else "utf-8"
        raw = window.lines
        returns = sum(1 for line in raw if line.endswith(b"\r"))
        texts = [_line(line.decode(encoding, "replace")) for line in raw]
        first = self._params.offset
        name = text_format.name
        return FileReadResult(
            path=self._opened.location.shown,
            type="file",
            content="\n".join(f"{number}: {text}" for number, text in enumerate(texts, first)),
            total_lines=window.total,
            truncated=window.next_offset is not None,
            next_offset=window.next_offset,
            encoding=None if name == "utf-8" else name,
            line_ending=None if not returns else "crlf" if returns >= len(raw) - 1 else "mixed",
            note=_beyond(first, window.total, "lines"),
        )


def _line(text: str) -> str:
    if text.endswith("\r"):
        text = text[:-1]
    return text if len(text) <= MAX_LINE_CHARACTERS else text[:MAX_LINE_CHARACTERS] + TRUNCATED_LINE
