"""`edit.text`: exact replacement in a file that the agent has read.

Owns: the tool's parameters, result and errors. Never: fuzzy replacement: a text that does not match is
reported.
"""

from __future__ import annotations

from pydantic import Field

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Boolean,
    Effects,
    FsRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
    WholeText,
    load_description,
)
from app.tools.edit.matching import MAX_MATCHES, Matches, find, longest_replacement, replaced
from app.tools.edit.near_miss import explain
from app.tools.project_files.project_files import Change, ProjectFiles
from app.tools.project_files.read_tracker import digest_of
from app.tools.project_files.text_format import from_utf8, to_utf8
from app.workspace import MAX_WHOLE_FILE, Target

MAX_LINE_NUMBERS = 20
MARK = "\ufeff"
NOTEBOOK = "A notebook is edited as the JSON that it is: read it by file.read with raw, and quote that."


class EditTextParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    old_string: str = Field(min_length=1, description="Exact text to find.")
    new_string: WholeText = Field(description="Replacement text; must differ from old_string.")
    replace_all: Boolean = Field(default=False, description="Replace every occurrence instead of one.")


class EditTextResult(ToolResult):
    path: str = Field(description="The path that was edited.")
    replacements: int


def build(files: ProjectFiles) -> ToolDefinition:
    async def run(params: EditTextParams, context: ToolCallContext) -> EditTextResult:
        if params.old_string == params.new_string:
            raise _no_change()

        def work(target: Target) -> Change[EditTextResult]:
            return _edit(files, target, params, context)

        def report(done: EditTextResult) -> None:
            context.audit("file.edited", path=done.path, replacements=done.replacements)

        return await files.change(params.path, context, work, report)

    return ToolDefinition(
        name="edit.text",
        title="Edit a file",
        description=load_description("app.tools.edit", "text.md"),
        parameters=EditTextParams,
        result=EditTextResult,
        run=run,
        acp_kind="edit",
        requires=(FsRequirement("rw"),),
        destructive=True,
        effects_of=lambda params: Effects(writes=(params.path,)),
    )


def _edit(
    files: ProjectFiles, target: Target, params: EditTextParams, context: ToolCallContext
) -> Change[EditTextResult]:
    shown = target.location.shown
    if not target.exists:
        raise ToolError(
            "file_not_found", f"{shown}: there is no such file; create it instead", detail={"path": shown}
        )
    decoded = to_utf8(files.content_as_read(target, context))
    if decoded is None:
        raise ToolError("binary_file", f"{shown} is a binary file; text edits do not apply")
    body, text_format = decoded
    old = params.old_string.removeprefix(MARK) if text_format.mark else params.old_string
    matches = find(body, old.encode("utf-8")) if old else Matches(())
    _check(matches, body, old, target, replace_all=params.replace_all)
    new = params.new_string.encode("utf-8")
    _check_size(matches, body, new, shown)
    changed = replaced(body, matches, new)
    if changed == body:
        raise _no_change()
    content = from_utf8(changed, text_format)
    target.replace(content)
    result = EditTextResult(path=shown, replacements=len(matches.spans))
    return Change(target.key, digest_of(content), result)


def _check(matches: Matches, body: bytes, old: str, target: Target, *, replace_all: bool) -> None:
    count = len(matches.spans)
    shown = target.location.shown
    if not count:
        near = explain(body.decode("utf-8", "replace"), old)
        if target.key.endswith(".ipynb"):
            near.hints.insert(0, NOTEBOOK)
        raise ToolError(
            "old_string_not_found",
            f"old_string was not found in {shown}. {near.text()}".strip(),
            detail={"path": shown, "closest": near.closest, "hints": near.hints},
        )
    if count > 1 and not replace_all:
        numbers = list(dict.fromkeys(matches.line_numbers(body)))
        lines = numbers[:MAX_LINE_NUMBERS]
        listed = ", ".join(str(line) for line in lines) + (", ..." if len(numbers) > len(lines) else "")
        raise ToolError(
            "multiple_matches",
            f"old_string occurs {count} times in {shown} (lines {listed}); add neighbouring lines to make "
            "it unique, or set replace_all",
            detail={"path": shown, "count": count, "lines": lines},
        )


def _check_size(matches: Matches, body: bytes, new: bytes, shown: str) -> None:
    """Refuse what a few words of a model could make of a file: gigabytes."""
    if len(matches.spans) > MAX_MATCHES:
        raise ToolError("too_many_matches", f"old_string occurs more than {MAX_MATCHES:,} times in {shown}")
    if len(body) + len(matches.spans) * longest_replacement(new) > MAX_WHOLE_FILE:
        limit = MAX_WHOLE_FILE // (1024 * 1024)
        raise ToolError("file_too_large", f"{shown} could become larger than {limit} MB")


def _no_change() -> ToolError:
    return ToolError("no_change", "old_string and new_string are the same; there is nothing to change")
