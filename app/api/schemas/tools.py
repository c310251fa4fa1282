"""Tools on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time


class FsRequirementAnswer(AnswerModel):
    """The cage must allow the caller to read (`ro`) or write (`rw`) the paths of the call."""

    kind: Literal["fs"]
    mode: Literal["ro", "rw"]
    path: Literal["caller"] = "caller"


class SeccompRequirementAnswer(AnswerModel):
    kind: Literal["seccomp"]
    profile: Literal["relaxed"]


class NetRequirementAnswer(AnswerModel):
    """The cage must allow connections to `target`, a host or `host:port`."""

    kind: Literal["net"]
    target: str


class CapabilityRequirementAnswer(AnswerModel):
    """The cage must name the capability."""

    kind: Literal["capability"]
    name: str


RequirementAnswer = Annotated[
    FsRequirementAnswer | SeccompRequirementAnswer | NetRequirementAnswer | CapabilityRequirementAnswer,
    Field(discriminator="kind"),
]


class ToolAnswer(AnswerModel):
    """One tool. `parameters` and `result` are JSON Schemas."""

    name: str
    namespace: str = Field(description="The first part of the name: `file` of `file.read`.")
    source: Literal["builtin", "agent", "plugin", "mcp"] = Field(description="Who provides the tool.")
    requires: list[RequirementAnswer] = Field(
        description="What a cage must allow for a call. An agent without a cage may do all of it."
    )
    wire_name: str
    title: str
    description: str
    parameters: dict[str, Any]
    result: dict[str, Any]
    read_only: bool
    destructive: bool
    principal_scope: str | None
    actions: list[str]
    version: str


class AgentToolAnswer(AnswerModel):
    """A tool of one agent. `origin` is the rule that enabled or disabled it."""

    name: str
    enabled: bool
    origin: str
    loading: Literal["full", "deferred", "late"] | None = Field(
        description="Whether every request has the tool in `full`, or `tool_search` finds it; null when the "
        "tool is disabled."
    )
    description: str | None
    parameters: dict[str, Any] | None = Field(
        description="What the model gets; null when the tool is disabled."
    )


class CallTool(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"params": {"path": "README.md"}}})

    params: dict[str, Any] = Field(default_factory=dict)
    agent_path: str = Field(
        default="primary", max_length=500, description="The agent that the call is made as."
    )


class ToolCallMetadata(AnswerModel):
    duration_ms: int
    truncated: bool | None = None
    output_path: str | None = None
    cage_notes: list[str] | None = Field(
        default=None, description="Changes of the agent's cage that its model should know."
    )


class ToolEnvelopeAnswer(AnswerModel):
    """The result of every tool."""

    type: Literal["output", "error"]
    data: Any = None
    error_text: str | None = None
    code: str | None = None
    detail: dict[str, Any] | None = None
    metadata: ToolCallMetadata


class CommandAnswer(AnswerModel):
    """A shell command: `running` until its shell exits, then `background` while processes that it started
    continue."""

    id: str
    agent_path: str
    command: str
    cwd: str
    state: Literal["running", "background", "ended"]
    pid: int | None
    exit_code: int | None = Field(description="The exit code of the shell; null while it runs.")
    timed_out: bool
    started_at: Time
    ended_at: Time | None


class CommandList(PageOf[CommandAnswer]):
    """All shell commands of the session, on one page."""


class CommandOutputAnswer(CommandAnswer):
    output: str = Field(description="The last 64 KB of its output, as plain text.")
