"""What waits for a person, on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.api.schemas.interactions import InteractionAnswer
from app.api.schemas.model import AnswerModel, Time
from app.api.schemas.sessions import LastRun

InboxKindName = Literal[
    "question", "todo_proposal", "compaction", "budget", "budget_warning", "failed_run", "finished_run"
]


class BudgetUse(AnswerModel):
    """How much of a limit is used."""

    unit: Literal["tokens", "usd", "seconds"]
    limit: float
    used: float = Field(description="Until now; of `seconds`, when the warning came.")
    shared: bool = Field(description="The limit is that of all attempts together.")


class InboxItem(AnswerModel):
    """Something that waits for a person. `id` is the id of the question, the proposal, the compaction or the
    run; the operations of that noun answer it. A run that ended leaves the inbox when `PATCH /sessions/{id}`
    names it as `seen_run_id`, or the session goes on; one that is near a limit with
    `POST /runs/{id}/see-warnings`, or when it ends."""

    kind: InboxKindName
    id: str
    at: Time = Field(description="Since when it waits.")
    project_id: str
    project: str = Field(description="The slug of the project.")
    session_id: str
    session_title: str
    agent_path: str = Field(description="The agent that asks, or that ran.")
    question: InteractionAnswer | None = Field(description="The open question, for `question`.")
    proposal: str | None = Field(description="The entry for the checklist, for `todo_proposal`.")
    run: LastRun | None = Field(
        description="The run, for `budget`, `budget_warning`, `failed_run` and `finished_run`. For `budget`, "
        "its `reason` is the limit: `budget_tokens`, `budget_usd` or `budget_seconds`."
    )
    budget: list[BudgetUse] | None = Field(
        description="The limits of which 80 % are used, or more, for `budget_warning`."
    )
    error: str | None = Field(description="Why the run failed, for `failed_run`.")
    failure: dict[str, Any] | None = Field(
        description="The whole error of the run, as `error` of `GET /runs/{id}`, for `failed_run`."
    )
    summary: str | None = Field(
        description="The beginning of the agent's last answer, up to 500 characters, for `finished_run`."
    )
