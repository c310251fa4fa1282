"""`file.create`: creates a file; an existing one is an error.

Owns: the tool's parameters and result. Never: overwriting.
"""

from __future__ import annotations

from typing import Literal

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
from app.tools.project_files.project_files import Change, ProjectFiles
from app.tools.project_files.read_tracker import digest_of
from app.workspace import Target


class FileCreateParams(ToolParams):
    path: str = Field(description="Path of the new file, relative to the project's root.")
    content: WholeText = Field(description="The content of the file.")


class FileCreateResult(ToolResult):
    path: str = Field(description="The path that was created.")
    bytes_written: int
    created: Literal[True] = True


def build(files: ProjectFiles) -> ToolDefinition:
    async def run(params: FileCreateParams, context: ToolCallContext) -> FileCreateResult:
        def report(done: FileCreateResult) -> None:
            context.audit("file.written", path=done.path, bytes=done.bytes_written, created=True)

        return await files.change(params.path, context, lambda target: _create(target, params), report)

    return ToolDefinition(
        name="file.create",
        title="Create a new file",
        description=load_description("app.tools.file", "create.md"),
        parameters=FileCreateParams,
        result=FileCreateResult,
        run=run,
        acp_kind="edit",
        requires=(FsRequirement("rw"),),
        effects_of=lambda params: Effects(writes=(params.path,)),
    )


def _create(target: Target, params: FileCreateParams) -> Change[FileCreateResult]:
    content = params.content.encode("utf-8")
    shown = target.location.shown
    if target.exists:
        advice = "read it first to replace or edit it, or choose another name"
        raise ToolError("file_exists", f"{shown} exists already; {advice}", detail={"path": shown})
    target.create(content)
    result = FileCreateResult(path=shown, bytes_written=len(content))
    return Change(target.key, digest_of(content), result)
