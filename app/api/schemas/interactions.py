"""Interactions on the wire: what is asked of humans, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.permissions import Pattern

InteractionStateName = Literal["pending", "answered", "cancelled", "expired"]


class InteractionAnswer(AnswerModel):
    """A question and what became of it. For the kind `permission`, `request` has `tool`,
    `permission`, `subjects` (what needs consent, whole), `reason`, `source` (`rule` or `watchdog`)
    and `suggestions` (the rules that `always` stores); `answer` has `answer`, and `comment`,
    `rules`, `scope` or `covered_by` where they apply."""

    id: str
    session_id: str
    run_id: str | None
    agent_path: str
    tool_call_id: str | None
    kind: str
    state: InteractionStateName
    request: dict[str, Any]
    answer: dict[str, Any] | None
    answered_by: str | None
    created_at: Time
    closed_at: Time | None


class AnswerInteraction(RequestModel):
    """An answer to a question of the kind `permission`. `rule` and `scope` belong to `always`,
    `comment` to `reject`."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"answer": "reject", "comment": "Run the tests first."}}
    )

    answer: Literal["once", "always", "reject"]
    rule: Annotated[int, Field(strict=True)] | Pattern | None = Field(
        default=None,
        description="What `always` stores: the number of one suggestion, from 0, or a pattern of your own "
        "for the same permission; without it every suggestion.",
    )
    scope: Literal["session", "project"] | None = Field(
        default=None, description="Where `always` stores it; the session without."
    )
    comment: str | None = Field(default=None, max_length=2000, description="Said to the model.")
