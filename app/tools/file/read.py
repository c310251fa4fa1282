"""`file.read`: a file's lines, a directory's entries, a picture, a notebook or a PDF.

Owns: the tool, and the reader of each kind. Never: opening paths (the workspace).
"""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from app.messages import ImageBlock
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, FsRequirement, ToolDefinition, load_description
from app.tools.documents import pdf, picture
from app.tools.file import notebook
from app.tools.file.directory import list_directory
from app.tools.file.read_result import FileReadParams, FileReadResult, beyond, notes, numbered, rendered
from app.tools.file.text_index import TextIndex
from app.tools.file.text_scan import MAX_CONTENT_BYTES, ScannedText, read_chunks, scan_text
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.media_type import media_type_of, signature_type
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import Digest, digest_of
from app.tools.project_files.text_format import HEAD, to_utf8
from app.tools.project_files.view import noted
from app.workspace import Opened, Workspace

PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class _Reading:
    """A result, and the digest of the whole file when one was read. `pdf` is the content of one
    whose text is still to be found."""

    result: FileReadResult
    key: str
    digest: Digest | None = None
    pdf: bytes | None = None


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    environment: Mapping[str, str],
    index: TextIndex | None = None,
) -> ToolDefinition:
    """Return the tool over `files`; `processes` and their `environment` are for reading PDFs."""
    known = index or TextIndex()

    async def run(params: FileReadParams, context: ToolCallContext) -> FileReadResult:
        workspace = files.workspace(context)
        stop = threading.Event()
        reader = _Reader(params, known, stop, takes_images=context.step.takes_images)
        try:
            reading = await files.threads.run(context.session_id, partial(reader.read, workspace))
        except asyncio.CancelledError:
            stop.set()
            raise
        result = reading.result
        if reading.pdf is not None:
            children = await processes.for_reading(context)
            found = await pdf.pdf_text(
                children, environment, reading.pdf, params.pages, owner=context.session_id
            )
            answer = result.model_copy(update={"total_pages": found.total_pages})
            result = rendered(answer, found.lines, params, notes(*found.notes))
        if result.type == "directory":
            result = result.model_copy(update={"note": noted(context, result.note)})
        if reading.digest is not None:
            files.reads.record(context, reading.key, reading.digest)
        return result

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
        version="2",
    )


class _Reader:
    """One call's reading, in a thread."""

    def __init__(
        self, params: FileReadParams, index: TextIndex, stop: threading.Event, *, takes_images: bool
    ) -> None:
        self._params = params
        self._index = index
        self._stop = stop
        self._takes_images = takes_images

    def read(self, workspace: Workspace) -> _Reading:
        with workspace.open(self._params.path) as opened:
            if opened.is_directory:
                return _Reading(self._directory(workspace, opened), opened.key)
            head = os.pread(opened.descriptor, HEAD, 0)
            kind = signature_type(head)
            size = opened.status.st_size
            if kind in picture.IMAGE_TYPES and size <= picture.MAX_BYTES:
                return self._picture(opened, kind, self._whole(opened))
            if kind == PDF and not self._params.raw and size <= pdf.MAX_BYTES:
                content = self._whole(opened)
                result = self._of_bytes(opened, "pdf", PDF)
                return _Reading(result, opened.key, digest_of(content), content)
            if opened.parts[-1].endswith(".ipynb") and not self._params.raw:
                return self._notebook(opened)
            return self._plain(opened, head)

    def _whole(self, opened: Opened) -> bytes:
        return b"".join(read_chunks(opened, self._stop))

    def _directory(self, workspace: Workspace, opened: Opened) -> FileReadResult:
        found = list_directory(workspace, opened, self._stop)
        params, known = self._params, len(found.entries)
        start = params.offset - 1
        shown = found.entries[start : start + params.limit]
        more = start + len(shown) < known
        return FileReadResult(
            path=opened.location.shown,
            type="directory",
            content="\n".join(shown),
            total_lines=known if found.looked_at is None else None,
            truncated=more or found.looked_at is not None,
            next_offset=start + len(shown) + 1 if more else None,
            note=notes(beyond(params.offset, known, "entries"), _part(found.looked_at)),
        )

    def _plain(self, opened: Opened, head: bytes, note: str | None = None) -> _Reading:
        params = self._params
        found = scan_text(opened, self._index, self._stop, offset=params.offset, limit=params.limit)
        if found.text_format is None:
            mime = media_type_of(opened.location.shown, head)
            result = self._of_bytes(opened, "binary", mime, self._why_not(opened, mime))
        else:
            result = self._text(opened, found, note)
        return _Reading(result, opened.key, found.digest)

    def _text(self, opened: Opened, found: ScannedText, note: str | None) -> FileReadResult:
        assert found.text_format is not None
        offset = self._params.offset
        following = found.next_offset(offset)
        name, returns = found.text_format.name, found.carriage_returns
        return FileReadResult(
            path=opened.location.shown,
            type="file",
            content=numbered(found.lines, offset),
            total_lines=found.total_lines if found.seen is None else None,
            truncated=following is not None,
            next_offset=following,
            encoding=None if name == "utf-8" else name,
            line_ending=None if not returns else "crlf" if returns >= len(found.lines) - 1 else "mixed",
            note=notes(note, _beyond(offset, found)),
        )

    def _of_bytes(self, opened: Opened, kind: str, mime: str, note: str | None = None) -> FileReadResult:
        return FileReadResult.model_validate(
            {
                "path": opened.location.shown,
                "type": kind,
                "size": opened.status.st_size,
                "mime": mime,
                "note": note,
            }
        )

    def _why_not(self, opened: Opened, mime: str) -> str | None:
        """Return why a kind of file that is otherwise shown is not."""
        if mime in picture.IMAGE_TYPES:
            return f"an image that is not shown: it is larger than {picture.MAX_BYTES:,} bytes"
        if mime == PDF and opened.status.st_size > pdf.MAX_BYTES:
            return f"its text is not shown: it is larger than {pdf.MAX_BYTES:,} bytes"
        return None

    def _picture(self, opened: Opened, mime: str, content: bytes) -> _Reading:
        found = picture.examine(mime, content)
        shown = self._takes_images and found.problem is None
        note = None if shown else "an image, shown only to models that take images"
        if found.problem is not None:
            note = f"an image that is not shown: {found.problem}"
        result = self._of_bytes(opened, "image" if shown else "binary", mime, note).model_copy(
            update={"width": found.width, "height": found.height}
        )
        if shown:
            data = base64.b64encode(content).decode()
            result = result.with_images(ImageBlock(media_type=mime, data=data))
        return _Reading(result, opened.key, digest_of(content))

    def _notebook(self, opened: Opened) -> _Reading:
        if opened.status.st_size > notebook.MAX_BYTES:
            return self._plain(opened, b"", "a notebook too large to show as cells: this is its JSON")
        content = self._whole(opened)
        text = to_utf8(content)
        try:
            if text is None:
                raise notebook.NotANotebook("it is not text")
            lines = notebook.notebook_lines(text[0])
        except notebook.NotANotebook as problem:
            return self._plain(opened, content[:HEAD], f"not shown as a notebook: {problem}")
        result = FileReadResult(
            path=opened.location.shown,
            type="notebook",
            note="shown as cells; it is edited as JSON, which file.read shows with raw",
        )
        return _Reading(rendered(result, lines, self._params), opened.key, digest_of(content))


def _beyond(offset: int, found: ScannedText) -> str | None:
    if found.seen is None:
        return beyond(offset, found.total_lines, "lines")
    return f"only the first {found.seen // 2**20:,} MB were looked through; the file's lines are not counted"


def _part(looked_at: int | None) -> str | None:
    if looked_at is None:
        return None
    entries = "1 entry was" if looked_at == 1 else f"{looked_at:,} entries were"
    return f"the directory is too large: only {entries} looked at; search.glob finds names in all of it"
