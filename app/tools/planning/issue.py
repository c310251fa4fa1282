"""`kaged.issue`: the issues of the project.

Owns: the tool's parameters, and which of them each action needs. Never: issues and their rules (the harness).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pydantic import Field

from app.errors import ToolError, invalid_params
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    NaturalNumber,
    PositiveInteger,
    ToolDefinition,
    ToolParams,
    WholeText,
    load_description,
)
from app.tools.planning.issue_port import (
    IssueAction,
    IssueCommand,
    IssueResult,
    IssueStatus,
    IssueTarget,
    ProjectIssues,
    Visibility,
)

NAME = "kaged.issue"
ACTIONS: tuple[IssueAction, ...] = get_args(IssueAction)
DEFAULT_LIMIT, MAX_LIMIT = 25, 100

_READS = ("list", "get")
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "get": ("number",),
    "create": ("title", "body"),
    "comment": ("number", "body"),
    "transition": ("number", "to"),
}


class IssueParams(ToolParams):
    action: IssueAction = Field(
        description="list: issues of the project, by status or search. get: one issue with its history. "
        "create: file an issue. comment: add a comment. transition: change an issue's status."
    )
    status: IssueStatus | None = Field(
        default=None, description="list: only this status. Omit for all that are not closed."
    )
    search: WholeText | None = Field(
        default=None,
        description='list: words that all occur in title, text or comments; "a phrase", prefix*, -without, '
        "OR between alternatives.",
    )
    limit: PositiveInteger | None = Field(
        default=None, description=f"list: most results. Default: {DEFAULT_LIMIT}. Max: {MAX_LIMIT}."
    )
    offset: NaturalNumber | None = Field(default=None, description="list: results to skip. Default: 0.")
    cursor: str | None = Field(default=None, description="list: next_cursor of the page before, or offset.")
    number: PositiveInteger | None = Field(
        default=None, description="get, comment, transition: the issue's number in the project, 42 for #42."
    )
    title: WholeText | None = Field(default=None, description="create: one line, at most 200 characters.")
    body: WholeText | None = Field(
        default=None,
        description="create: the issue's text; comment: the comment. Markdown, at most 16 KB (16384 bytes of "
        "UTF-8).",
    )
    visibility: Visibility = Field(
        default="all", description="comment: for everyone, or a note for operators only."
    )
    to: IssueTarget | None = Field(default=None, description="transition: the new status.")
    comment: WholeText | None = Field(
        default=None,
        description="transition: a comment that goes with it. Required for resolved and rejected.",
    )


def build(issues: ProjectIssues | None) -> ToolDefinition:
    """Return the tool. Without `issues` every call answers `unavailable`."""

    async def run(params: IssueParams, context: ToolCallContext) -> IssueResult:
        _check(params)
        if issues is None:
            raise ToolError("unavailable", f"{NAME} works only inside the daemon.")
        return await issues.carry_out(_command(params), context)

    return ToolDefinition(
        name=NAME,
        title="Work with the project's issues",
        description=load_description("app.tools.planning", "issue.md"),
        parameters=IssueParams,
        result=IssueResult,
        run=run,
        acp_kind="other",
        actions=ACTIONS,
        audits_itself=True,
        principal_scope="root-only",
        root_default=True,
        # Issues that one step files are numbered in the order in which it names them.
        effects_of=lambda params: Effects(exclusive=params.action not in _READS),
    )


def _command(params: IssueParams) -> IssueCommand:
    return IssueCommand(
        action=params.action,
        number=params.number or 0,
        status=params.status,
        search=params.search,
        limit=params.limit or DEFAULT_LIMIT,
        offset=params.offset or 0,
        cursor=params.cursor,
        title=params.title or "",
        body=params.body or "",
        visibility=params.visibility,
        to=params.to or "triaged",
        comment=params.comment,
    )


def _check(params: IssueParams) -> None:
    """Raise ToolError `invalid_params` when something is missing that the action needs."""
    missing = [name for name in _REQUIRED.get(params.action, ()) if getattr(params, name) is None]
    if missing:
        message = f"{NAME}: {params.action} needs {' and '.join(missing)}."
        raise invalid_params(message, dict.fromkeys(missing, f"is required for {params.action}"))
    if params.limit is not None and params.limit > MAX_LIMIT:
        message = f"{NAME}: limit is at most {MAX_LIMIT}; ask for the next page with next_cursor."
        raise invalid_params(message, {"limit": f"is at most {MAX_LIMIT}"})
