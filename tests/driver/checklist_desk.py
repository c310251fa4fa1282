"""A desk for checklists: the real services over a real database, and tool calls as the root agent makes
them in a session that is bound to an issue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.bridges.processes.process import ChildProcesses
from app.harness.issues.author import Author
from app.harness.issues.changes import IssueChanges
from app.harness.issues.proposals import TodoProposals
from app.harness.issues.service import IssueService
from app.harness.issues.todos import TodoService
from app.harness.stream.event_hub import EventHub
from app.harness.uploads.service import UploadService
from app.observability import Redactor
from app.storage.models import AuditEvent, Event, Issue, IssueTodo, IssueUpdate
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.dispatch.service import ToolService
from tests.driver import rows
from tests.driver.tool_registry import tool_registry
from tests.tools.conftest import Ports

PROJECT = "prj_00001"
OPERATOR = Author("operator:ada")
AGENT = Author("agent:primary", session_id="ses_00001")


@dataclass
class ChecklistDesk:
    """`context` is that of a call of the root agent in the first session."""

    storage: Storage
    issues: IssueService
    todos: TodoService
    proposals: TodoProposals
    tools: ToolService
    context: ToolCallContext

    async def file_issue(self, title: str = "Mend the till") -> Issue:
        return await self.issues.create(PROJECT, OPERATOR, title=title)

    async def open_session(self, number: int, issue_number: int | None) -> ChecklistDesk:
        """Open a session that is bound to an issue, and return a desk whose calls are of it."""
        row = rows.session(number, project_id=PROJECT, issue_number=issue_number)
        await self.storage.write(lambda uow: uow.sessions.add(row))
        return replace(self, context=replace(self.context, session_id=row.id))

    async def call(self, action: str, **params: Any) -> ToolEnvelope:
        return await self.tools.call(
            "kaged.todo",
            {"action": action, **params},
            self.context,
            allowed=self.tools.registry.names(),
        )

    async def ok(self, action: str, **params: Any) -> Any:
        envelope = await self.call(action, **params)
        assert envelope.type == "output", envelope.model_text()
        return envelope.data

    async def refused(self, action: str, **params: Any) -> ToolEnvelope:
        envelope = await self.call(action, **params)
        assert envelope.type == "error", envelope.data
        return envelope

    async def statuses(self, **params: Any) -> dict[str, str]:
        """Return the state of each entry by its text, as the agent sees it."""
        listed = await self.ok("view")
        return {one["content"]: one["status"] for one in listed["todos"]}

    async def rows_of(self, number: int = 1) -> list[IssueTodo]:
        return (await self.todos.of_issue(PROJECT, number)).rows

    async def entry(self, content: str, number: int = 1) -> IssueTodo:
        return next(row for row in await self.rows_of(number) if row.content == content)

    async def issue(self, number: int = 1) -> Issue:
        return (await self.todos.of_issue(PROJECT, number)).issue

    async def updates(self, number: int = 1) -> list[IssueUpdate]:
        issue = await self.issue(number)
        return await self.storage.read(lambda uow: uow.issue_updates.of_issue(issue.id))

    async def audited(self, pattern: str = "kaged.todo.*") -> list[AuditEvent]:
        """Return the audit rows of that name, the oldest first."""
        page = await self.storage.read(lambda uow: uow.audit.list(event=pattern, limit=100))
        return list(reversed(page.items))

    async def told(self, session_id: str = "ses_00001") -> list[Event]:
        """Return the stored events of a session."""
        return await self.storage.read(lambda uow: uow.events.after(session_id, 0, 2**40, 1_000))


class Unassigned:
    """Nobody works on the issues of the desk."""

    async def check(self, project_id: str, target: str) -> None:
        return None

    def assigned(self, uow: UnitOfWork, issue: Issue, author: Author) -> None:
        return None


@asynccontextmanager
async def checklist_desk(storage: Storage, folder: Path) -> AsyncIterator[ChecklistDesk]:
    """Set up the desk in a database with one project, an issue and a session that is bound to it."""
    await storage.write(lambda uow: uow.projects.add(rows.project(1)))
    hub = EventHub(storage)
    changes = IssueChanges(storage, hub, Redactor([]))
    uploads = UploadService(storage, folder, max_bytes=1_000)
    todos = TodoService(changes)
    children = ChildProcesses()
    context = ToolCallContext(
        session_id="ses_00001",
        run_id=None,
        agent_path="primary",
        project_id=PROJECT,
        project_root=folder,
        cage=None,
        request_id="req_1",
        call_id="call_1",
        scratch_dir=folder / "scratch",
        ports=Ports(),
    )
    desk = ChecklistDesk(
        storage,
        IssueService(changes, uploads, Unassigned()),
        todos,
        TodoProposals(todos, storage, hub),
        ToolService(tool_registry(children=children, todos=todos)),
        context,
    )
    try:
        await desk.file_issue()
        yield await desk.open_session(1, 1)
    finally:
        await children.aclose()
