"""MCP servers on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel, PageOf


class McpToolAnswer(AnswerModel):
    """A tool as its server lists it."""

    name: str
    title: str
    description: str


class McpServerAnswer(AnswerModel):
    """An MCP server that agents of a project may use."""

    name: str
    origin: Literal["config", "added", "project"] = Field(
        description="`config`: the config file; `added`: `kaged mcp add`; `project`: the project file."
    )
    transport: Literal["stdio", "http"] | None = Field(description="Null when the declaration is unusable.")
    state: Literal["unusable", "stopped", "starting", "ready", "restarting", "disabled"] = Field(
        description="`stopped`: nothing has used it yet. `disabled`: it failed too often."
    )
    reason: str | None = Field(default=None, description="Why it is unusable, restarting or disabled.")
    failures: int = 0
    pid: int | None = None
    server: str | None = Field(default=None, description="What the server calls itself.")
    protocol: str | None = Field(
        default=None, description="The version of the protocol that is spoken with it."
    )
    tools: list[McpToolAnswer] = Field(default=[], description="What it offered when it was asked last.")
    left_out: list[str] = Field(default=[], description="Tools that cannot be used, each with the reason.")
    log: list[str] = Field(default=[], description="The last lines of its stderr, oldest first.")


class McpServerList(PageOf[McpServerAnswer]):
    """All MCP servers of the project, on one page."""


class McpContentAnswer(AnswerModel):
    """What a server offers beside tools."""

    resources: list[dict[str, Any]] = Field(description="Each with `uri` or `uri_template`.")
    prompts: list[dict[str, Any]] = Field(description="Each with its arguments.")
