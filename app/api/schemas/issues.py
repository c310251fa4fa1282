"""Issues on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time
from app.api.schemas.uploads import UploadAnswer
from app.events.issues import IssueStatus
from app.harness.issues.fields import Visibility
from app.harness.issues.query import IssueDetail, LinkedIssue, TodoCounts
from app.harness.issues.relations import LinkKind
from app.states import ISSUE_MOVES, IssueState
from app.storage.models import Issue

_TITLE = "One line, at most 200 characters."
_TEXT = "Markdown, at most 16 KB (16384 bytes of UTF-8)."
_ASSIGNMENT = "`primary`, `workflow:<name>` or `session:<session id>`"


class CreateIssue(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"title": "Add dark mode", "body": "The page is too bright at night."}}
    )

    title: str = Field(description=_TITLE)
    body: str = Field(default="", description=_TEXT)
    attachments: list[str] = Field(
        default_factory=list, max_length=50, description="Ids of files uploaded for this project."
    )


class EditIssue(RequestModel):
    """Omitted fields do not change; an assignment of null removes it."""

    model_config = ConfigDict(json_schema_extra={"example": {"assignment": "workflow:fix"}})

    title: str | None = Field(default=None, description=_TITLE)
    body: str | None = Field(default=None, description=f"{_TEXT} The original text is kept.")
    assignment: str | None = Field(
        default=None, description=f"{_ASSIGNMENT}; it starts the work. Null removes it."
    )

    @model_validator(mode="after")
    def _says_something(self) -> EditIssue:
        if self.title is None and self.body is None and "assignment" not in self.model_fields_set:
            raise ValueError("give at least one of title, body and assignment")
        return self


class CommentOnIssue(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"body": "Seen on two machines."}})

    body: str = Field(description=_TEXT)
    visibility: Visibility = "all"


class TransitionIssue(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"to": "resolved", "comment": "Done in 1.4."}})

    to: IssueStatus
    comment: str | None = Field(
        default=None, description="Required for `resolved` and `rejected`. Markdown, at most 16 KB."
    )


class LinkIssue(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"kind": "blocks", "target": 7}})

    kind: LinkKind
    target: int = Field(description="The number of the other issue in the same project.")


class AttachFiles(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"upload_ids": ["upl_01JZ0000000000000000000000"]}}
    )

    upload_ids: list[str] = Field(min_length=1, max_length=50)


class IssueAnswer(AnswerModel):
    """One issue."""

    id: str
    project_id: str
    number: int
    title: str
    body: str
    original_body: str | None = Field(description="The original text, after an edit.")
    status: IssueStatus
    assignment: str | None = Field(description=_ASSIGNMENT)
    created_by: str
    created_at: Time
    updated_at: Time
    resolved_at: Time | None
    resolved_by: str | None


class IssueSummary(AnswerModel):
    """One issue of a list, without its text."""

    id: str
    project_id: str
    number: int
    title: str
    status: IssueStatus
    assignment: str | None
    created_by: str
    created_at: Time
    updated_at: Time
    resolved_at: Time | None


class IssuePage(PageOf[IssueSummary]):
    """One page of issues, newest first; a search returns the best matches first."""


class EditedIssue(IssueAnswer):
    """An issue after an edit."""

    updated_fields: list[Literal["title", "body", "assignment"]] = Field(
        description="The fields that changed."
    )


class TransitionedIssue(IssueAnswer):
    """An issue after a transition."""

    model_config = ConfigDict(populate_by_name=True)

    previous_status: IssueStatus


class IssueUpdateAnswer(AnswerModel):
    """One entry of the history. `metadata` has the old and the new value."""

    id: str
    author: str
    kind: Literal["comment", "status_change", "title_edit", "body_edit", "assignment_change"]
    body: str | None
    metadata: dict[str, Any] | None = Field(validation_alias="details")
    visibility: Visibility
    created_at: Time


class IssueLinkAnswer(AnswerModel):
    """A link, seen from one of its issues; `outgoing` is false when it starts at the other one."""

    id: str
    kind: LinkKind
    outgoing: bool
    number: int
    title: str
    status: IssueStatus
    created_by: str
    created_at: Time

    @classmethod
    def of(cls, link: LinkedIssue) -> IssueLinkAnswer:
        return cls.model_validate(link)


class TodoCountsAnswer(AnswerModel):
    """Counts of the checklist, without abandoned entries."""

    total: int
    completed: int
    in_progress: int
    criteria: int
    criteria_accepted: int

    @classmethod
    def of(cls, counts: TodoCounts) -> TodoCountsAnswer:
        return cls.model_validate(counts)


class IssueDetailAnswer(IssueAnswer):
    """One issue with its history, links, files and checklist counts. `updates` are the newest 200, oldest
    first. `legal_transitions` are the statuses that it can change to."""

    legal_transitions: list[IssueStatus]
    updates: list[IssueUpdateAnswer]
    earlier_updates: int = Field(description="How many updates are older; `GET .../updates` has all.")
    links: list[IssueLinkAnswer]
    attachments: list[UploadAnswer]
    todo_counts: TodoCountsAnswer

    @classmethod
    def of(cls, detail: IssueDetail) -> IssueDetailAnswer:
        return cls.model_validate(
            {
                **fields_of(detail.issue),
                "legal_transitions": _legal_transitions(detail.issue.status),
                "updates": [IssueUpdateAnswer.model_validate(one) for one in detail.updates],
                "earlier_updates": detail.earlier_updates,
                "links": [IssueLinkAnswer.of(one) for one in detail.links],
                "attachments": [UploadAnswer.model_validate(one) for one in detail.attachments],
                "todo_counts": TodoCountsAnswer.of(detail.todos),
            }
        )


class IssueLinks(PageOf[IssueLinkAnswer]):
    """All links of an issue, on one page."""


class IssueAttachments(PageOf[UploadAnswer]):
    """All files of an issue, on one page."""


def _legal_transitions(status: str) -> list[str]:
    """Return the statuses that an issue can change to, in the order of its life."""
    legal = ISSUE_MOVES[IssueState(status)]
    return [state.value for state in IssueState if state in legal]


def fields_of(issue: Issue) -> dict[str, Any]:
    """Return the columns of an issue by their names on the wire."""
    return {name: getattr(issue, name) for name in IssueAnswer.model_fields}
