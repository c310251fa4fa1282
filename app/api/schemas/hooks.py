"""Hooks on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time
from app.harness.dsl.spec_hooks import HookEvent

Source = Literal["config", "project"]


class HookMatchAnswer(AnswerModel):
    """Which tool calls a hook is for, as a permission rule says it."""

    permission: str
    pattern: str


class HookFailureAnswer(AnswerModel):
    """The newest failure of a hook."""

    at: Time
    reason: str


class HookAnswer(AnswerModel):
    """A hook: a command that runs at an event. Its runs are those in sessions since the daemon started."""

    name: str
    event: HookEvent
    source: Source = Field(description="The operator's config file, or the project file.")
    command: str | list[str] = Field(description="A shell line, or program and arguments.")
    match: list[HookMatchAnswer] = Field(description="Empty: every call.")
    agents: list[str] | None = Field(description="Globs of agent paths; null: as usual for the event.")
    timeout_seconds: float
    cage: Literal["disabled"] | dict[str, Any] | None = Field(
        description="Null: the project read-only, and no network."
    )
    input: Literal["kaged", "claude"]
    state: Literal["not_run", "ok", "failed"] = Field(
        description="How its newest run ended. A denial is no failure."
    )
    runs: int
    failures: int
    last_run_at: Time | None
    last_failure: HookFailureAnswer | None = Field(description="Kept when later runs succeed.")


class HookList(PageOf[HookAnswer]):
    """All hooks in the order in which they run, by event, on one page."""


class HookTestRequest(RequestModel):
    """The input of the hook. An example stands for each value that is missing. No tool is called."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"tool": "shell.bash", "arguments": {"command": "git commit -m x"}}}
    )

    agent_path: str = Field(default="primary", max_length=2000)
    tool: str = Field(default="file.write", max_length=200)
    arguments: dict[str, Any] = Field(default={"path": "example.txt", "content": "An example.\n"})
    result: Any = Field(default="An example.")
    is_error: bool = False
    prompt: str = "An example."
    answer: str = Field(default="An example.", description="The agent's last words, for `on_stop`.")
    stop_reason: str = Field(default="stop", max_length=200)


class HookTestAnswer(AnswerModel):
    """How the hook ended, and what would follow."""

    name: str
    event: HookEvent
    source: Source
    decision: Literal["continue", "ask", "deny", "failed"] = Field(
        description="`failed`: the hook could not be run, was killed, or ended with another exit code than 0 "
        "and 2. Before a tool call that is a denial, else a warning."
    )
    reason: str
    context: str = Field(description="What the model would read.")
    exit_code: int | None
    timed_out: bool
    duration_ms: int
    stdout: str = Field(description="The beginning of it.")
    stderr: str = Field(description="The beginning of it.")
