"""The rows of workflow runs: added, begun, ended, each with its audit and its event in one unit.

Owns: these units and their events. Never: when any of it happens (`queue`, `service`), or what became of a
run (`endings`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.errors import Conflict, NotFound, RateLimited
from app.events.payload import EventPayload
from app.events.workflows import WorkflowCause, WorkflowEnded, WorkflowQueued, WorkflowStarted
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.inputs import FIELD, files_among
from app.harness.issues.author import Author
from app.harness.issues.moves import require_issue
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.harness.uploads.service import UploadService
from app.harness.workflows.endings import Ending, cost_of
from app.ids import new_id, now_ms
from app.observability import Redactor
from app.states import WorkflowRunState, move
from app.storage.models import AuditEvent, WorkflowRun
from app.storage.repositories.workflow_runs import WaitingRun
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

MAX_QUEUED = 100
"""How many runs of one workflow may wait."""
MAX_DEPTH = 4
"""How many runs may stand one above the other, each started by an agent of the one above."""
MAX_SHOWN_CHARACTERS = 500
QUEUED, RUNNING = WorkflowRunState.QUEUED.value, WorkflowRunState.RUNNING.value


class WorkflowRuns:
    """The one way to store what becomes of a workflow run."""

    def __init__(self, storage: Storage, hub: EventHub, redactor: Redactor, uploads: UploadService) -> None:
        self.storage = storage
        self._hub = hub
        self._redactor = redactor
        self._uploads = uploads

    def add(
        self, uow: UnitOfWork, run: WorkflowRun, workflow: CompiledWorkflow, author: Author
    ) -> WorkflowRun:
        """Store a queued run, which owns its files from then on; return it as it is stored.

        Raises `NotFound` for an issue that is not there, `ValidationFailed` for files, `Conflict` for a
        run too far below others, `RateLimited` when too many wait."""
        if uow.workflow_runs.count_in_state(QUEUED, run.project_id, run.workflow) >= MAX_QUEUED:
            raise RateLimited(
                f"{MAX_QUEUED} runs of {run.workflow} wait already: cancel some, or wait for them.",
                reason="queue_full",
                details={"limit": MAX_QUEUED, "workflow": run.workflow},
            )
        if run.issue_number is not None:
            require_issue(uow, run.project_id, run.issue_number)
        run = run.model_copy(update={"invoked_by": {**run.invoked_by, **_descent(uow, run, author)}})
        files = files_among(workflow.inputs, run.inputs)
        self._uploads.claim(
            uow, list(files.values()), run.project_id, run.id, fields=[f"{FIELD}.{name}" for name in files]
        )
        uow.workflow_runs.add(run)
        data = {
            "run_id": run.id,
            "workflow_name": run.workflow,
            "inputs": shortened(run.inputs),
            "cause": run.cause,
            "issue_number": run.issue_number,
        }
        self._audit(uow, "kaged.workflow.triggered", run, data, author)
        return run

    def emit_queued(self, run: WorkflowRun, author: Author) -> None:
        """Tell who listens to all sessions that a run is stored."""
        self._emit(
            WorkflowQueued(
                workflow_run_id=run.id,
                workflow=run.workflow,
                project_id=run.project_id,
                cause=run.cause,
                invoked_by=author.name,
                issue_number=run.issue_number,
            )
        )

    async def begun(self, run: WorkflowRun) -> WorkflowRun:
        """Note that the session of a run works for the first time; return the run as it is then."""
        at = now_ms()
        event = WorkflowStarted(
            workflow_run_id=run.id,
            workflow=run.workflow,
            project_id=run.project_id,
            issue_number=run.issue_number,
        )

        def statements(uow: UnitOfWork) -> None:
            uow.workflow_runs.update(run.id, started_at=at)
            self._audit(uow, "workflow.started", run, {"run_id": run.id, "workflow_name": run.workflow})

        await self._record(run, event, statements)
        return run.model_copy(update={"started_at": at})

    async def keep_elapsed(self, elapsed: Mapping[str, int]) -> None:
        """Store how long runs have worked, in milliseconds by their ids."""

        def statements(uow: UnitOfWork) -> None:
            for run_id, milliseconds in elapsed.items():
                uow.workflow_runs.update(run_id, elapsed_ms=milliseconds)

        if elapsed:
            await self.storage.write(statements)

    async def end(self, run: WorkflowRun, ending: Ending) -> bool:
        """End a run that is queued or running; False when it has ended already."""
        move(WorkflowRunState(run.state), ending.state)
        session = await self.storage.read(lambda uow: uow.sessions.get(run.session_id or ""))
        at = now_ms()
        event = WorkflowEnded(
            workflow_run_id=run.id,
            workflow=run.workflow,
            project_id=run.project_id,
            state=ending.state.value,
            error=ending.error,
            duration_ms=at - (run.started_at or run.created_at),
            cost_usd=cost_of(session),
        )
        moved: list[bool] = []

        def statements(uow: UnitOfWork) -> None:
            values: dict[str, Any] = {"output": ending.output, "error": ending.error}
            values |= {"state": ending.state.value, "completed_at": at, "cost_usd": event.cost_usd}
            moved.append(uow.workflow_runs.move(run.id, run.state, **values))
            if not moved[-1]:
                raise Conflict(f"The run {run.id} has ended already.", reason="already_ended")
            code = (ending.error or {}).get("code")
            data = {"run_id": run.id, "workflow_name": run.workflow, "state": ending.state.value}
            self._audit(uow, "workflow.ended", run, {**data, **({} if code is None else {"error": code})})

        try:
            await self._record(run if session is not None else None, event, statements)
        except Conflict:
            if moved[-1:] == [False]:
                return False
            raise
        return True

    # -- inside -----------------------------------------------------------------------------

    async def _record(
        self, run: WorkflowRun | None, event: EventPayload, statements: Callable[[UnitOfWork], None]
    ) -> None:
        """Store it, and publish it on the session of the run, or to everybody when it has none."""
        if run is not None and run.session_id is not None:
            try:
                stream = await self._hub.stream(run.session_id)
            except NotFound:  # deleted meanwhile
                pass
            else:
                await asyncio.shield(stream.record([event], statements, durable=True))
                return
        await self.storage.write(statements, durable=True)
        self._emit(event)

    def _emit(self, event: EventPayload) -> None:
        self._hub.publish_globally(Frame.make(0, event, session_id="", created_at=now_ms()))

    def _audit(
        self,
        uow: UnitOfWork,
        event: str,
        run: WorkflowRun,
        data: Mapping[str, Any],
        author: Author | None = None,
    ) -> None:
        actor = "daemon" if author is None else author.name
        row = AuditEvent(
            created_at=now_ms(),
            event=event,
            actor=actor,
            project_id=run.project_id,
            session_id=run.session_id if author is None else author.session_id,
            run_id=None if author is None else author.run_id,
            agent_path=None if author is None else author.agent_path,
            request_id=None if author is None else author.request_id,
            data=self._redactor.data({**data, "caller": actor}),
        )
        uow.audit.add_many([row])


def new_run(
    project_id: str,
    name: str,
    workflow: CompiledWorkflow,
    values: Mapping[str, Any],
    *,
    cause: WorkflowCause,
    invoked_by: Mapping[str, str],
    issue_number: int | None = None,
    slot: int | None = None,
) -> WorkflowRun:
    """Return the row of a run that waits for its turn."""
    return WorkflowRun(
        id=new_id("wfr"),
        project_id=project_id,
        workflow=name,
        state=QUEUED,
        inputs=dict(values),
        cause=cause,
        invoked_by=dict(invoked_by),
        issue_number=issue_number,
        slot=slot,
        timeout_seconds=workflow.timeout_seconds,
        created_at=now_ms(),
    )


def invoker(author: Author) -> dict[str, str]:
    """Return who starts a run as `{type, id}`. The root agent acts with an operator's authority."""
    kind, _, rest = author.name.partition(":")
    if kind in ("operator", "guest") and rest:
        return {"type": kind, "id": rest}
    return {"type": "operator", "id": author.name}


def shortened(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs for the audit trail: of a long text only its beginning."""
    return {
        name: f"{value[:MAX_SHOWN_CHARACTERS]}… ({len(value)} characters)"
        if isinstance(value, str) and len(value) > MAX_SHOWN_CHARACTERS
        else value
        for name, value in inputs.items()
    }


def _descent(uow: UnitOfWork, run: WorkflowRun, author: Author) -> dict[str, Any]:
    """Return where a run comes from that an agent starts; raise `Conflict` when that is too deep."""
    if author.session_id is None:
        return {}
    above = uow.workflow_runs.of_session(author.session_id)
    depth = 1 if above is None else int(above.invoked_by.get("depth", 1)) + 1
    if depth > MAX_DEPTH:
        raise Conflict(
            f"This session is itself a run of a workflow, {MAX_DEPTH} deep: it cannot start {run.workflow}. "
            "Do the work here, or answer what is left to do.",
            reason="workflow_too_deep",
            details={"max_depth": MAX_DEPTH},
        )
    return {"session_id": author.session_id, "depth": depth}


def run_not_found(run_id: str) -> NotFound:
    return NotFound(
        f"There is no workflow run {run_id[:100]}.",
        reason="run_not_found",
        details={"run_id": run_id[:100], "route": "GET /api/v1/workflow-runs"},
    )


def oldest_first(queued: Sequence[WaitingRun], free: Mapping[tuple[str, str], int]) -> list[WaitingRun]:
    """Return the runs that may begin, given how many more each workflow may have: within a workflow the
    oldest first, and of several workflows one each before any has two."""
    ranked: list[tuple[int, int, str, WaitingRun]] = []
    taken: dict[tuple[str, str], int] = {}
    for run in queued:
        key = (run.project_id, run.workflow)
        rank = taken[key] = taken.get(key, 0) + 1
        if rank <= free.get(key, 0):
            ranked.append((rank, run.created_at, run.id, run))
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:3])]
