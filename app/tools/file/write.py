"""`file.write`: writes a whole file, never one that the agent has not read.

Owns: the tool's parameters and result. Never: locking, atomicity (`project_files`).
"""

from __future__ import annotations

from pydantic import Field

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    FsRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
    WholeText,
    load_description,
)
from app.tools.project_files.project_files import Change, ProjectFiles, not_read
from app.tools.project_files.read_tracker import digest_of
from app.tools.project_files.text_format import UTF_8, TextFormat, from_utf8, to_utf8
from app.workspace import Target

MARK = "\ufeff"


class FileWriteParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    content: WholeText = Field(description="The complete content of the file.")


class FileWriteResult(ToolResult):
    path: str = Field(description="The path that was written.")
    bytes_written: int
    created: bool = Field(description="Whether the file is new.")
    encoding: str | None = Field(default=None, description="The encoding kept, when not plain UTF-8.")


def build(files: ProjectFiles) -> ToolDefinition:
    async def run(params: FileWriteParams, context: ToolCallContext) -> FileWriteResult:
        def work(target: Target) -> Change[FileWriteResult]:
            return _write(files, target, params, context)

        def report(done: FileWriteResult) -> None:
            context.audit("file.written", path=done.path, bytes=done.bytes_written, created=done.created)

        return await files.change(params.path, context, work, report)

    return ToolDefinition(
        name="file.write",
        title="Write a whole file",
        description=load_description("app.tools.file", "write.md"),
        parameters=FileWriteParams,
        result=FileWriteResult,
        run=run,
        acp_kind="edit",
        requires=(FsRequirement("rw"),),
        destructive=True,
        effects_of=lambda params: Effects(writes=(params.path,)),
    )


def _write(
    files: ProjectFiles, target: Target, params: FileWriteParams, context: ToolCallContext
) -> Change[FileWriteResult]:
    text = params.content.encode("utf-8")
    created = not target.exists
    if created:
        kept, content = UTF_8, text
        try:
            target.create(content)
        except ToolError as error:
            if error.code == "file_exists":  # somebody made it since it was looked up
                raise not_read(target.location.shown) from None
            raise
    else:
        kept, content = _as_before(text, files.content_as_read(target, context))
        target.replace(content)
    result = FileWriteResult(
        path=target.location.shown,
        bytes_written=len(content),
        created=created,
        encoding=None if kept.name == "utf-8" else kept.name,
    )
    return Change(target.key, digest_of(content), result)


def _with_line_ends_of(before: bytes, text: bytes) -> bytes:
    """Return the text with CR LF where all lines ended so before; a text with CR in it says what it wants."""
    ends = before.count(b"\n")
    if b"\r" in text or not ends or before.count(b"\r\n") != ends:
        return text
    return text.replace(b"\n", b"\r\n")


def _as_before(text: bytes, before: bytes) -> tuple[TextFormat, bytes]:
    """Encode the new text as the old content was; UTF-8 where that is impossible."""
    known = to_utf8(before)
    if known is None or not before:
        return UTF_8, text
    kept = known[1]
    text = _with_line_ends_of(known[0], text)
    if kept.mark:
        text = text.removeprefix(MARK.encode())
    if kept.is_guessed:
        try:
            return kept, from_utf8(text, kept)
        except ToolError:
            return UTF_8, text
    return kept, from_utf8(text, kept)
