"""`shell.bash`: runs one shell command on a terminal.

Owns: the tool's parameters, result and errors, and the environment of commands. Never: running it
(`app.bridges.pty`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

from pydantic import Field, field_validator

from app.bridges.processes.child import SpawnFailed
from app.bridges.pty.command import Command, CommandSpec
from app.bridges.pty.manager import TERMINAL_VARIABLES, TerminalManager, TooManyCommands
from app.bridges.pty.output import MAX_KEPT
from app.errors import ToolError, invalid_params
from app.tools.authorisation.file_policy import fs_policy
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    FsRequirement,
    Integer,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.contract.output import open_sidecar
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.threads import held_open
from app.tools.shell.background import BackgroundCommand, one_line, shown
from app.tools.shell.refusals import refusals

NAME = "shell.bash"
MAX_COMMAND_BYTES = 64 * 1024
MAX_VARIABLES = 64
DEFAULT_TIMEOUT_MS, MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 120_000, 1_000, 600_000
LIVE_SECONDS = 0.1
AUDITED_CHARACTERS = 200
_PARTS = "|;&\n"
"""What joins the parts of a command line: the exit code of one may hide that of another."""
TRUNCATED = "\n[output truncated — 1 MB limit]"


class BashParams(ToolParams):
    command: str = Field(description="Shell command to execute. Passed to /bin/sh -c. Max 64 KB.")
    cwd: str = Field(
        default=".",
        description="Working directory, relative to project root. Must resolve within the project tree.",
    )
    timeout: Integer = Field(
        default=DEFAULT_TIMEOUT_MS,
        description="Maximum execution time in milliseconds. Clamped to [1000, 600000].",
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        max_length=MAX_VARIABLES,
        description="Additional environment variables merged into the process environment. "
        "Keys must be non-empty strings; values must be strings. Max 64 entries.",
    )

    @field_validator("command")
    @classmethod
    def _check_command(cls, command: str) -> str:
        if not command.strip():
            raise ValueError("command is required")
        if len(_encoded(command)) > MAX_COMMAND_BYTES:
            raise ValueError("longer than 64 KB; write a script to a file and run that")
        return command

    @field_validator("cwd")
    @classmethod
    def _check_cwd(cls, cwd: str) -> str:
        if not cwd:
            raise ValueError("is empty; leave it out for the project's root")
        depth = 0
        for name in cwd.split("/") if not cwd.startswith("/") else ():
            depth += {"": 0, ".": 0, "..": -1}.get(name, 1)
            if depth < 0:
                raise ValueError("leads above the project's root; give a folder in the project")
        return cwd

    @field_validator("env")
    @classmethod
    def _check_env(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not name or "=" in name:
                raise ValueError(f"{name!r} is no name of a variable: it must not be empty or contain =")
            _encoded(name)
            _encoded(value)
        return env

    @property
    def seconds(self) -> float:
        return min(max(self.timeout, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS) / 1000


class BashResult(ToolResult):
    stdout: str = Field(description="Everything that was written, stdout and stderr in one.")
    stderr: str = Field(default="", description="Always empty: a terminal has one stream.")
    exit_code: int = Field(description="128 + N after signal N; 137 after a timeout.")
    timed_out: bool
    background: list[BackgroundCommand] | None = Field(
        default=None, description="Commands left running in the background; see shell.background."
    )


class Bash:
    """The tool over one manager of terminals. `environment` is what every command gets."""

    def __init__(
        self,
        terminals: TerminalManager,
        files: ProjectFiles,
        processes: CallProcesses,
        environment: Mapping[str, str],
    ) -> None:
        self._terminals = terminals
        self._files = files
        self._processes = processes
        self._environment = environment

    async def run(self, params: BashParams, context: ToolCallContext) -> BashResult:
        try:
            async with (
                held_open(partial(self._open_folder, params.cwd, context)) as folder,
                self._terminals.command(await self._spec(params, context, folder)) as command,
            ):
                with _audited(command, params, context):
                    await self._to_its_end(command, params.seconds, context)
                return await self._with_notes(_result(command), params, context)
        except SpawnFailed as failure:
            raise _not_started(failure, params) from None
        except TooManyCommands as problem:
            raise _too_many(problem) from None

    async def _with_notes(
        self, result: BashResult, params: BashParams, context: ToolCallContext
    ) -> BashResult:
        """Return the result, and add notes on refusals of the cage."""
        in_cage = context.cage is not None and self._processes.has_cages
        if in_cage and (result.exit_code != 0 or any(mark in params.command for mark in _PARTS)):
            read = partial(refusals, result.stdout, params.cwd, context, command=params.command)
            found = await asyncio.to_thread(read, self._environment, self._processes.missing)
            self._processes.note(context, found)
        return result

    async def _to_its_end(self, command: Command, seconds: float, context: ToolCallContext) -> None:
        live = asyncio.create_task(_show(command, context), name=f"live output of {command.id}")
        try:
            await self._terminals.finish(command, seconds)
        finally:
            live.cancel()
            await asyncio.gather(live, return_exceptions=True)
        if text := command.output.take_live():
            await context.ports.progress(text)

    async def _spec(self, params: BashParams, context: ToolCallContext, folder: int) -> CommandSpec:
        children = await self._processes.of_caller(context)
        environment = self._processes.environment(context, self._environment)
        return CommandSpec(
            command=params.command,
            session_id=context.session_id,
            agent_path=context.agent_path,
            cwd=folder,
            shown_cwd=params.cwd,
            env={**environment, **TERMINAL_VARIABLES, **params.env},
            open_file=partial(open_sidecar, context, NAME, "txt"),
            children=children,
        )

    def _open_folder(self, cwd: str, context: ToolCallContext, held: ExitStack) -> int:
        """Open the working folder: below the root by its real path, and writable for the caller."""
        try:
            opened = held.enter_context(self._files.workspace(context).open(cwd))
            if opened.location.aside is not None or not opened.is_directory:
                raise _bad_folder(cwd, f"{cwd} is not a folder of the project")
            policy = fs_policy(context)
            if policy is not None:
                policy.check(opened.parts, "rw")
            return opened.descriptor
        except ToolError as error:
            if error.code in {"invalid_path", "file_not_found"}:
                raise _bad_folder(cwd, error.message) from None
            raise


def build(
    terminals: TerminalManager,
    files: ProjectFiles,
    processes: CallProcesses,
    environment: Mapping[str, str],
) -> ToolDefinition:
    return ToolDefinition(
        name=NAME,
        title="Run a command",
        description=load_description("app.tools.shell", "bash.md"),
        parameters=BashParams,
        result=BashResult,
        run=Bash(terminals, files, processes, environment).run,
        acp_kind="execute",
        path_parameter="cwd",
        requires=(CapabilityRequirement("shell"), FsRequirement("rw")),
        destructive=True,
        effects_of=_effects,
        body_field="stdout",
        max_output_bytes=MAX_KEPT + 4096,
    )


def _effects(params: BashParams) -> Effects:
    """A command may touch anything: it runs alone."""
    return Effects(
        writes=(params.cwd,),
        exclusive=True,
        commands=(params.command,),
        directory=params.cwd,
        environment=tuple(params.env.items()),
    )


@contextmanager
def _audited(command: Command, params: BashParams, context: ToolCallContext) -> Iterator[None]:
    started = time.perf_counter_ns()
    try:
        yield
    finally:
        context.audit(
            "shell.executed",
            command=params.command[:AUDITED_CHARACTERS],
            cwd=params.cwd,
            exit_code=command.exit_code,
            timed_out=command.timed_out,
            duration_ms=(time.perf_counter_ns() - started) // 1_000_000,
        )


async def _show(command: Command, context: ToolCallContext) -> None:
    while True:
        await command.output.news.wait()
        if text := command.output.take_live():
            await context.ports.progress(text)
        await asyncio.sleep(LIVE_SECONDS)


def _result(command: Command) -> BashResult:
    output = command.output
    code = command.exit_code
    result = BashResult(
        stdout=output.text() + TRUNCATED if output.truncated else output.text(),
        exit_code=code if code is not None else 255,
        timed_out=command.timed_out,
        background=[shown(command)] if command.lingers else None,
    )
    return result.whole_in(output.path) if output.path is not None else result


def _encoded(text: str) -> bytes:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("contains an unpaired surrogate") from None


def _bad_folder(cwd: str, message: str) -> ToolError:
    return invalid_params(f"cwd: {message}", {"cwd": message}, path=cwd)


def _not_started(failure: SpawnFailed, params: BashParams) -> ToolError:
    hint = "; shorten env" if "too long" in failure.reason else "; try again, or tell the operator"
    return ToolError(
        "shell_spawn_failed",
        f"The command could not be started: {failure.reason}{hint}.",
        detail={"reason": failure.reason, "cwd": params.cwd},
    )


def _too_many(problem: TooManyCommands) -> ToolError:
    listed = "; ".join(f"{one.id} ({one.state}): {one_line(one.spec.command)}" for one in problem.commands)
    return ToolError(
        "too_many_commands",
        f"This session has reached its limit of {problem.limit} commands: {listed or 'none'}. "
        "Wait for one to end, or stop one by shell.background.",
        detail={"limit": problem.limit, "commands": [shown(one).model_dump() for one in problem.commands]},
    )
