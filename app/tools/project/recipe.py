"""`project.recipe`: runs a task with the runner that the project uses.

Owns: the tool's parameters, result and errors, and the command line. Never: running it (`shell.bash` does,
with its permissions and limits).
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from app.bridges.pty.output import MAX_KEPT
from app.errors import ToolError, invalid_params
from app.nearest_names import closest
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    Delegation,
    Effects,
    FsRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.project.detection import Detected, Task, detect
from app.tools.project.folder import ProjectFolder
from app.tools.project.runners import LOOKED_FOR
from app.tools.project_files.project_files import ProjectFiles
from app.tools.shell import bash
from app.tools.shell.background import BackgroundCommand
from app.tools.shell.bash import BashResult

MAX_OP = 4_096
MAX_LISTED = 60


class RecipeParams(ToolParams):
    op: str = Field(
        min_length=1,
        max_length=MAX_OP,
        description="The task to run and its arguments, such as `test` or `build --release`.",
    )
    cwd: str = Field(default=".", description="Working directory, relative to the project's root.")

    @field_validator("op")
    @classmethod
    def _check_op(cls, op: str) -> str:
        words = _words(op)
        if not words or not words[0]:
            raise ValueError("name a task")
        return op


class RecipeResult(ToolResult):
    op: str
    runner: str
    command: str = Field(description="The command that was run.")
    exit_code: int = Field(description="128 + N after signal N; 137 after a timeout.")
    timed_out: bool
    notes: list[str] | None = Field(default=None, description="What could not be looked at, and why.")
    background: list[BackgroundCommand] | None = Field(
        default=None, description="Commands left running in the background; see shell.background."
    )
    available_tasks: list[str] = Field(description="What `op` may name in this directory.")
    stdout: str = Field(description="Everything that was written, stdout and stderr in one.")


def build(files: ProjectFiles, environment: Mapping[str, str]) -> ToolDefinition:
    """Return the tool. Runners are looked for on the `PATH` of `environment`."""

    async def run(params: RecipeParams, context: ToolCallContext) -> Delegation:
        detected = await asyncio.to_thread(_detect, files, params.cwd, context)
        task, arguments = _chosen(params, detected)
        where = environment.get("PATH")
        if await asyncio.to_thread(shutil.which, task.words[0], path=where) is None:
            raise _not_installed(task, detected)
        return _delegation(params, task, command_of(task, arguments), detected)

    return ToolDefinition(
        name="project.recipe",
        title="Run a task of the project",
        description=load_description("app.tools.project", "recipe.md"),
        parameters=RecipeParams,
        result=RecipeResult,
        run=run,
        acp_kind="execute",
        path_parameter="cwd",
        requires=(CapabilityRequirement("shell"), FsRequirement("rw")),
        destructive=True,
        effects_of=lambda params: Effects(writes=(params.cwd,), exclusive=True, directory=params.cwd),
        body_field="stdout",
        max_output_bytes=MAX_KEPT + 4096,
    )


def _detect(files: ProjectFiles, cwd: str, context: ToolCallContext) -> Detected:
    try:
        folder = ProjectFolder(files.workspace(context), cwd)
    except ToolError as error:
        if error.code not in {"invalid_path", "file_not_found", "not_a_directory"}:
            raise _with_tasks(error, ()) from None
        message = f"cwd: {error.message}"
        raise invalid_params(message, {"cwd": error.message}, path=cwd, available_tasks=[]) from None
    return detect(folder)


def _chosen(params: RecipeParams, detected: Detected) -> tuple[Task, list[str]]:
    name, *arguments = _words(params.op)
    if not detected.runners:
        notes = "".join(f" ({note})" for note in detected.notes)
        raise ToolError(
            "no_runner",
            f"no build runner was found in {params.cwd}: looked for {LOOKED_FOR}{notes}. Give another cwd, "
            "or run a command with shell.bash. There are no available tasks.",
            detail={"available_tasks": []},
        )
    task = detected.find(name)
    if task is None:
        raise _unknown(name, arguments, detected)
    return task, arguments


def command_of(task: Task, arguments: list[str]) -> str:
    """Return the shell command, every word of it quoted: nothing in `arguments` can end it."""
    before: list[str] = []
    if task.runner.name == "make":  # make expands what it is given; the caller gave text
        arguments = [one.replace("$", "$$") if _is_variable(one) else one for one in arguments]
    if task.runner.variables_first:
        before = [one for one in arguments if _is_variable(one)]
        arguments = [one for one in arguments if not _is_variable(one)]
    separator = task.runner.separator if arguments and _is_declared(task) else ()
    return shlex.join([*task.words, *before, *separator, *arguments])


def _is_declared(task: Task) -> bool:
    return task.runner.builtin.get(task.name) != task.words


def _is_variable(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _delegation(params: RecipeParams, task: Task, command: str, detected: Detected) -> Delegation:
    names = detected.names()

    def finish(done: BashResult) -> RecipeResult:
        result = RecipeResult(
            op=params.op,
            runner=task.runner.name,
            command=command,
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            notes=list(detected.notes) or None,
            background=done.background,
            available_tasks=names,
            stdout=done.stdout,
        )
        return result.whole_in(done.output_path) if done.output_path is not None else result

    def explain(error: ToolError) -> ToolError:
        return _with_tasks(error, names, {"command": command})

    arguments = {"command": command, "cwd": params.cwd, "timeout": bash.MAX_TIMEOUT_MS}
    return Delegation(tool=bash.NAME, arguments=arguments, finish=finish, explain=explain)


def _unknown(name: str, arguments: list[str], detected: Detected) -> ToolError:
    names = detected.names()
    near = closest(name, names)
    hint = f"; the closest is {near[0]!r}" if near else ""
    runner = next((one for one in detected.runners if one.name == name), None)
    if runner is not None:
        words = arguments[1:] if arguments[:1] == ["run"] else arguments
        hint = f"; write {runner.name}:{words[0]} to choose a runner" if words else ""
    error = ToolError("unknown_task", f"{_printable(name)!r} is no task here{hint}", detail={"closest": near})
    return _with_tasks(error, names, {"notes": list(detected.notes)} if detected.notes else {})


def _not_installed(task: Task, detected: Detected) -> ToolError:
    error = ToolError(
        "runner_not_installed",
        f"{task.words[0]} runs {task.name!r} here, and is not on the daemon's PATH. To install it: "
        f"{task.runner.install}; or tell the operator",
        detail={"runner": task.runner.name, "install": task.runner.install},
    )
    return _with_tasks(error, detected.names())


def _with_tasks(error: ToolError, names: list[str] | tuple[()], more: Mapping[str, Any] = {}) -> ToolError:
    """Return the error with what else could be asked for, in its text too."""
    listed = ", ".join(names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
    detail = {**error.detail, **more, "available_tasks": list(names)}
    return ToolError(error.code, f"{error.message}. Available tasks: {listed or 'none'}", detail=detail)


def _words(op: str) -> list[str]:
    """Split `op` as a shell would, without any other meaning. Raises ValueError."""
    if "\0" in op:
        raise ValueError("contains a NUL character")
    op.encode("utf-8")
    try:
        return shlex.split(op)
    except ValueError as problem:
        raise ValueError(f"cannot be split into words: {str(problem).lower()}; close or escape it") from None


def _printable(text: str) -> str:
    return text[:100].encode("utf-8", "backslashreplace").decode()
