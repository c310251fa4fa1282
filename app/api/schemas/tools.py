"""Tools on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel


class ToolAnswer(AnswerModel):
    """A tool that exists. `parameters` and `result` are JSON Schemas."""

    name: str
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


class ToolsAnswer(AnswerModel):
    tools: list[ToolAnswer]


class AgentToolAnswer(AnswerModel):
    """A tool as one agent has it. `origin` says which rule decided."""

    name: str
    enabled: bool
    origin: str
    description: str | None
    parameters: dict[str, Any] | None = Field(description="What the model is shown; null when disabled.")


class AgentToolsAnswer(AnswerModel):
    agent_path: str
    tools: list[AgentToolAnswer]


class CallTool(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"params": {"path": "README.md"}}})

    params: dict[str, Any] = Field(default_factory=dict)
    agent_path: str = Field(default="primary", max_length=500, description="The agent to call it as.")


class ToolCallMetadata(AnswerModel):
    duration_ms: int
    truncated: bool | None = None
    output_path: str | None = None
    cage_notes: list[str] | None = Field(
        default=None, description="What has happened to the agent's cage, for its model to know."
    )


class ToolEnvelopeAnswer(AnswerModel):
    """The one shape of every tool's answer."""

    type: Literal["output", "error"]
    data: Any = None
    error_text: str | None = None
    code: str | None = None
    detail: dict[str, Any] | None = None
    metadata: ToolCallMetadata
