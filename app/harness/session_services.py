"""What a session needs from the daemon, and how a run is put together from it.

Owns: turning a project's agent, a message and the limits into a `RunContext` with its loop.
Never: session state.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from app.errors import Conflict, NotFound, Unavailable
from app.harness.active_run import ActiveRun
from app.harness.capacity import Capacity
from app.harness.consent import Consents
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.limits import Limits
from app.harness.loop import AgentLoop
from app.harness.permissions import PermissionRules, manifest_rules
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.prompts.assemble import SystemPrompt
from app.harness.providers.catalog import Catalog
from app.harness.providers.router import ProviderRouter
from app.harness.run_context import RunContext
from app.harness.todo_lists import SessionTodos
from app.harness.tool_selection import allowed_tools, tool_specs
from app.ids import new_id, now_ms
from app.observability import Redactor
from app.states import RunState
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork
from app.tools.service import ToolService

if TYPE_CHECKING:
    from app.harness.projects import ProjectRegistry
    from app.harness.session_runs import SessionRuns
    from app.storage.storage import Storage


T = TypeVar("T")


class Spawn(Protocol):
    """Starts a task that the session manager owns and waits for."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]: ...


@dataclass(frozen=True, slots=True)
class SessionServices:
    """Everything a session is given; one instance for all sessions. `run_over` ends what tools keep only
    for a run, by session id and agent path."""

    storage: Storage
    projects: ProjectRegistry
    router: ProviderRouter
    catalog: Catalog
    pipeline: ProcessorPipeline
    tools: ToolService
    capacity: Capacity
    spawn: Spawn
    stopping: Callable[[], bool]
    queue_limit: int
    checkpoint_limit: int
    limits: Limits
    scratch_root: Path
    redactor: Redactor
    permissions: PermissionRules
    consents: Consents
    run_over: Callable[[str, str], Awaitable[None]]

    async def load_history(self, session_id: str) -> tuple[History, ConversationEstimate]:
        """Return the root agent's conversation and its estimate; both are made off the loop."""

        def read(uow: UnitOfWork) -> tuple[History, ConversationEstimate]:
            last = uow.messages.last_position(session_id)
            history = History(uow.messages.history(session_id, "primary"), next_position=last + 1)
            estimate = ConversationEstimate()
            estimate.update(history.visible, (), ())
            return history, estimate

        return await self.storage.read(read)

    async def open_checkpoint(self, session_id: str, checkpoint_id: str | None) -> Checkpoint | None:
        """Return the named open checkpoint (raises `NotFound`), or the newest one if there is one."""
        found = await self.storage.read(lambda uow: uow.checkpoints.open(session_id))
        if checkpoint_id is None:
            return found[0] if found else None
        for checkpoint in found:
            if checkpoint.id == checkpoint_id:
                return checkpoint
        raise NotFound(f"There is no open checkpoint {checkpoint_id} in this session.")

    async def remove_scratch(self, session_id: str) -> None:
        """Delete the files that hold what was cut from the answers of the session's tools."""
        await asyncio.to_thread(shutil.rmtree, self.scratch_root / session_id, ignore_errors=True)

    def refuse_when_stopping(self) -> None:
        """Raise `Conflict` once the daemon is stopping."""
        if self.stopping():
            raise Unavailable("The daemon is stopping; try again after the restart.", reason="stopping")

    async def check_runnable(self, row: SessionRow, model: str | None) -> None:
        """Raise what would stop a run before it starts: no project, no such model."""
        project = await self.project_of(row)
        self.router.resolve(model or model_of(row, project.root))

    async def project_of(self, row: SessionRow) -> CompiledProject:
        """Return the project as it was compiled for this session."""
        project = await self.projects.snapshot(row.project_id, row.compiled_digest)
        if project is None:
            raise Conflict(
                "The project of this session is not loaded. Load it with POST /api/v1/projects/load.",
                reason="project_not_loaded",
                details={"project_id": row.project_id},
            )
        return project

    async def build_run(
        self, session: SessionRuns, message: Message | None, checkpoint: Checkpoint | None, model: str | None
    ) -> ActiveRun:
        """Return a run that is ready to start; nothing is stored yet."""
        row = session.row
        project = await self.project_of(row)
        agent = project.root
        route = self.router.resolve(model or model_of(row, agent))
        await self.catalog.prepare(route.candidates[0].provider)
        prompts = await self.projects.prompts_of(row.project_id, project)
        run_id = new_id("run")
        assert session.history is not None
        context = RunContext(
            session_id=row.id,
            project_id=row.project_id,
            project_root=self.projects.root_of(row.project_id),
            run_id=run_id,
            agent_path=agent.path,
            actor=actor_of(message, row),
            project=project,
            agent=agent,
            stream=session.stream,
            history=session.history,
            estimate=session.estimate,
            route=route,
            limits=self._limits(row, project, agent),
            system=SystemPrompt(prompts, agent).blocks,
            tools=tool_specs(self.tools.registry, agent),
            allowed_tools=allowed_tools(agent),
            scratch_dir=self.scratch_root / row.id,
            headless=row.headless,
            redactor=self.redactor,
            permissions=self.permissions,
            consents=self.consents,
            todos=SessionTodos(self.storage, row.id),
            manifest_rules=manifest_rules(project, agent),
            on_overflow=project.limits.on_overflow,
        )
        loop = AgentLoop(
            context,
            router=self.router,
            catalog=self.catalog,
            pipeline=self.pipeline,
            tools=self.tools,
            take_steers=session.take_steers,
        )
        record = Run(
            id=run_id,
            session_id=row.id,
            agent_path=agent.path,
            state=RunState.RUNNING.value,
            trigger_message_id=message.id if message is not None else None,
            checkpoint_id=checkpoint.id if checkpoint is not None else None,
            model=str(route.candidates[0]),
            created_at=now_ms(),
            started_at=now_ms(),
        )
        return ActiveRun(record, context, loop, session, self.spawn, over=self.run_over)

    def _limits(self, row: SessionRow, project: CompiledProject, agent: CompiledAgent) -> Limits:
        declared = project.limits
        own = Limits(
            max_steps=agent.max_steps or declared.max_steps,
            max_output_tokens=agent.max_output_tokens or declared.max_output_tokens,
            tokens=declared.tokens,
            cost_usd=declared.cost_usd,
            walltime_seconds=declared.walltime_seconds,
        )
        overrides = row.overrides
        wanted = Limits(
            max_steps=overrides.get("max_steps"), max_output_tokens=overrides.get("max_output_tokens")
        )
        chosen = Limits(
            max_steps=wanted.max_steps or own.max_steps,
            max_output_tokens=wanted.max_output_tokens or own.max_output_tokens,
            tokens=own.tokens,
            cost_usd=own.cost_usd,
            walltime_seconds=own.walltime_seconds,
        )
        return chosen.tightened(self.limits)


def model_of(row: SessionRow, agent: CompiledAgent) -> str:
    """Return the session's own model, else the agent's."""
    return str(row.overrides.get("model") or agent.model)


def actor_of(message: Message | None, row: SessionRow) -> str:
    return str(message.details.get("createdBy") or row.created_by) if message is not None else row.created_by
