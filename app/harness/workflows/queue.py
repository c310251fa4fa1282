"""Workflow runs that wait for their turn, and how one begins.

Owns: how many runs of a workflow go on at once, their order, and turning a queued run into a session.
Never: the capacity for sessions (the session waits for that by itself), or what becomes of a run.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from app.errors import KagedError, NotFound
from app.harness.dsl.compiled import CompiledProject, CompiledWorkflow
from app.harness.dsl.inputs import PlacedFile, files_among, first_message
from app.harness.dsl.workflow_view import KIND, OVERRIDE
from app.harness.projects.projects import ProjectRegistry
from app.harness.uploads.service import UploadService
from app.harness.workflows.endings import Ending, failed
from app.harness.workflows.runs import QUEUED, RUNNING, WorkflowRuns, oldest_first
from app.harness.workflows.waiting_session import WaitingSession, waiting_session
from app.ids import is_id
from app.storage.models import Issue, WorkflowRun, Workspace
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.workflows")


WorkspaceKind = Literal["shared", "worktree"]


class NewWorkspaces(Protocol):
    """Makes folders of their own for sessions."""

    async def plan(self, project_id: str, base: str, title: str, actor: str) -> Workspace:
        """Return the row of a workspace that can be made. Raises `KagedError`."""

    def begin(self, row: Workspace) -> None:
        """Make a stored workspace in the background; the first run of its session waits for it."""


class WorkflowQueue:
    """Use it under one lock: who begins runs at the same time would begin too many."""

    def __init__(
        self,
        runs: WorkflowRuns,
        projects: ProjectRegistry,
        uploads: UploadService,
        workspaces: NewWorkspaces,
        begin: Callable[[str, str, str | None], Awaitable[None]],
    ) -> None:
        """`begin` is given the ids of a run and of its session, which waits for capacity; for a session that
        was there before also the message to post."""
        self._runs = runs
        self._projects = projects
        self._uploads = uploads
        self._workspaces = workspaces
        self._begin = begin

    async def serve(self) -> None:
        """Begin every run whose turn it is."""
        while True:
            queued, running = await self._runs.storage.read(
                lambda uow: (
                    uow.workflow_runs.waiting(QUEUED),
                    uow.workflow_runs.count_by_workflow(RUNNING),
                )
            )
            keys = {(run.project_id, run.workflow) for run in queued}
            free = {key: self._concurrency(*key) - running[key] for key in keys}
            due = oldest_first(queued, free)
            if not due:
                return
            for turn in due:
                run = await self._runs.storage.read(lambda uow, key=turn.id: uow.workflow_runs.get(key))  # type: ignore[misc]
                if run is not None and run.state == QUEUED:
                    await self._start(run)

    def _concurrency(self, project_id: str, name: str) -> int:
        """Return how many runs go on at once: none in an untrusted project or in one of another
        daemon, where they wait; one where there is no such workflow, so that it fails."""
        if self._projects.is_untrusted(project_id) or self._projects.is_elsewhere(project_id):
            return 0
        try:
            return self._workflow(project_id, name)[1].concurrency
        except _CannotStart:
            return 1

    def _workflow(self, project_id: str, name: str) -> tuple[CompiledProject, CompiledWorkflow]:
        try:
            project = self._projects.get(project_id)
        except NotFound:
            raise _CannotStart("project_not_loaded", "The project of the run is not loaded.") from None
        if project.compiled is None:
            raise _CannotStart(
                "project_invalid", f"Project {project.slug} does not compile; repair its project file."
            )
        workflow = project.compiled.workflows.get(name)
        if workflow is None:
            raise _CannotStart(
                "workflow_not_found", f"Project {project.slug} has no workflow {name} any more."
            )
        return project.compiled, workflow

    async def _start(self, run: WorkflowRun) -> None:
        attempt = await self._runs.storage.read(lambda uow: uow.attempts.of_workflow_run(run.id))
        session: WaitingSession | None = None
        try:
            project, issue, content = await self._content(run)
            if attempt is None:
                session = await self._placed(run, project, _session(run, project, issue, content))
        except _CannotStart as problem:
            log.warning("workflow run %s cannot start: %s", run.id, problem.ending.error)
            await self._runs.end(run, problem.ending)
            return
        session_id = attempt.session_id if attempt is not None else session.row.id if session else ""

        def statements(uow: UnitOfWork) -> bool:
            values = {"state": RUNNING, "session_id": session_id}
            if not uow.workflow_runs.move(run.id, QUEUED, **values):
                return False  # cancelled meanwhile
            if session is not None:
                session.store(uow)
            return True

        if await self._runs.storage.write(statements, durable=True):
            if session is not None and session.workspace is not None:
                self._workspaces.begin(session.workspace)
            await self._begin(run.id, session_id, content if session is None else None)

    async def say_again(self, run: WorkflowRun) -> None:
        """Give a session that was there before its message, which the end of the daemon kept from it."""
        try:
            _, _, content = await self._content(run)
        except _CannotStart as problem:
            await self._runs.end(run, problem.ending)
            return
        await self._begin(run.id, run.session_id or "", content)

    async def _content(self, run: WorkflowRun) -> tuple[CompiledProject, Issue | None, str]:
        """Return the project, the issue, and the first message of a run."""
        project, workflow = self._workflow(run.project_id, run.workflow)
        issue = await self._issue(run)
        content = first_message(
            run.workflow,
            workflow.description,
            await self._values(run, workflow),
            None if issue is None else {"number": issue.number, "title": issue.title, "body": issue.body},
        )
        return project, issue, content

    async def _placed(
        self, run: WorkflowRun, project: CompiledProject, session: WaitingSession
    ) -> WaitingSession:
        """Return the session of a run in a workspace, where it is to work in one."""
        place = run.workspace or project.workflows[run.workflow].workspace or project.workspace.default
        if place == "shared":
            return session
        row = session.row
        try:
            workspace = await self._workspaces.plan(run.project_id, "head", row.title, row.created_by)
        except KagedError as problem:
            raise _CannotStart("workspace_unavailable", problem.message) from None
        return session.placed_in(workspace)

    async def _issue(self, run: WorkflowRun) -> Issue | None:
        number = run.issue_number
        if number is None:
            return None
        found = await self._runs.storage.read(lambda uow: uow.issues.by_number(run.project_id, number))
        if found is None:
            raise _CannotStart("issue_not_found", f"There is no issue #{number} any more.")
        return found

    async def _values(self, run: WorkflowRun, workflow: CompiledWorkflow) -> dict[str, Any]:
        """Return the inputs as the model is shown them; files are put into the project."""
        values = dict(run.inputs)
        root = self._projects.root_of(run.project_id)
        for name, upload_id in files_among(workflow.inputs, values).items():
            try:
                upload = await self._uploads.get(upload_id)
                path = await self._uploads.place(upload, root, run.id)
            except KagedError as problem:
                raise _CannotStart("file_unavailable", f"The file of {name}: {problem.message}") from None
            values[name] = PlacedFile(path, upload.name, upload.media_type, upload.size_bytes)
        return values


class _CannotStart(Exception):
    """A queued run that fails without a session."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.ending: Ending = failed(code, message)


def _session(run: WorkflowRun, project: CompiledProject, issue: Issue | None, content: str) -> WaitingSession:
    return waiting_session(
        run.project_id,
        project.digest,
        content,
        title=_title(run, issue),
        created_by=str(run.invoked_by.get("id", run.cause)),
        kind=KIND,
        issue_number=run.issue_number,
        overrides={OVERRIDE: run.workflow},
    )


def _title(run: WorkflowRun, issue: Issue | None) -> str:
    if issue is not None:
        return f"{run.workflow}: #{issue.number} {issue.title}"
    texts = (value for value in run.inputs.values() if isinstance(value, str) and not is_id(value, "upl"))
    about = next((text for text in texts if text.strip()), None)
    return run.workflow if about is None else f"{run.workflow}: {about}"
