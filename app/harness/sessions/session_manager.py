"""All sessions of the daemon: the one door for REST, WebSocket and CLI.

Owns: which sessions are live, the tasks of their runs, start-up recovery and draining. Never:
what a session does inside (`session`) or who may call (`api`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.capacity import Capacity
from app.harness.checkpoints.file_rollback import StagedFiles
from app.harness.checkpoints.fork import fork_of, new_session, storing
from app.harness.checkpoints.inspection import describe_prompts
from app.harness.checkpoints.point import Point
from app.harness.checkpoints.rollback import RollbackWish
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.compaction.commands import CompactionCommands
from app.harness.compaction.compactor import CompactionServices
from app.harness.consent import Consents
from app.harness.delegation.hooks import DelegationHooks
from app.harness.direct_call import call_directly
from app.harness.event_hub import EventHub
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.interactions.service import Interactions
from app.harness.issues.binding import open_session
from app.harness.issues.proposals import TodoProposals
from app.harness.limits import Limits
from app.harness.live_sessions import LiveSessions
from app.harness.permissions import PermissionRules
from app.harness.pipeline.runner import ProcessorPipeline
from app.harness.projects import ProjectRegistry
from app.harness.prompts.reloaded import reloaded
from app.harness.providers.router import ProviderRouter
from app.harness.recovery import recover, to_wake
from app.harness.session import Session
from app.harness.session_rows import Mode, PostedMessage
from app.harness.session_runs import SessionRuns
from app.harness.session_services import RunOver, SessionServices
from app.harness.transfer import export_session
from app.harness.transfer_import import SessionImports
from app.harness.workflows.taking_up import take_up
from app.ids import new_id, now_ms
from app.observability import Redactor, Telemetry
from app.states import SessionState
from app.storage.models import Rollback, Run
from app.storage.models import Session as SessionRow
from app.storage.pages import Page
from app.storage.storage import Storage
from app.tools.call import ToolEnvelope
from app.tools.service import ToolService

T = TypeVar("T")


class SessionManager:
    """Use as `async with`; leaving it drains the running sessions."""

    def __init__(
        self,
        *,
        storage: Storage,
        hub: EventHub,
        projects: ProjectRegistry,
        router: ProviderRouter,
        pipeline: ProcessorPipeline,
        tools: ToolService,
        capacity: Capacity,
        limits: Limits,
        queue_limit: int,
        checkpoint_limit: int,
        scratch_root: Path,
        session_over: Callable[[str], Awaitable[None]],
        run_over: RunOver,
        redactor: Redactor,
        permissions: PermissionRules,
        hooks: PluginHooks,
        notes: WorktreeNotes,
        delegation_hooks: DelegationHooks | None = None,
        proposals: TodoProposals | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.capacity, self.consents = capacity, Consents(permissions, self._spawn)
        self._storage, self._hub, self._session_over = storage, hub, session_over
        self._live = LiveSessions(storage, hub, lambda: self._services)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False
        self._imports = SessionImports(storage, projects, scratch_root)
        self._services = SessionServices(
            storage=storage,
            projects=projects,
            router=router,
            catalog=router.catalog,
            pipeline=pipeline,
            tools=tools,
            capacity=capacity,
            spawn=self._spawn,
            stopping=lambda: self._stopping,
            queue_limit=queue_limit,
            checkpoint_limit=checkpoint_limit,
            limits=limits,
            scratch_root=scratch_root,
            redactor=redactor,
            permissions=permissions,
            consents=self.consents,
            run_over=run_over,
            compaction=CompactionServices(storage, router, router.catalog, plugins=hooks.compaction),
            telemetry=telemetry or Telemetry(),
            hooks=hooks,
            notes=notes,
            delegation_hooks=delegation_hooks or DelegationHooks(),
            proposals=proposals,
        )
        hooks.attach(self._services.project_of, projects.root_of)

    @cached_property
    def compactions(self) -> CompactionCommands:
        """What operators do with compactions."""
        return CompactionCommands(self._services, self._runs_of)

    @cached_property
    def interactions(self) -> Interactions:
        """What people are asked, and their answers."""
        return Interactions(self._services, self._session, self._whole)

    # -- lifecycle --------------------------------------------------------------------------

    async def start(self) -> None:
        """Put right what a crash left behind, and line up the sessions that wait for capacity."""
        await recover(self._storage, self._hub)
        queued = await self._storage.read(lambda uow: uow.sessions.in_states([SessionState.QUEUED.value]))
        for row in sorted(queued, key=lambda row: row.updated_at):
            (await self._session(row.id)).line_up()
        for session_id in await to_wake(self._storage):
            await (await self._session(session_id)).wake()
        await self.interactions.go_on()

    async def drain(self, grace: float) -> None:
        """Stop every run at a clean boundary; running tools get `grace` seconds."""
        self._stopping = True
        await asyncio.gather(*(session.stop_for_shutdown(grace) for session in self._live.all()))
        while self._tasks:
            await asyncio.gather(*list(self._tasks), return_exceptions=True)

    # -- sessions ---------------------------------------------------------------------------

    async def create(
        self,
        project_id: str,
        *,
        title: str | None = None,
        issue_number: int | None = None,
        headless: bool = False,
        overrides: Mapping[str, Any] | None = None,
        created_by: str,
    ) -> SessionRow:
        """Store a new session with the project as it is compiled now."""
        project = self._services.projects.get(project_id)
        if project.compiled is None:
            raise Conflict(
                f"Project {project.slug} does not compile; repair its project file first.",
                reason="project_invalid",
                details={"project_id": project_id, "state": project.row.state},
            )
        if overrides and "model" in overrides:
            self._services.router.resolve(str(overrides["model"]))
        at = now_ms()
        row = SessionRow(
            id=new_id("ses"),
            project_id=project_id,
            title=title or "",
            issue_number=issue_number,
            headless=headless,
            overrides=dict(overrides or {}),
            compiled_digest=project.compiled.digest,
            created_by=created_by,
            created_at=at,
            updated_at=at,
        )
        await self._storage.write(lambda uow: open_session(uow, row), durable=True)
        return row

    async def fork(self, session_id: str, message_id: str, *, actor: str) -> SessionRow:
        """Store a new session with the conversation up to a message, as it was then."""
        source = await self.get(session_id)
        rows, edits = await self._storage.read(lambda uow: fork_of(uow, session_id, message_id))
        made = new_session(source, actor)
        copied = await asyncio.to_thread(storing, session_id, message_id, made, rows, edits)
        await self._storage.write(copied, durable=True)
        return made

    async def get(self, session_id: str) -> SessionRow:
        live = self._live.find(session_id)
        row = await self._storage.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        return row if live is None else row.model_copy(update={"state": live.row.state})

    def states(self) -> Counter[str]:
        """Return how many of the sessions in memory are in each state."""
        return Counter(session.row.state for session in self._live.all())

    async def list(self, **filters: Any) -> Page[SessionRow]:
        """Return a page of sessions, newest first; the filters are the repository's."""
        return await self._storage.read(lambda uow: uow.sessions.list(**filters))

    async def change(self, session_id: str, **values: Any) -> SessionRow:
        """Give a session another `title`, or another `issue_number` (None unbinds it)."""
        session = await self._session(session_id)
        await self._whole(session.change(**values))
        return await self.get(session_id)

    async def archive(self, session_id: str) -> SessionRow:
        session = await self._session(session_id)
        await self._whole(session.archive())
        await self._close(session_id)
        return await self.get(session_id)

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything below it; not while it runs."""
        session = await self._session(session_id)
        await self._whole(session.delete())
        await self._close(session_id)
        self._live.forget(session_id)
        self._hub.forget(session_id)

    # -- messages and runs ------------------------------------------------------------------

    async def post_message(
        self,
        session_id: str,
        content: str,
        *,
        attachments: Sequence[Mapping[str, Any]] = (),
        model: str | None = None,
        mode: Mode = "queue",
        actor: str,
    ) -> PostedMessage:
        """Store a message and run it (or queue it); returns once that is durable."""
        if not content.strip() and not attachments:
            raise ValidationFailed("The message is empty.", fields={"content": "write something"})
        session = await self._session(session_id)
        self._services.refuse_when_stopping()
        return await self._whole(
            session.post(content, attachments=attachments, model=model, mode=mode, actor=actor)
        )

    async def cancel(self, session_id: str, actor: str) -> SessionRow:
        session = await self._session(session_id)
        await self._whole(session.cancel(actor))
        return await self.get(session_id)

    async def pause(self, session_id: str, actor: str, reason: str | None = None) -> SessionRow:
        session = await self._session(session_id)
        await self._whole(session.pause(actor, reason))
        return await self.get(session_id)

    async def resume(self, session_id: str, checkpoint_id: str | None = None, *, actor: str) -> Run | None:
        session = await self._session(session_id)
        self._services.refuse_when_stopping()
        return await self._whole(session.resume(checkpoint_id, actor))

    async def continue_run(self, session_id: str, *, actor: str) -> Run:
        session = await self._session(session_id)
        self._services.refuse_when_stopping()
        return await self._whole(session.continue_run(actor))

    async def roll_back(self, session_id: str, wish: RollbackWish, *, actor: str) -> Rollback | StagedFiles:
        """Take the session back to a checkpoint or a message; with `stage` tell what that does to files."""
        session = await self._session(session_id)
        return await self._whole(session.roll_back(wish, actor))

    async def undo_rollback(
        self, session_id: str, rollback_id: str, *, force: bool = False, actor: str
    ) -> Rollback:
        session = await self._session(session_id)
        return await self._whole(session.undo_rollback(rollback_id, actor, force=force))

    async def call_tool(
        self,
        session_id: str,
        name: str,
        params: Mapping[str, Any],
        *,
        agent_path: str = "primary",
        actor: str,
        consents: bool = True,
    ) -> ToolEnvelope:
        """Call a tool as that agent would, with its permissions and the same audit. `consents`: `actor` is
        an operator, whose call is the consent to it; otherwise what would be asked is denied."""
        session = await self._session(session_id)
        options: dict[str, Any] = {"agent_path": agent_path, "actor": actor, "consents": consents}
        return await call_directly(self._services, session, name, params, **options)

    async def prompts(self, session_id: str, point: Point | None = None) -> Sequence[dict[str, Any]]:
        """Return each agent's prompt with its file, digest and source, and what it was really sent last
        (up to a point, when given). An edit that is not applied yet is told as `pending`."""
        row = await self.get(session_id)
        project = await self._services.project_of(row)
        return await describe_prompts(self._services, row, project, point)

    async def edit_prompt(
        self, session_id: str, checkpoint_id: str, agent_path: str, content: str, **options: Any
    ) -> None:
        session = await self._session(session_id)
        await self._whole(session.edit_prompt(checkpoint_id, agent_path, content, **options))

    async def remove_prompt_edit(self, session_id: str, agent_path: str, *, actor: str) -> None:
        session = await self._session(session_id)
        await self._whole(session.remove_prompt_edit(agent_path, actor))

    async def line_up(self, session_id: str) -> None:
        """Let a session that was stored as waiting begin when there is capacity."""
        (await self._session(session_id)).line_up()

    async def take_up(self, session_id: str, message_id: str) -> None:
        """Let a session have a message that was stored as waiting in it, and run it when it is idle."""
        session = await self._session(session_id)
        await self._whole(take_up(self._storage, session.runs, message_id))

    async def export_lines(self, session_id: str) -> AsyncIterator[bytes]:
        """Yield the session as JSON lines, the session itself first."""
        row = await self.get(session_id)
        async for line in export_session(self._storage, row):
            yield line

    async def import_lines(self, lines: AsyncIterator[bytes], actor: str) -> SessionRow:
        """Store an exported session; its ids are kept, so the same one is refused twice."""
        return await self._imports.take(lines, actor)

    # -- inside -----------------------------------------------------------------------------

    async def prompts_changed(self, project_id: str, agents: tuple[str, ...]) -> None:
        """Tell the live sessions of a project that prompts have new texts."""
        for session in self._live.all():
            told = reloaded(session.row, agents) if session.row.project_id == project_id else None
            if told is not None and session.row.state != SessionState.ARCHIVED:
                await session.stream.record([told[0]], told[1])

    async def _runs_of(self, session_id: str) -> SessionRuns:
        return (await self._session(session_id)).runs

    async def _session(self, session_id: str) -> Session:
        return await self._live.get(session_id)

    async def _close(self, session_id: str) -> None:
        """Let go of what tools kept for a session that is over, and tell no plugin of it any more."""
        self._services.hooks.idle.stirs(session_id)
        await self._session_over(session_id)
        await self._services.remove_scratch(session_id)

    async def _whole(self, command: Coroutine[Any, Any, T]) -> T:
        """Carry a command out to its end, also when the client that gave it goes away."""
        return await asyncio.shield(self._spawn(command, name="command"))

    def _spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
