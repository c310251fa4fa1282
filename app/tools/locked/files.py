"""`read`, `write` and `edit`: the portable names of the file tools.

Owns: their parameters, and the contract's bound on what `read` shows. Never: files; the dotted
tools have them.
"""

from __future__ import annotations

from pydantic import Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Boolean, Integer, ToolDefinition, ToolParams, WholeText
from app.tools.contract.output import write_sidecar
from app.tools.edit.text import EditTextParams
from app.tools.file.read_result import DEFAULT_LIMIT, FileReadParams, FileReadResult
from app.tools.file.write import FileWriteParams
from app.tools.locked.twin import CONTRACT_BYTES, twin

READ = "read"


class ReadParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    offset: Integer = Field(default=1, ge=1, description="First line to return, from 1.")
    limit: Integer = Field(default=DEFAULT_LIMIT, ge=1, description="Most lines to return.")


class WriteParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    content: WholeText = Field(description="The complete content of the file.")


class EditParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    old_string: str = Field(min_length=1, description="Exact text to find.")
    new_string: WholeText = Field(description="Replacement text; must differ from old_string.")
    replace_all: Boolean = Field(default=False, description="Replace every occurrence instead of one.")


def read(original: ToolDefinition) -> ToolDefinition:
    """Return `read` over `file.read`."""
    return twin(original, READ, ReadParams, _reading, _shortened)


def write(original: ToolDefinition) -> ToolDefinition:
    """Return `write` over `file.write`."""
    return twin(original, "write", WriteParams, _writing)


def edit(original: ToolDefinition) -> ToolDefinition:
    """Return `edit` over `edit.text`."""
    return twin(original, "edit", EditParams, _editing)


def _reading(params: ReadParams) -> FileReadParams:
    return FileReadParams(path=params.path, offset=params.offset, limit=params.limit)


def _writing(params: WriteParams) -> FileWriteParams:
    return FileWriteParams(path=params.path, content=params.content)


def _editing(params: EditParams) -> EditTextParams:
    return EditTextParams(
        path=params.path,
        old_string=params.old_string,
        new_string=params.new_string,
        replace_all=params.replace_all,
    )


def _shortened(params: ReadParams, result: FileReadResult, context: ToolCallContext) -> FileReadResult:
    """Show whole lines up to the contract's bound, and say where to go on."""
    raw = (result.content or "").encode("utf-8", "replace")
    if len(raw) <= CONTRACT_BYTES:
        return result
    head = raw[:CONTRACT_BYTES].rpartition(b"\n")[0]
    following = params.offset + head.count(b"\n") + 1
    path = write_sidecar(context, READ, raw, "txt")
    shown = {"content": head.decode("utf-8", "ignore"), "truncated": True, "next_offset": following}
    return result.model_copy(update=shown).whole_in(path)
