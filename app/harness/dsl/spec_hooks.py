"""The shape of `hooks`: commands that the daemon runs around tool calls, prompts and the ends of runs.

Owns: these models. Never: running a hook (`harness/hooks/commands`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.harness.dsl.spec_cage import Cage
from app.harness.dsl.spec_types import CommandOrLine, Name, StrictModel, invalid

HookEvent = Literal["before_tool", "after_tool", "on_prompt", "on_stop"]
HOOK_EVENTS: tuple[HookEvent, ...] = ("before_tool", "after_tool", "on_prompt", "on_stop")
OF_TOOLS: tuple[HookEvent, ...] = ("before_tool", "after_tool")
DEFAULT_SECONDS = 10.0
MAX_SECONDS = 600.0
MAX_HOOKS = 32

AgentGlob = Annotated[str, Field(min_length=1, max_length=1000)]


class HookMatch(StrictModel):
    """Which uses of which tools a hook is for, as a permission rule says it."""

    permission: Annotated[str, Field(min_length=1, max_length=200)]
    """A tool, a `tool.action`, a glob, a capability, or `*`."""
    pattern: Annotated[str, Field(min_length=1, max_length=1000)] = "*"
    """A path, a command, a host; globs are allowed."""


class HookSpec(StrictModel):
    """A command that the daemon runs at an event."""

    name: Name
    """Name of the hook; no other hook of the file has it."""
    command: CommandOrLine
    """A shell line, or program and arguments as a list. It runs in the project's root folder."""
    match: list[HookMatch] = Field(default=[], max_length=MAX_HOOKS)
    """Tool calls that the hook is for; one of the entries must match. Default: every call."""
    agents: list[AgentGlob] | None = Field(default=None, max_length=MAX_HOOKS)
    """Globs of agent paths. Default: every agent for `before_tool` and `after_tool`, else `primary`."""
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)] = DEFAULT_SECONDS
    """Seconds after which the hook is killed; at most 600."""
    cage: Cage | None = None
    """What the hook may touch: a block as an agent's, or `disabled`. Default: reads the project only."""
    input: Literal["kaged", "claude"] = "kaged"
    """The format of the JSON on standard input; `claude` is that of Claude Code's hooks."""


class HooksSection(StrictModel):
    """Commands by the event at which they run, in the order of the file."""

    before_tool: list[HookSpec] = Field(default=[], max_length=MAX_HOOKS)
    """Run before a permitted tool call; each may deny the call or put it to the operator."""
    after_tool: list[HookSpec] = Field(default=[], max_length=MAX_HOOKS)
    """Run after a tool call; each may add to the result."""
    on_prompt: list[HookSpec] = Field(default=[], max_length=MAX_HOOKS)
    """Run when a person's message reaches the root agent; each may withhold it from the model."""
    on_stop: list[HookSpec] = Field(default=[], max_length=MAX_HOOKS)
    """Run when an agent has finished; each may send it back, three times in a run."""

    @model_validator(mode="after")
    def _match_is_for_tools(self) -> HooksSection:
        for event, spec in self.all():
            if spec.match and event not in OF_TOOLS:
                raise invalid(
                    "invalid_value",
                    f"`{spec.name}`: `match` is for before_tool and after_tool; use `agents` here",
                    at=event,
                )
        return self

    def all(self) -> Iterator[tuple[HookEvent, HookSpec]]:
        """Yield every hook with its event, in the order of the file."""
        for event in HOOK_EVENTS:
            for spec in getattr(self, event):
                yield event, spec

    def find(self, name: str) -> tuple[HookEvent, HookSpec] | None:
        return next((found for found in self.all() if found[1].name == name), None)
