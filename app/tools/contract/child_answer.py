"""What a subagent answers to the agent that called it, as that agent's model reads it.

Owns: the shape of the answer. Never: running a subagent (the harness does).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.messages import Frozen


class ProposedTodo(Frozen):
    """An entry of a list that a subagent proposes; nothing is kept of it unless its caller does so."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class ChildAnswer(Frozen):
    """The end of one delegation. Fields that are None are left out.

    `message` is the subagent's last message; a background task has none yet."""

    agent_path: str
    run_id: str
    state: Literal["succeeded", "running"]
    reason: str | None = Field(default=None, description="Why it ended: `stop`, `length`, `max_steps`, ...")
    steps: int | None = Field(default=None, description="Model calls that it made.")
    todos: list[ProposedTodo] | None = Field(default=None, description="A checklist that it proposes.")
    output: dict[str, Any] | None = Field(default=None, description="Its answer by its declared schema.")
    output_problem: str | None = Field(default=None, description="Why there is no `output`.")
    feedback: list[str] | None = Field(default=None, description="What hooks say about the answer.")
    message: str = ""
