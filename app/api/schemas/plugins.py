"""Plugins on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel, PageOf


class PluginAnswer(AnswerModel):
    """A plugin as one agent declares it."""

    name: str
    agent_path: str
    package: str = Field(description="As written in the project file.")
    isolation: Literal["agent", "project"]
    version: str | None = Field(description="Null when the manifest is unusable.")
    description: str | None
    hooks: list[str]
    roles: list[str]
    tools: list[str] = Field(description="Full names; an agent gets those that its `tools` enable.")
    state: Literal["unusable", "stopped", "starting", "ready", "restarting", "disabled"] = Field(
        description="`unusable`: manifest or config are missing or wrong. `disabled`: it failed too often "
        "and is not started until an operator enables it."
    )
    reason: str | None = Field(description="Why it is unusable, restarting or disabled.")
    failures: int
    pid: int | None
    memory_bytes: int = Field(description="Of its process and its child processes.")
    log: list[str] = Field(description="The last lines of its log and stderr, oldest first.")


class PluginList(PageOf[PluginAnswer]):
    """All plugins of the project's agents, on one page."""


class EnabledAnswer(AnswerModel):
    enabled: int = Field(description="How many of its processes were disabled before.")
