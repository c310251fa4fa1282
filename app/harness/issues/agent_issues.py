"""Issues as root agents work with them: the one service, in the shapes of their tool.

Owns: the translation of commands, results and errors. Never: what a change means (`service`).
"""

from __future__ import annotations

from collections.abc import Callable

from app.errors import KagedError
from app.harness.issues.author import Author
from app.harness.issues.commands import as_tool_error
from app.harness.issues.query import CLOSED, NOT_CLOSED, IssueDetail, IssueFilter
from app.harness.issues.service import IssueService
from app.harness.uploads.service import UploadService
from app.storage.models import Issue, IssueUpdate, Upload
from app.tools.contract.call import ToolCallContext
from app.tools.planning.issue_port import (
    IssueCommand,
    IssueEntry,
    IssueFile,
    IssueRelation,
    IssueResult,
    IssueTodoCounts,
    ListedIssue,
)


class AgentIssues:
    """See `app.tools.planning.issue_port.ProjectIssues`. A root agent reads what operators read."""

    def __init__(self, issues: Callable[[], IssueService], uploads: UploadService) -> None:
        """`issues` gives the daemon's; it starts sessions, which are made of tools."""
        self._issues = issues
        self._uploads = uploads

    async def carry_out(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        """Do what a command says. Raises ToolError."""
        try:
            match command.action:
                case "list":
                    return await self._list(command, context)
                case "get":
                    found = await self._issues().get(context.project_id, command.number)
                    return await self._shown(found, context)
                case "create":
                    return await self._create(command, context)
                case "comment":
                    return await self._comment(command, context)
                case "transition":
                    return await self._transition(command, context)
        except KagedError as problem:
            raise as_tool_error(problem) from None

    async def _list(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        statuses = NOT_CLOSED if command.status is None else (command.status,)
        page = await self._issues().list(
            context.project_id,
            IssueFilter(statuses=statuses, search=command.search),
            limit=command.limit,
            offset=command.offset,
            cursor=command.cursor,
        )
        closed = None
        if command.status is None:
            others = IssueFilter(statuses=CLOSED, search=command.search)
            closed = (await self._issues().list(context.project_id, others, limit=1)).total
        return IssueResult(
            issues=[_listed(issue) for issue in page.items],
            total=page.total,
            closed=closed,
            limit=page.limit,
            offset=page.offset,
            next_cursor=page.next_cursor,
        )

    async def _create(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        issue = await self._issues().create(
            context.project_id, Author.of_call(context), title=command.title, body=command.body
        )
        return IssueResult(
            id=issue.id,
            number=issue.number,
            status=issue.status,
            created_at=_seconds(issue.created_at),
        )

    async def _comment(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        update = await self._issues().comment(
            context.project_id,
            command.number,
            Author.of_call(context),
            body=command.body,
            visibility=command.visibility,
        )
        created_at = _seconds(update.created_at)
        return IssueResult(update_id=update.id, issue_number=command.number, created_at=created_at)

    async def _transition(self, command: IssueCommand, context: ToolCallContext) -> IssueResult:
        moved = await self._issues().transition(
            context.project_id,
            command.number,
            Author.of_call(context),
            to=command.to,
            comment=command.comment,
        )
        return IssueResult(
            number=moved.issue.number,
            from_status=moved.before,
            to_status=moved.issue.status,
            updated_at=_seconds(moved.issue.updated_at),
        )

    async def _shown(self, found: IssueDetail, context: ToolCallContext) -> IssueResult:
        issue = found.issue
        todos = found.todos
        return IssueResult(
            **_listed(issue).model_dump(),
            body=issue.body,
            original_body=issue.original_body,
            resolved_at=None if issue.resolved_at is None else _seconds(issue.resolved_at),
            resolved_by=issue.resolved_by,
            updates=[_entry(update) for update in found.updates],
            earlier_updates=found.earlier_updates or None,
            links=[IssueRelation.model_validate(link, from_attributes=True) for link in found.links],
            attachments=[await self._file(file, issue, context) for file in found.attachments],
            todos=IssueTodoCounts.model_validate(todos, from_attributes=True),
        )

    async def _file(self, file: Upload, issue: Issue, context: ToolCallContext) -> IssueFile:
        """Put an attachment where the agent can read it."""
        shown = IssueFile.model_validate(file, from_attributes=True)
        try:
            path = await self._uploads.place(file, context.project_root, issue.id)
        except KagedError as problem:
            return shown.model_copy(update={"problem": problem.message})
        return shown.model_copy(update={"path": path})


def _listed(issue: Issue) -> ListedIssue:
    return ListedIssue(
        id=issue.id,
        number=issue.number,
        title=issue.title,
        status=issue.status,
        assignment=issue.assignment,
        created_by=issue.created_by,
        created_at=_seconds(issue.created_at),
        updated_at=_seconds(issue.updated_at),
    )


def _entry(update: IssueUpdate) -> IssueEntry:
    return IssueEntry(
        id=update.id,
        author=update.author,
        kind=update.kind,
        body=update.body,
        metadata=update.details or None,
        visibility=update.visibility,
        created_at=_seconds(update.created_at),
    )


def _seconds(milliseconds: int) -> int:
    return milliseconds // 1000
