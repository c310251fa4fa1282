"""Workflows: listed, invoked, followed and cancelled, for REST, tools, schedules and assignments alike.

Owns: what each of these means. Never: when a run begins (`queue`) or what becomes of its session
(`watch`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from app.errors import Conflict, Forbidden, NotFound
from app.events.workflows import WorkflowCause
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.inputs import checked_inputs
from app.harness.issues.author import Author
from app.harness.projects.projects import ProjectRegistry
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.uploads.service import UploadService
from app.harness.workflows.endings import cancelled
from app.harness.workflows.queue import NewWorkspaces, WorkspaceKind
from app.harness.workflows.runs import QUEUED, RUNNING, WorkflowRuns, invoker, new_run, run_not_found
from app.harness.workflows.schedule import start_on_schedule_forever
from app.harness.workflows.watch import WorkflowWatch
from app.storage.keyed_effect import effect
from app.storage.models import WorkflowRun
from app.storage.pages import Page


class WorkflowService:
    """All workflow runs of the daemon; `start` takes up the runs that are stored. `watch` follows the
    sessions of runs."""

    def __init__(
        self,
        runs: WorkflowRuns,
        uploads: UploadService,
        hub: EventHub,
        projects: ProjectRegistry,
        sessions: SessionManager,
        workspaces: NewWorkspaces,
    ) -> None:
        self.runs = runs
        self.projects = projects
        self.watch = WorkflowWatch(hub, runs, projects, sessions, uploads, workspaces)
        self._scheduling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take up the runs of the daemon before, and begin with schedules; sessions have been recovered."""
        await self.watch.start()
        self._begin_schedules()

    def begin(self) -> None:
        """Begin with schedules and follow runs, without any that are stored: other daemons own them."""
        self.watch.follow()
        self._begin_schedules()

    def _begin_schedules(self) -> None:
        self._scheduling = asyncio.create_task(start_on_schedule_forever(self), name="schedules")

    async def aclose(self) -> None:
        """Begin nothing more, and keep how long runs have worked. Runs go on after the restart."""
        if self._scheduling is not None:
            self._scheduling.cancel()
            await asyncio.gather(self._scheduling, return_exceptions=True)
        await self.watch.aclose()

    # -- workflows --------------------------------------------------------------------------

    def workflows(self, project_id: str) -> dict[str, CompiledWorkflow]:
        """Return a project's workflows by name, as it is compiled now; those of an untrusted one are shown.

        Raises `NotFound`, or `ProjectFileInvalid` for a project that has never compiled."""
        return dict(self.projects.get(project_id).shown().workflows)

    def workflow(self, project_id: str, name: str) -> CompiledWorkflow:
        """Return one workflow; raises `NotFound` (`workflow_not_found`), as `workflows` does too."""
        known = self.workflows(project_id)
        if name not in known:
            there = f"There are: {', '.join(sorted(known))}." if known else "The project has no workflows."
            raise NotFound(
                f"There is no workflow {name[:100]!r} in this project. {there}",
                reason="workflow_not_found",
                details={"workflow": name[:100], "workflows": sorted(known)},
            )
        return known[name]

    # -- runs -------------------------------------------------------------------------------

    async def invoke(
        self,
        project_id: str,
        name: str,
        inputs: Mapping[str, Any],
        author: Author,
        *,
        cause: WorkflowCause = "operator",
        issue_number: int | None = None,
        workspace: WorkspaceKind | None = None,
    ) -> WorkflowRun:
        """Store a run and begin it if its turn has come; return it as it is then: running, or queued.

        Raises `NotFound` (`workflow_not_found`, `issue_not_found`), `Forbidden` (`not_invokable`),
        `ValidationFailed` for inputs, `RateLimited` (`queue_full`), `Conflict` (`workflow_too_deep`,
        `project_untrusted`)."""
        self.projects.require_trusted(project_id)
        workflow = self.workflow(project_id, name)
        values = checked_inputs(workflow.inputs, inputs)
        who = invoker(author)
        require_invokable(name, workflow, who["type"])
        run = new_run(
            project_id,
            name,
            workflow,
            values,
            cause=cause,
            invoked_by=who,
            issue_number=issue_number,
        ).model_copy(update={"workspace": workspace})

        async def begin() -> None:
            stored = await self.runs.storage.write(
                effect(lambda uow: self.runs.add(uow, run, workflow, author)), durable=True
            )
            self.runs.emit_queued(stored, author)
            await self.watch.serve()

        await self.watch.shielded(begin())
        return await self.get(run.id)

    async def get(self, run_id: str) -> WorkflowRun:
        """Return a run with the time that it has worked until now; raises `NotFound` (`run_not_found`)."""
        run = await self.runs.storage.read(lambda uow: uow.workflow_runs.get(run_id))
        if run is None:
            raise run_not_found(run_id)
        return self.watch.with_elapsed(run)

    async def list(self, filters: Mapping[str, Any]) -> Page[WorkflowRun]:
        """Return a page of runs, the newest first; the filters are the repository's."""
        found = await self.runs.storage.read(lambda uow: uow.workflow_runs.list(**filters))
        items = [self.watch.with_elapsed(run) for run in found.items]
        return Page(items=items, next_cursor=found.next_cursor, total=found.total)

    async def cancel(self, run_id: str, author: Author) -> WorkflowRun:
        """End a run that waits or works; return it as it is then. One that was done first stays so.

        Raises `NotFound` (`run_not_found`), `Conflict` (`already_ended`)."""
        run = await self.get(run_id)
        ending = cancelled("cancelled", f"{author.name} cancelled the run.")
        if run.state == QUEUED and await self.watch.end_queued(run, ending):
            return await self.get(run_id)
        run = await self.get(run_id)
        if run.state != RUNNING:
            raise Conflict(
                f"The run {run_id} has ended already: its state is {run.state}.",
                reason="already_ended",
                details={"state": run.state},
            )
        await self.watch.stop(run, ending, by=author.actor)
        return await self.get(run_id)


def require_invokable(name: str, workflow: CompiledWorkflow, kind: str) -> None:
    """Raise `Forbidden` when the project does not let such callers start the workflow."""
    if kind not in workflow.invokable_by:
        raise Forbidden(
            f"The workflow {name} cannot be started by an {kind}; its `invokable_by` names who may: "
            f"{', '.join(workflow.invokable_by)}.",
            reason="not_invokable",
        )
