"""All sessions of the daemon: the one door for REST, WebSocket and CLI.

Owns: which sessions are live, the tasks of their runs, start-up recovery and draining. Never:
what a session does inside (`session`) or who may call (`api`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.conversation.session_rows import Mode, PostedMessage
from app.harness.dsl.compiled import CompiledAgent
from app.harness.issues.binding import open_session
from app.harness.projects.prompts.prompt_reload import prompt_events
from app.harness.projects.prompts.store import PromptFailure
from app.harness.sessions.compactions import CompactionCommands
from app.harness.sessions.direct_call import call_directly
from app.harness.sessions.file_rollback import StagedFiles
from app.harness.sessions.fork import fork_of, new_session, storing
from app.harness.sessions.inspection import describe_prompts
from app.harness.sessions.live_sessions import LiveSessions
from app.harness.sessions.message_files import MessageFiles
from app.harness.sessions.opening import Opening, opened_session
from app.harness.sessions.opening import storing as opening_statements
from app.harness.sessions.point import Point
from app.harness.sessions.prompt_edits import PromptChange
from app.harness.sessions.queued_messages import QueuedMessages, dispatch
from app.harness.sessions.recovery import recover, to_wake
from app.harness.sessions.remote_client import RemoteClient
from app.harness.sessions.rollback import RollbackWish
from app.harness.sessions.run_commands import RunCommands
from app.harness.sessions.service import Interactions
from app.harness.sessions.session import OPERATOR, Session
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.harness.stream.event_hub import EventHub
from app.harness.uploads.service import UploadService
from app.ids import new_id, now_ms
from app.states import SessionState
from app.storage.keyed_effect import effect
from app.storage.models import Rollback, Run, Workspace
from app.storage.models import Session as SessionRow
from app.storage.pages import Page
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.modes import DEFAULT_MODE, ModeName


class SessionManager:
    """Use as `async with`; leaving it drains the running sessions."""

    def __init__(
        self,
        services: SessionServices,
        hub: EventHub,
        uploads: UploadService,
        close_session: Callable[[str], Awaitable[None]],
    ) -> None:
        """`close_session` ends what tools keep for a session."""
        self.capacity, self.questions = services.capacity, services.runs.questions
        self._services, self._storage, self._hub = services, services.runs.storage, hub
        self._uploads, self._close_session = uploads, close_session
        self._live = LiveSessions(services, hub)
        self._tasks = services.tasks
        self._shielded = services.tasks.shielded

    @cached_property
    def compactions(self) -> CompactionCommands:
        """What operators do with compactions."""
        return CompactionCommands(self._services, self._runs_of)

    @cached_property
    def interactions(self) -> Interactions:
        """What people are asked, and their answers."""
        return Interactions(self._services, self._session, self._uploads)

    @cached_property
    def message_files(self) -> MessageFiles:
        """The files of messages."""
        return MessageFiles(self._storage, self._services.runs.projects, self._uploads)

    @cached_property
    def one_run(self) -> RunCommands:
        """What operators do with one run."""
        return RunCommands(self._services, self._runs_of)

    @cached_property
    def queued_messages(self) -> QueuedMessages:
        """What operators do with messages that wait."""
        return QueuedMessages(self._services, self._runs_of)

    # -- lifecycle --------------------------------------------------------------------------

    async def start(self) -> None:
        """Put right what a crash left behind, and let sessions go on."""
        await self.recover()
        await self.go_on()

    async def recover(self, project_id: str | None = None) -> None:
        """Put right what a crash left behind; in one project when given, which another daemon owned, and
        nothing of which is loaded."""
        await recover(self._storage, self._hub, project_id)

    async def go_on(self, project_id: str | None = None) -> None:
        """Line up the sessions that wait for capacity, and wake those that have something to do; of one
        project when given."""
        await self._services.workspaces.recover(project_id)
        queued = await self._storage.read(lambda uow: uow.sessions.in_states([SessionState.QUEUED.value]))
        for row in sorted(queued, key=lambda row: row.updated_at):
            if project_id in (None, row.project_id):
                (await self._session(row.id)).enqueue()
        for session_id in await to_wake(self._storage, project_id):
            await (await self._session(session_id)).wake()
        await self.interactions.go_on(project_id)

    async def drain(self, grace: float) -> None:
        """Stop every run at a clean boundary; running tools get `grace` seconds."""
        self._tasks.stopping = True
        await asyncio.gather(*(session.stop_for_shutdown(grace) for session in self._live.all()))
        await self._tasks.finished()

    # -- sessions ---------------------------------------------------------------------------

    async def create(
        self,
        project_id: str,
        *,
        title: str | None = None,
        issue_number: int | None = None,
        headless: bool = False,
        overrides: Mapping[str, Any] | None = None,
        mode: ModeName = DEFAULT_MODE,
        workspace: Workspace | None = None,
        created_by: str,
    ) -> SessionRow:
        """Store a new session with the project as it is compiled now, and with a folder of its own."""
        compiled = self._services.runs.projects.get(project_id).acting()
        if overrides and "model" in overrides:
            self._services.runs.router.resolve(str(overrides["model"]))
        at = now_ms()
        row = SessionRow(
            id=new_id("ses"),
            project_id=project_id,
            title=title or "",
            issue_number=issue_number,
            headless=headless,
            overrides=dict(overrides or {}),
            mode=mode,
            compiled_digest=compiled.digest,
            created_by=created_by,
            created_at=at,
            updated_at=at,
            workspace_id=workspace.id if workspace is not None else None,
        )

        def store(uow: UnitOfWork) -> None:
            open_session(uow, row)
            if workspace is not None:
                workspace.session_id = row.id
                uow.workspaces.add(workspace)

        return await self._made(row, effect(store, lambda _: row))

    async def open(self, opening: Opening, *, created_by: str) -> SessionRow:
        """Store a new session of one agent, with the conversation before its first message.

        Raises `NotFound` for an agent that the project does not have."""
        compiled = self._services.runs.projects.get(opening.project_id).acting()
        if compiled.agent(opening.agent_path) is None:
            raise NotFound(f"The project has no agent {opening.agent_path}.", reason="agent_not_found")
        row = opened_session(opening, compiled.digest, created_by)
        store = await asyncio.to_thread(opening_statements, row, opening.turns)
        return await self._made(row, store)

    async def fork(self, session_id: str, message_id: str, *, actor: str) -> SessionRow:
        """Store a new session with the conversation up to a message, as it was then."""
        source = await self.get(session_id)
        rows, edits = await self._storage.read(lambda uow: fork_of(uow, session_id, message_id))
        made = new_session(source, actor)
        copied = await asyncio.to_thread(storing, session_id, message_id, made, rows, edits)
        return await self._made(made, effect(copied, lambda _: made))

    async def _made(self, row: SessionRow, statements: Callable[[Any], object]) -> SessionRow:
        await self._storage.write(statements, durable=True)
        self._hub.announce(row)
        return row

    async def get(self, session_id: str) -> SessionRow:
        row = await self._storage.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        return self.as_moved(row)

    def as_moved(self, row: SessionRow) -> SessionRow:
        """Return a stored row with the state that the session has, also where that could not be stored."""
        live = self._live.find(row.id)
        ahead = live is not None and live.ahead
        return row.model_copy(update={"state": live.row.state}) if live and ahead else row

    async def require_open(self, session_id: str) -> None:
        """Raise `Conflict` when a session takes no messages any more."""
        if (await self.get(session_id)).state == SessionState.ARCHIVED:
            raise Conflict("The session is archived: it takes no messages.", reason="invalid_transition")

    def states(self) -> Counter[str]:
        """Return how many of the sessions in memory are in each state."""
        return Counter(session.row.state for session in self._live.all())

    async def list(self, filters: Mapping[str, Any]) -> Page[SessionRow]:
        """Return a page of sessions, newest first; the filters are the repository's."""
        return await self._storage.read(lambda uow: uow.sessions.list(**filters))

    async def change(
        self, session_id: str, changes: Mapping[str, Any], *, actor: str = OPERATOR
    ) -> SessionRow:
        """Give a session another `title`, another `issue_number` (None unbinds it), another `model` from its
        next run on (None: its agent's), or another `mode` from the next call on; or note the run whose end a
        person has seen (`seen_run_id`). `NotFound` (`run_not_found`) for a run of another session."""
        seen = changes.get("seen_run_id")
        if seen is not None:
            run = await self._services.runs.storage.read(lambda uow: uow.runs.get(seen))
            if run is None or run.session_id != session_id or run.parent_run_id is not None:
                raise NotFound("The session has no such run.", reason="run_not_found")
        if changes.get("model") is not None:
            self._services.runs.router.resolve(str(changes["model"]))
        session = await self._session(session_id)
        await self._shielded(session.change(changes, actor))
        return await self.get(session_id)

    async def archive(self, session_id: str) -> SessionRow:
        await self._shielded((await self._session(session_id)).archive())
        await self._close(session_id)
        return await self.get(session_id)

    def working_in(self, project_id: str) -> Sequence[str]:
        """Return the ids of a project's sessions that run, also those whose run waits for an answer."""
        return [one.id for one in self._of_project(project_id) if one.working]

    async def stop_project(self, project_id: str, actor: str) -> None:
        """Cancel what runs or waits in a project, and end its commands and debug sessions. Its
        sessions continue with the version that is trusted when they do."""
        for session in self._of_project(project_id):
            with suppress(Conflict):  # nothing runs there, or it just ended
                await self._shielded(session.cancel(actor))
            session.forget_version()
            await self._close_session(session.id)

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything below it; not while it runs."""
        session = await self._session(session_id)
        await self._shielded(session.delete())
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
        request_id: str | None = None,
    ) -> PostedMessage:
        """Store a message and run it (or queue it); returns once that is durable."""
        if not content.strip() and not attachments:
            raise ValidationFailed("The message is empty.", fields={"content": "write something"})
        session = await self._acting(session_id)
        return await self._shielded(
            session.post(
                content,
                attachments=attachments,
                model=model,
                mode=mode,
                actor=actor,
                request_id=request_id,
            )
        )

    async def cancel(self, session_id: str, actor: str) -> SessionRow:
        session = await self._session(session_id)
        await self._shielded(session.cancel(actor))
        return await self.get(session_id)

    async def pause(self, session_id: str, actor: str, reason: str | None = None) -> SessionRow:
        session = await self._session(session_id)
        await self._shielded(session.pause(actor, reason))
        return await self.get(session_id)

    async def resume(self, session_id: str, checkpoint_id: str | None = None, *, actor: str) -> Run | None:
        session = await self._acting(session_id)
        return await self._shielded(session.resume(checkpoint_id, actor))

    async def continue_run(self, session_id: str, *, actor: str) -> Run:
        session = await self._acting(session_id)
        return await self._shielded(session.continue_run(actor))

    async def roll_back(self, session_id: str, wish: RollbackWish, *, actor: str) -> Rollback | StagedFiles:
        """Take the session back to a checkpoint or a message; with `stage` return what that does to files."""
        session = await self._session(session_id)
        return await self._shielded(session.roll_back(wish, actor))

    async def undo_rollback(
        self, session_id: str, rollback_id: str, *, force: bool = False, actor: str
    ) -> Rollback:
        session = await self._session(session_id)
        return await self._shielded(session.undo_rollback(rollback_id, actor, force=force))

    async def call_tool(
        self,
        session_id: str,
        name: str,
        params: Mapping[str, Any],
        *,
        agent_path: str = "primary",
        actor: str,
        consents: bool = True,
        remote: RemoteClient | None = None,
    ) -> ToolEnvelope:
        """Call a tool as that agent would, with its permissions and the same audit. `consents`: `actor` is
        an operator, whose call is the consent to it; otherwise what would be asked is denied, or asked by
        the `remote` client."""
        session = await self._session(session_id)
        options: dict[str, Any] = {"agent_path": agent_path, "actor": actor, "consents": consents}
        options["remote"] = remote
        return await call_directly(self._services, session, name, params, **options)

    async def prompts(self, session_id: str, point: Point | None = None) -> Sequence[dict[str, Any]]:
        """Return each agent's prompt with its file, digest and source, and what it was really sent last
        (up to a point, when given). An edit that is not applied yet is shown as `pending`."""
        session = await self._runs_of(session_id)
        project = await self._services.runs.projects.of_session(session.row)
        return await describe_prompts(self._services, session, project, point)

    async def agents(self, session_id: str) -> Sequence[CompiledAgent]:
        """Return the agents of a session, by the version of the project that it works with."""
        project = await self._services.runs.projects.of_session(await self.get(session_id))
        return list(project.agents())

    async def edit_prompt(self, session_id: str, change: PromptChange, *, actor: str) -> None:
        session = await self._session(session_id)
        await self._shielded(session.edit_prompt(change, actor))

    async def remove_prompt_edit(self, session_id: str, agent_path: str, *, actor: str) -> None:
        session = await self._session(session_id)
        await self._shielded(session.remove_prompt_edit(agent_path, actor))

    async def enqueue(self, session_id: str) -> None:
        """Let a session that was stored as waiting begin when there is capacity."""
        (await self._session(session_id)).enqueue()

    async def dispatch(self, session_id: str, message_id: str) -> None:
        """Let a session have a message that was stored as waiting in it, and run it when it is idle."""
        await self._shielded(dispatch(self._storage, await self._runs_of(session_id), message_id))

    # -- inside -----------------------------------------------------------------------------

    async def prompts_changed(
        self, project_id: str, agents: tuple[str, ...], failed: Collection[PromptFailure]
    ) -> None:
        """Tell the live sessions of a project that prompts have new texts, or cannot be read."""
        root = self._services.runs.projects.root_of(project_id)
        for session in self._of_project(project_id):
            events = prompt_events(session.row, agents, failed, root)
            if events is not None and session.row.state != SessionState.ARCHIVED:
                await session.stream.record(*events)

    def _of_project(self, project_id: str) -> Sequence[Session]:
        return [session for session in self._live.all() if session.row.project_id == project_id]

    async def _acting(self, session_id: str) -> Session:
        """Return a session that may act: its project is trusted, and the daemon does not stop."""
        session = await self._session(session_id)
        self._services.runs.projects.require_trusted(session.row.project_id)
        self._tasks.refuse_when_stopping()
        return session

    async def _runs_of(self, session_id: str) -> SessionRuns:
        return (await self._session(session_id)).runs

    async def _session(self, session_id: str) -> Session:
        return await self._live.get(session_id)

    async def _close(self, session_id: str) -> None:
        """Let go of what tools kept for a session that is over, and notify no plugin of it any more."""
        self._services.runs.hooks.idle.on_busy(session_id)
        await self._close_session(session_id)
        await self._services.remove_scratch(session_id)
        self._services.workspaces.session_ended()
