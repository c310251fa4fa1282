"""The shapes of the sections beside the agents: workflows, tasks, servers, debuggers, limits, skills.

Owns: these models. Never: running any of it; the subsystems read the compiled project.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from app.harness.dsl.cron import cron_problem
from app.harness.dsl.spec_types import (
    INPUT_PATTERN,
    Command,
    CommandOrLine,
    Environment,
    Name,
    OnOverflow,
    PositiveFloat,
    PositiveInt,
    ProjectPath,
    StrictModel,
    Text,
    invalid,
)

InputName = Annotated[str, Field(pattern=INPUT_PATTERN)]
InputType = Literal["string", "text", "number", "integer", "boolean", "enum", "url", "file"]
InputValue = str | int | float | bool

_DEFAULT_TYPES: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


class PermissionRule(StrictModel):
    """One rule: which use of which tool is allowed, denied, or put to the operator."""

    permission: Annotated[str, Field(min_length=1, max_length=200)]
    """A tool, a `tool.action`, a capability, or `*`."""
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    """What the rule applies to: a path, a command, a host; globs are allowed."""
    action: Literal["allow", "deny", "ask"] = "ask"
    """What happens."""
    pinned: bool | None = None
    """Whether no later rule may weaken it. Default: true on an agent, false at the project's root."""


class WorkflowInput(StrictModel):
    """One input of a workflow."""

    type: InputType
    """Kind of value."""
    required: bool = False
    """Whether a run must give it."""
    default: InputValue | None = None
    """Value when a run does not give it."""
    description: Text | None = None
    """Shown to the person who starts the workflow."""
    options: list[Annotated[str, Field(min_length=1)]] | None = Field(
        default=None, min_length=1, max_length=100
    )
    """Choices of an `enum`."""
    max_length: PositiveInt | None = None
    """Longest `string`, `text` or `url`, in characters."""

    @model_validator(mode="after")
    def _fits_its_type(self) -> WorkflowInput:
        if (self.type == "enum") != (self.options is not None):
            wrong = "an `enum` needs `options`" if self.type == "enum" else "`options` are for `type: enum`"
            raise invalid("invalid_value", wrong, at="options")
        if self.max_length is not None and self.type not in ("string", "text", "url"):
            raise invalid("invalid_value", f"`max_length` does not apply to {self.type}", at="max_length")
        if self.default is not None and not self._default_fits(self.default):
            raise invalid("invalid_value", f"`{self.default}` is not a default for {self.type}", at="default")
        return self

    def _default_fits(self, default: InputValue) -> bool:
        if self.type == "file":
            return False
        if self.options is not None:
            return default in self.options
        expected = _DEFAULT_TYPES.get(self.type, (str,))
        if isinstance(default, bool):
            return bool in expected
        too_long = isinstance(default, str) and self.max_length is not None and len(default) > self.max_length
        return isinstance(default, expected) and not too_long


class WorkflowSpec(StrictModel):
    """A task that runs in a session of its own, with inputs."""

    description: Text
    """What the workflow does; shown to operators and to the root agent."""
    system_prompt: ProjectPath
    """Prompt file that is added to the root agent's prompt."""
    inputs: dict[InputName, WorkflowInput] = Field(default={}, max_length=64)
    """Inputs by name."""
    tools: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        default=None, max_length=256
    )
    """Tool names, globs or groups, cut down to what the root agent has. Default: all of the root agent's."""
    invokable_by: list[Literal["operator", "guest"]] = Field(default=["operator"], min_length=1)
    """The callers that may start it."""
    timeout_seconds: Annotated[int, Field(gt=0, le=2**31 - 1)] = 600
    """Seconds after which a run fails."""
    concurrency: Annotated[int, Field(gt=0, le=64)] = 1
    """How many runs go on at once."""
    schedule: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Cron expression of five fields, UTC."""
    workspace: Literal["shared", "worktree"] | None = None
    """Where the sessions of its runs work. Default: as the project's `workspace.default` says."""

    @model_validator(mode="after")
    def _schedule_is_cron(self) -> WorkflowSpec:
        problem = cron_problem(self.schedule) if self.schedule is not None else None
        if problem is not None:
            raise invalid("invalid_value", problem, at="schedule")
        return self


class TaskSpec(StrictModel):
    """A shell command that the operator starts."""

    command: CommandOrLine
    """A shell line, or program and arguments as a list."""
    description: Text | None = None
    """What the task does."""
    cwd: ProjectPath = "."
    """Working directory below the project root."""
    env: Environment = Field(default={})
    """Additional environment variables."""
    timeout_seconds: PositiveInt | None = None
    """Seconds after which the task is stopped. Default: none."""


class LspServer(StrictModel):
    """One language server."""

    lang: Name
    """Language identifier, such as `python`."""
    command: Command
    """Program and arguments; it must speak LSP over stdio."""
    extensions: list[Annotated[str, Field(pattern=r"^\.[^/\s]+$")]] | None = None
    """File name endings, each with its dot. Default: what is usual for the language."""
    settings: dict[str, Any] = Field(default={})
    """Answered to the server's configuration requests."""
    env: Environment = Field(default={})
    """Additional environment variables."""
    max_memory_mb: Annotated[int, Field(ge=64)] | None = None
    """MiB that the server and its children may take before it is restarted. Default: as is usual for it."""


class LspSection(StrictModel):
    """Language servers."""

    servers: list[LspServer] = Field(default=[], max_length=64)
    """At most one per language."""
    diagnostics_after_edit: bool | None = None
    """Whether an edit's result names the errors that it introduced. Default: as the operator set it."""


class DapAdapter(StrictModel):
    """One debug adapter."""

    runtime: Name
    """Name by which an agent asks for it, such as `python`."""
    command: Command | None = None
    """Program that is debugged, with arguments before the script."""
    adapter: Command | None = None
    """Debug adapter to start."""
    type: Name | None = None
    """Adapter type sent in the launch request."""
    launch: dict[str, Any] = Field(default={})
    """Further fields of the launch request."""

    @model_validator(mode="after")
    def _can_be_started(self) -> DapAdapter:
        if self.command is None and self.adapter is None:
            raise invalid("missing_key", "a debug adapter needs `command` or `adapter`", at="adapter")
        return self


class DapSection(StrictModel):
    """Debug adapters."""

    adapters: list[DapAdapter] = Field(default=[], max_length=64)
    """At most one per runtime."""


class LimitsSection(StrictModel):
    """Bounds of every run of this project."""

    max_steps: PositiveInt | None = None
    """Model calls in one run."""
    max_output_tokens: PositiveInt | None = None
    """Output tokens of one model call."""
    cost_usd: PositiveFloat | None = None
    """Cost of one run in USD; a run that reaches it pauses, and a resume may spend as much again."""
    tokens: PositiveInt | None = None
    """Tokens of one run, those read from a cache included; it pauses likewise."""
    walltime_seconds: PositiveInt | None = None
    """Seconds that one run may take; it pauses likewise."""
    on_overflow: OnOverflow = "abort"
    """When compaction does not help: end the run, or cut the oldest messages."""


class SkillsSection(StrictModel):
    """Where further skills are looked for."""

    paths: list[ProjectPath] = Field(default=[], max_length=64)
    """Folders below the project root."""


with warnings.catch_warnings():
    # `copy` is what the key is called; the method of the base class by that name is used nowhere.
    warnings.simplefilter("ignore", UserWarning)

    class WorkspaceSection(StrictModel):
        """The folders of their own in which sessions work."""

        default: Literal["shared", "worktree"] = "shared"
        """Where a session works that does not say so."""
        setup: CommandOrLine | None = None
        """What is run in a new folder: a shell line, or program and arguments as a list."""
        copy: list[ProjectPath] = Field(default=[], max_length=64)  # type: ignore[assignment]
        """Files that git does not have and that are copied; `*` and `?` stand in names."""
        link: list[ProjectPath] = Field(default=[], max_length=64)
        """Folders that git does not have and that a new folder gets, by reference where that is possible."""
        ports: Annotated[int, Field(ge=0, le=100)] = 0
        """How many free ports each folder gets."""
