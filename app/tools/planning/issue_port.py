"""The interface of `kaged.issue` to the daemon.

Owns: the protocol and its shapes; times are whole seconds since the epoch. Never: an implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from app.messages import Frozen
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolResult

IssueAction = Literal["list", "get", "create", "comment", "transition"]
IssueStatus = Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
IssueTarget = Literal["triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
Visibility = Literal["all", "operator_only"]


@dataclass(frozen=True, slots=True)
class IssueCommand:
    """One action of `kaged.issue`; each action needs only some of the fields."""

    action: IssueAction
    number: int = 0
    status: IssueStatus | None = None
    search: str | None = None
    limit: int = 25
    offset: int = 0
    cursor: str | None = None
    title: str = ""
    body: str = ""
    visibility: Visibility = "all"
    to: IssueTarget = "triaged"
    comment: str | None = None


class ListedIssue(Frozen):
    id: str
    number: int
    title: str
    status: IssueStatus
    assignment: str | None
    created_by: str
    created_at: int
    updated_at: int

    @model_serializer(mode="wrap")
    def _with_nulls(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return {**handler(self), "assignment": self.assignment}


class IssueEntry(Frozen):
    """An entry of an issue's history; `metadata` has the old and the new value."""

    id: str
    author: str
    kind: Literal["comment", "status_change", "title_edit", "body_edit", "assignment_change"]
    body: str | None
    metadata: dict[str, Any] | None
    visibility: Visibility
    created_at: int

    @model_serializer(mode="wrap")
    def _with_nulls(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return {**handler(self), "body": self.body, "metadata": self.metadata}


class IssueRelation(Frozen):
    """A link. `outgoing` is false when the other issue has it: that one blocks this one, say."""

    kind: Literal["blocks", "relates", "duplicates"]
    outgoing: bool
    number: int
    title: str
    status: IssueStatus


class IssueFile(Frozen):
    """An attached file; `path` is where it can be read in the project, `problem` why it cannot."""

    id: str
    name: str
    media_type: str
    size_bytes: int
    path: str | None = None
    problem: str | None = None


class IssueTodoCounts(Frozen):
    total: int
    completed: int
    in_progress: int
    criteria: int
    criteria_accepted: int


_NULLS = ("original_body", "assignment", "resolved_at", "resolved_by")


class IssueResult(ToolResult):
    """The result of every action; each fills its own fields."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)

    issues: list[ListedIssue] | None = Field(default=None, description="list")
    total: int | None = Field(default=None, description="list: how many there are in all pages")
    closed: int | None = Field(
        default=None, description="list without a status: how many resolved and rejected issues it leaves out"
    )
    limit: int | None = Field(default=None, description="list")
    offset: int | None = Field(default=None, description="list: where this page begins")
    next_cursor: str | None = Field(default=None, description="list: null on the last page")

    id: str | None = Field(default=None, description="get, create")
    number: int | None = Field(default=None, description="get, create, transition")
    title: str | None = Field(default=None, description="get")
    body: str | None = Field(default=None, description="get")
    original_body: str | None = Field(default=None, description="get: the first text, once it was edited")
    status: IssueStatus | None = Field(default=None, description="get, create")
    assignment: str | None = Field(default=None, description="get")
    created_by: str | None = Field(default=None, description="get")
    created_at: int | None = Field(default=None, description="get, create, comment")
    updated_at: int | None = Field(default=None, description="get, transition")
    resolved_at: int | None = Field(default=None, description="get")
    resolved_by: str | None = Field(default=None, description="get")
    updates: list[IssueEntry] | None = Field(default=None, description="get: the history, oldest first")
    earlier_updates: int | None = Field(
        default=None, description="get: how much of the history is before what is shown"
    )
    links: list[IssueRelation] | None = Field(default=None, description="get")
    attachments: list[IssueFile] | None = Field(default=None, description="get")
    todos: IssueTodoCounts | None = Field(default=None, description="get")

    update_id: str | None = Field(default=None, description="comment")
    issue_number: int | None = Field(default=None, description="comment")
    from_status: IssueStatus | None = Field(
        default=None, serialization_alias="from", description="transition"
    )
    to_status: IssueStatus | None = Field(default=None, serialization_alias="to", description="transition")

    @model_serializer(mode="wrap")
    def _as_each_action_shows_it(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        shown = handler(self)
        if self.issues is not None:
            shown["next_cursor"] = self.next_cursor
        if self.updates is not None:
            shown |= {name: getattr(self, name) for name in _NULLS}
        return shown


class ProjectIssues(Protocol):
    """The issues of the caller's project, as its root agent works with them."""

    async def carry_out(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        """Do the command. Raises ToolError `issue_not_found`, `invalid_transition` (detail: `from`, `legal`)
        or `invalid_params`."""
