"""Checklists and checklist proposals on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time
from app.harness.issues.checklist import MAX_CONTENT, MAX_NOTE, MAX_PHASE
from app.harness.issues.checklist_text import markdown
from app.harness.issues.matching import is_live, is_open
from app.harness.issues.todos import ChecklistState, TodoEdit
from app.tools.planning.todo import TodoKind, TodoStatus

ProposalStateName = Literal["proposed", "accepted", "rejected"]
_CONTENT = "The task, on one line."
_PHASE = "The phase of the work."
_POSITION = "The index in the whole list, from 0; later entries move down."


class CreateTodo(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"content": "All endpoints answer 200", "kind": "criterion"}}
    )

    content: str = Field(max_length=MAX_CONTENT, description=_CONTENT)
    kind: TodoKind = Field(
        default="step",
        description="`step` of the plan, or acceptance `criterion` that an operator signs off.",
    )
    phase: str | None = Field(default=None, max_length=MAX_PHASE, description=_PHASE)
    position: int | None = Field(default=None, ge=0, le=1_000_000, description=_POSITION)


class RejectClaim(RequestModel):
    comment: str = Field(min_length=1, max_length=MAX_NOTE, description="What is missing; stored as a note.")


class ResolveIssue(RequestModel):
    comment: str = Field(min_length=1, description="What was done. Markdown, at most 16 KB.")


class EditTodo(RequestModel):
    """Omitted fields do not change. At most one of `status`, `accept` and `reject` is allowed."""

    model_config = ConfigDict(json_schema_extra={"example": {"accept": True}})

    content: str | None = Field(default=None, max_length=MAX_CONTENT, description=_CONTENT)
    phase: str | None = Field(default=None, max_length=MAX_PHASE, description=f"{_PHASE} Null removes it.")
    position: int | None = Field(default=None, ge=0, le=1_000_000, description=_POSITION)
    note: str | None = Field(default=None, min_length=1, max_length=MAX_NOTE)
    status: TodoStatus | None = Field(
        default=None, description="`in_progress` resets the entry that was in progress to `pending`."
    )
    accept: Literal[True] | None = Field(default=None, description="Sign off a criterion.")
    reject: RejectClaim | None = Field(
        default=None, description="Decline the claim that a criterion is met; it becomes pending again."
    )
    resolve: ResolveIssue | None = Field(
        default=None, description="With `accept` of the last criterion: also resolve the issue."
    )

    @model_validator(mode="after")
    def _says_something(self) -> EditTodo:
        if not self.model_fields_set:
            raise ValueError("give what is to be changed")
        return self

    def edit(self) -> TodoEdit:
        """Return the change as the service takes it."""
        phase = (self.phase or "") if "phase" in self.model_fields_set else None
        return TodoEdit(
            content=self.content,
            phase=phase,
            position=self.position,
            note=self.note,
            status=self.status,
            accept=self.accept is True,
            reject=None if self.reject is None else self.reject.comment,
            resolve=None if self.resolve is None else self.resolve.comment,
        )


class TodoNote(AnswerModel):
    author: str
    text: str
    created_at: Time


class TodoAnswer(AnswerModel):
    """One entry of a checklist. A completed criterion is a claim until `accepted_at` is set."""

    id: str
    content: str
    kind: TodoKind
    status: TodoStatus
    phase: str | None
    position: int
    notes: list[TodoNote]
    origin_agent: str | None = Field(description="The subagent that proposed it.")
    created_by: str
    created_at: Time
    updated_at: Time
    completed_at: Time | None
    completed_by: str | None
    accepted_at: Time | None
    accepted_by: str | None


class ChecklistAnswer(PageOf[TodoAnswer]):
    """The complete checklist in its order."""

    issue_number: int
    open: int = Field(description="The number of open entries.")
    markdown: str

    @classmethod
    def of(cls, found: ChecklistState, *, abandoned: bool) -> ChecklistAnswer:
        """Return the checklist; `abandoned` includes abandoned entries."""
        rows = [row for row in found.rows if abandoned or is_live(row)]
        values: dict[str, Any] = {
            "items": [TodoAnswer.model_validate(row) for row in rows],
            "next_cursor": None,
            "total": len(rows),
            "issue_number": found.issue.number,
            "open": sum(map(is_open, rows)),
            "markdown": markdown(rows),
        }
        return cls(**values)


class ProposalAnswer(AnswerModel):
    """An entry that a subagent proposed; `call_id` is the tool call of its delegation."""

    id: str
    session_id: str
    run_id: str | None
    call_id: str | None
    agent_path: str
    content: str
    kind: TodoKind
    state: ProposalStateName
    created_at: Time
    decided_at: Time | None
    decided_by: str | None
