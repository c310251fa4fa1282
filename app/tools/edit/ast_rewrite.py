"""`edit.ast`: rewrites code by its structure, in one file or many.

Owns: the tool's parameters and result, preview and application. Never: writing unparsed content, or only some
files.

The call reads what it changes, so no earlier read is needed. A file that the agent has read must be
unchanged.
"""

from __future__ import annotations

import asyncio

import orjson
from pydantic import Field

from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.languages import Language
from app.tools.ast_grep.listing import SourceFiles
from app.tools.ast_grep.snapshot import parsed_text
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Boolean,
    Effects,
    FsRequirement,
    PositiveInteger,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.contract.output import write_sidecar
from app.tools.edit.ast_plan import Plan, PlannedFile, rewritten
from app.tools.edit.ast_survey import MAX_PARSE_ERRORS, ParseError, Request, Survey, Surveyor
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import digest_of
from app.tools.project_files.text_format import from_utf8
from app.workspace import MAX_WHOLE_FILE, Target, changed_since_read

SECONDS = 60.0
MAX_SHOWN_BYTES = 150_000
MAX_SHOWN_FILES = 500
MAX_REWRITES = 50


class EditAstParams(ToolParams):
    rewrites: dict[str, str] = Field(
        min_length=1,
        max_length=MAX_REWRITES,
        description="From pattern to replacement; both use $NAME for one node and $$$NAME for several.",
    )
    lang: Language | None = Field(default=None, description="Default: that of the files, if all share one.")
    path: str = Field(default=".", description="File or folder. Default: the project.")
    glob: str | None = Field(default=None, description="Only files that match, such as *.test.ts.")
    dry_run: Boolean = Field(default=True, description="Only show what would change. False writes.")
    max_replacements: PositiveInteger | None = Field(
        default=None, description="Most replacements to make, over all files."
    )
    max_files: PositiveInteger | None = Field(default=None, description="Most files to change.")


class AstChange(ToolResult):
    path: str
    before: str
    after: str
    byte_start: int = Field(description="In the file, from 0.")
    byte_end: int = Field(description="Of the byte after.")
    start_line: int = Field(description="From 1.")
    start_column: int = Field(description="In characters, from 1.")
    end_line: int
    end_column: int = Field(description="Of the character after.")


class FileChange(ToolResult):
    path: str
    count: int


class EditAstResult(ToolResult):
    changes: list[AstChange]
    file_changes: list[FileChange]
    total_replacements: int
    files_touched: int
    files_searched: int
    applied: bool = Field(description="Whether files were written.")
    limit_reached: bool
    skipped_overlaps: int | None = Field(default=None, description="Matches within other matches.")
    parse_errors: list[ParseError] | None = Field(default=None, description="Files left as they are.")
    truncated: bool | None = Field(default=None, description="Whether not all changes are listed.")


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    engine: AstGrep,
    sources: SourceFiles,
    *,
    seconds: float = SECONDS,
) -> ToolDefinition:
    """Return the tool. A call that takes longer than `seconds` changes nothing."""
    surveyor = Surveyor(files, processes, engine, sources)

    async def run(params: EditAstParams, context: ToolCallContext) -> EditAstResult:
        request = Request(
            rewrites=params.rewrites,
            language=params.lang,
            path=params.path,
            glob=params.glob,
            deadline=asyncio.get_running_loop().time() + seconds,
        )
        plan = Plan(params.max_replacements, params.max_files)
        found = await surveyor.survey(request, context, plan)
        if params.dry_run:
            for file in plan.files:
                files.reads.record(context, file.key, file.digest)
        elif plan.files:
            await _apply(files, plan, context)
        return await asyncio.to_thread(_result, plan, found, context, applied=not params.dry_run)

    return ToolDefinition(
        name="edit.ast",
        title="Rewrite code by structure",
        description=load_description("app.tools.edit", "ast_rewrite.md"),
        parameters=EditAstParams,
        result=EditAstResult,
        run=run,
        acp_kind="edit",
        requires=(FsRequirement("rw"),),
        destructive=True,
        effects_of=_effects,
        path_parameter="path",
    )


def _effects(params: EditAstParams) -> Effects:
    """A folder may be meant: nothing else may run beside its rewriting."""
    if params.dry_run:
        return Effects(reads=(params.path,))
    return Effects(writes=(params.path,), exclusive=True)


async def _apply(files: ProjectFiles, plan: Plan, context: ToolCallContext) -> None:
    planned = {file.key: file for file in plan.files}

    def make(target: Target) -> bytes:
        file = planned.get(target.key)
        if file is None:
            raise changed_since_read(target.location.shown)
        known = files.reads.known(context, target.key)
        content = target.read()
        if digest_of(content) != file.digest or known not in {None, file.digest}:
            raise changed_since_read(target.location.shown)
        return _changed(content, file)

    def report() -> None:
        for file in plan.files:
            context.audit("file.edited", path=file.shown, replacements=len(file.edits))

    await files.change_together([file.shown for file in plan.files], context, make, report)


def _changed(content: bytes, file: PlannedFile) -> bytes:
    known = parsed_text(content)
    assert known is not None
    text, text_format = known
    changed = rewritten(text, file.edits)
    if len(changed) > MAX_WHOLE_FILE:
        limit = MAX_WHOLE_FILE // (1024 * 1024)
        raise ToolError("file_too_large", f"{file.shown} would become larger than {limit} MB")
    try:
        return from_utf8(changed, text_format)
    except ToolError as error:
        detail = {**error.detail, "path": file.shown}
        raise ToolError(error.code, f"{file.shown}: {error.message}", detail=detail) from None


def _result(plan: Plan, found: Survey, context: ToolCallContext, *, applied: bool) -> EditAstResult:
    """Show what fits; where that is not all, the rest is in a file. Blocking."""
    changes = [
        AstChange(
            path=file.shown,
            before=edit.before,
            after=edit.after,
            byte_start=edit.start,
            byte_end=edit.end,
            start_line=edit.start_line,
            start_column=edit.start_column,
            end_line=edit.end_line,
            end_column=edit.end_column,
        )
        for file in plan.files
        for edit in file.edits
    ]
    lines = [orjson.dumps(change.model_dump()) for change in changes]
    fitting, size = 0, 0
    while fitting < len(lines) and size + len(lines[fitting]) < MAX_SHOWN_BYTES:
        size += len(lines[fitting]) + 1
        fitting += 1
    result = EditAstResult(
        changes=changes[:fitting],
        file_changes=[
            FileChange(path=file.shown, count=len(file.edits)) for file in plan.files[:MAX_SHOWN_FILES]
        ],
        total_replacements=plan.replacements,
        files_touched=len(plan.files),
        files_searched=found.files_searched,
        applied=applied and bool(plan.files),
        limit_reached=plan.limit_reached,
        skipped_overlaps=plan.skipped_overlaps or None,
        parse_errors=found.parse_errors[:MAX_PARSE_ERRORS] or None,
        truncated=(fitting < len(lines) or len(plan.files) > MAX_SHOWN_FILES) or None,
    )
    if not result.truncated:
        return result
    return result.whole_in(write_sidecar(context, "edit.ast", b"\n".join([*lines, b""]), "jsonl"))
