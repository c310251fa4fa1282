"""Shell commands on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel, Time


class CommandAnswer(AnswerModel):
    """A shell command. `running` until its shell has ended, then `background` while something that
    it started goes on."""

    id: str
    agent_path: str
    command: str
    cwd: str
    state: Literal["running", "background", "ended"]
    pid: int | None
    exit_code: int | None = Field(description="The shell's; null while it runs.")
    timed_out: bool
    started_at: Time
    ended_at: Time | None


class CommandsAnswer(AnswerModel):
    commands: list[CommandAnswer]


class CommandOutputAnswer(CommandAnswer):
    output: str = Field(description="The last 64 KB of its output, as plain text.")
