"""Plugins on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel


class PluginAnswer(AnswerModel):
    """A plugin as one agent declares it."""

    name: str
    agent_path: str
    package: str = Field(description="As the project file says it.")
    isolation: Literal["agent", "project"]
    version: str | None = Field(description="Null when the manifest cannot be used.")
    description: str | None
    hooks: list[str]
    roles: list[str]
    tools: list[str] = Field(description="Full names; an agent has what its `tools` enable.")
    state: Literal["unusable", "stopped", "starting", "ready", "restarting", "disabled"] = Field(
        description="`unusable`: manifest or config are wrong, or there is none. `disabled`: it failed "
        "too often and is not started again until an operator enables it."
    )
    reason: str | None = Field(description="Why it is unusable, restarting or disabled.")
    failures: int
    pid: int | None
    memory_bytes: int = Field(description="Of its process and all that it started.")
    log: list[str] = Field(description="The last lines that it logged or wrote to stderr, oldest first.")


class PluginsAnswer(AnswerModel):
    plugins: list[PluginAnswer]


class EnabledAnswer(AnswerModel):
    enabled: int = Field(description="How many of its processes were disabled; 0 when none was.")
