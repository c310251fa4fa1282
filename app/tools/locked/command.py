"""`bash`: the portable name of the shell tool.

Owns: its parameters, and the contract's bound on what it shows. Never: running commands.
"""

from __future__ import annotations

from pydantic import Field, ValidationError, field_validator

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Integer, ToolDefinition, ToolParams
from app.tools.contract.output import head_of, write_sidecar
from app.tools.locked.twin import CONTRACT_BYTES, twin
from app.tools.shell.bash import DEFAULT_TIMEOUT_MS, BashResult
from app.tools.shell.bash import BashParams as ShellBashParams

BASH = "bash"


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


def bash(original: ToolDefinition) -> ToolDefinition:
    """Return `bash` over `shell.bash`."""
    return twin(original, BASH, BashParams, _running, _shortened)


def _running(params: BashParams) -> ShellBashParams:
    return ShellBashParams(command=params.command, timeout=params.timeout)


def _shortened(_params: BashParams, result: BashResult, context: ToolCallContext) -> BashResult:
    raw = result.stdout.encode("utf-8", "replace")
    if len(raw) <= CONTRACT_BYTES:
        return result
    path = result.output_path or write_sidecar(context, BASH, raw, "txt")
    return result.model_copy(update={"stdout": head_of(raw, CONTRACT_BYTES)}).whole_in(path)
