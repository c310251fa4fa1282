"""The portable names of tools with a dotted name: `read`, `write`, `edit`, `glob`, `grep`, `bash`.

Owns: how such a tool is made of the dotted one, and how much text it shows. Never: work of its own: both
names share reads, locks and rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Delegation,
    Effects,
    Integer,
    ToolDefinition,
    ToolParams,
    load_description,
)
from app.tools.contract.output import head_of, write_sidecar
from app.tools.file.read_result import DEFAULT_LIMIT, FileReadResult
from app.tools.shell.bash import DEFAULT_TIMEOUT_MS, BashResult
from app.tools.shell.bash import BashParams as ShellBashParams

SHOWN_BYTES = 200_000
"""The most text that a portable tool shows."""


class ReadParams(ToolParams):
    path: str = Field(description="Path relative to the project's root.")
    offset: Integer = Field(default=1, ge=1, description="First line to return, from 1.")
    limit: Integer = Field(default=DEFAULT_LIMIT, ge=1, description="Most lines to return.")


class GrepParams(ToolParams):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(default=".", description="Directory or file to search. Default: project root.")
    include: str | None = Field(
        default=None, description="Glob of files to search (*.ts, src/**/*.{ts,tsx}); ! excludes."
    )


class BashParams(ToolParams):
    command: str = Field(description="Shell command to execute. Passed to /bin/sh -c. Max 64 KB.")
    timeout: Integer = Field(
        default=DEFAULT_TIMEOUT_MS,
        description="Maximum execution time in milliseconds. Clamped to [1000, 600000].",
    )

    @field_validator("command")
    @classmethod
    def _as_the_shell_takes_it(cls, command: str) -> str:
        try:
            return ShellBashParams(command=command).command
        except ValidationError as problem:
            raise ValueError(problem.errors()[0]["msg"].removeprefix("Value error, ")) from None


Shorten = Callable[[Any, Any, ToolCallContext], BaseModel]


def twin(
    original: ToolDefinition,
    name: str,
    parameters: type[ToolParams] | None = None,
    *,
    shorten: Shorten | None = None,
    **fixed: object,
) -> ToolDefinition:
    """Return the tool `name` that does what `original` does.

    `parameters` are some of the original's, by the same names and no wider; by default, the original's.
    `fixed` are further parameters of the original. `shorten` gets the parameters, the result and the context,
    off the event loop.
    """

    def expand(params: ToolParams) -> ToolParams:
        return original.parameters.model_construct(None, **dict(params), **fixed)

    async def run(params: Any, context: ToolCallContext) -> BaseModel | Delegation:
        result = await original.run(expand(params), context)
        if shorten is None or isinstance(result, Delegation):
            return result
        return await asyncio.to_thread(shorten, params, result, context)

    def effects_of(params: Any) -> Effects:
        return original.effects(expand(params))

    return replace(
        original,
        name=name,
        description=load_description("app.tools.locked", f"{name}.md"),
        parameters=parameters or original.parameters,
        run=run,
        effects_of=effects_of,
        version="1",
    )


def whole_lines(params: ReadParams, result: FileReadResult, context: ToolCallContext) -> FileReadResult:
    """Show the whole lines that fit, and where to go on."""
    raw = (result.content or "").encode("utf-8", "replace")
    if len(raw) <= SHOWN_BYTES:
        return result
    head = raw[:SHOWN_BYTES].rpartition(b"\n")[0]
    following = params.offset + head.count(b"\n") + 1
    path = write_sidecar(context, "read", raw, "txt")
    shown = {"content": head.decode("utf-8", "ignore"), "truncated": True, "next_offset": following}
    return result.model_copy(update=shown).whole_in(path)


def head_of_output(_params: BashParams, result: BashResult, context: ToolCallContext) -> BashResult:
    """Show the beginning of the output that fits."""
    raw = result.stdout.encode("utf-8", "replace")
    if len(raw) <= SHOWN_BYTES:
        return result
    path = result.output_path or write_sidecar(context, "bash", raw, "txt")
    return result.model_copy(update={"stdout": head_of(raw, SHOWN_BYTES)}).whole_in(path)
