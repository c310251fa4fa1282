"""Starting attempts: all their sessions and workspaces are stored at once, or none of them.

Owns: what can be refused, and the rows. From then on everything begins by itself, also after a restart.
Never: making workspaces, running sessions, or the turns of workflow runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.attempts.comparison import Comparison, new_comparison
from app.harness.attempts.record import audit_of
from app.harness.attempts.wish import AttemptsWish, FirstMessage
from app.harness.conversation.session_rows import operator_message, title_from, waiting_message
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.inputs import checked_inputs, files_among
from app.harness.dsl.workflow_view import KIND, OVERRIDE
from app.harness.issues.author import Author
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.sessions.fork import fork_of, new_session
from app.harness.sessions.fork import storing as copying
from app.harness.sessions.session_manager import SessionManager
from app.harness.workflows.runs import invoker, new_run
from app.harness.workflows.service import WorkflowService, require_invokable
from app.harness.workspaces.creation import HEAD, WORKING
from app.harness.workspaces.service import Workspaces
from app.ids import ROOT_AGENT, new_id, now_ms
from app.states import SessionEvent, SessionState, move_session
from app.storage.keyed_effect import effect
from app.storage.models import Attempt, AttemptGroup, Message, PromptEdit, WorkflowRun, Workspace
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

AT_REST = (SessionState.IDLE.value, SessionState.PAUSED.value)
Statements = Callable[[UnitOfWork], None]


@dataclass(frozen=True, slots=True)
class Started:
    """A group as it is stored, and what each of its sessions begins with."""

    comparison: Comparison
    messages: Sequence[Message] = ()
    runs: Sequence[WorkflowRun] = ()


@dataclass(slots=True)
class _Plan:
    """The rows of a group before they are stored; `copies` store the conversation before the message."""

    group: AttemptGroup
    sessions: list[SessionRow]
    attempts: list[Attempt]
    messages: list[Message] = field(default_factory=list)
    copies: list[Statements] = field(default_factory=list)
    runs: list[WorkflowRun] = field(default_factory=list)


class Starting:
    """Starts groups of attempts. `most` is how many may be in one."""

    def __init__(
        self,
        storage: Storage,
        projects: ProjectRegistry,
        router: ProviderRouter,
        sessions: SessionManager,
        workspaces: Workspaces,
        workflows: WorkflowService,
        most: int,
    ) -> None:
        self._storage = storage
        self._projects = projects
        self._router = router
        self._sessions = sessions
        self._workspaces = workspaces
        self._workflows = workflows
        self._most = most

    async def with_message(
        self, project_id: str, wish: AttemptsWish, message: FirstMessage, title: str | None, actor: str
    ) -> Started:
        """Start new sessions with a message. Raises `ValidationFailed`, `NotFound`, and `Conflict` as for a
        session in a workspace."""
        self._check(wish, message)
        title = title or title_from(message.content)
        plan = self._plan(project_id, wish, title, actor)
        self._ask(plan, message, actor)
        return await self._start(plan, wish.base or HEAD, wish.titles(title), actor)

    async def from_session(
        self, session_id: str, wish: AttemptsWish, message: FirstMessage, actor: str
    ) -> Started:
        """Start forks of a session, each with the message. Raises as `with_message`, and `Conflict` for a
        session that works, or has a workspace of its own."""
        self._check(wish, message)
        source = await self._sessions.get(session_id)
        self._require_source(source)
        title = source.title or title_from(message.content)
        plan = self._plan(source.project_id, wish, title, actor, source)
        self._ask(plan, message, actor)
        last, rows, edits = await self._storage.read(lambda uow: _conversation(uow, session_id))
        if last is not None:
            for session in plan.sessions:
                store = await asyncio.to_thread(copying, session_id, last, session, rows, edits)
                plan.copies.append(store)
        # What the conversation is about lies in the checkout, whether it is committed or not.
        return await self._start(plan, wish.base or WORKING, wish.titles(title), actor)

    async def workflow(
        self,
        project_id: str,
        name: str,
        inputs: dict[str, Any],
        wish: AttemptsWish,
        author: Author,
        issue_number: int | None = None,
    ) -> Started:
        """Start runs of a workflow, which take their turns as its others. Raises as `with_message` and as the
        start of one run."""
        self._check(wish, None)
        workflow = self._workflows.workflow(project_id, name)
        values = checked_inputs(workflow.inputs, inputs)
        files = files_among(workflow.inputs, values)
        if files:
            taken = {f"inputs.{key}": "not with `attempts`" for key in files}
            raise ValidationFailed("Runs that are attempts take no files.", fields=taken)
        who = invoker(author)
        require_invokable(name, workflow, who["type"])
        plan = self._plan(project_id, wish, name, author.actor, workflow=name, issue_number=issue_number)
        for attempt in plan.attempts:
            run = new_run(
                project_id,
                name,
                workflow,
                values,
                cause="operator",
                invoked_by=who,
                issue_number=issue_number,
            )
            attempt.workflow_run_id = run.id
            plan.runs.append(run)
        titles = wish.titles(name)
        return await self._start(plan, wish.base or HEAD, titles, author.actor, (workflow, author))

    # -- inside -----------------------------------------------------------------------------

    def _check(self, wish: AttemptsWish, message: FirstMessage | None) -> None:
        if wish.n > self._most:
            limit = f"at most {self._most} (`workspaces.max_attempts`)"
            raise ValidationFailed("That is too many attempts.", fields={"attempts.n": limit})
        if len(wish.models) > wish.n:
            most = f"at most {wish.n}, one for each attempt"
            raise ValidationFailed("There are more models than attempts.", fields={"attempts.models": most})
        for at, model in enumerate(wish.models):
            try:
                self._router.resolve(model)
            except ValidationFailed as problem:
                fields = {f"attempts.models.{at}": problem.message}
                raise ValidationFailed(problem.message, fields=fields) from None
        if message is not None and not message.content.strip() and not message.attachments:
            raise ValidationFailed("The message is empty.", fields={"content": "write something"})

    def _require_source(self, source: SessionRow) -> None:
        self._projects.require_trusted(source.project_id)
        if source.workspace_id is not None:
            raise Conflict(
                "The session works in a workspace, and its forks would not have its changes: merge the "
                "workspace first, or start attempts without a session.",
                reason="session_in_workspace",
                details={"workspace_id": source.workspace_id},
            )
        if source.state not in AT_REST:
            raise Conflict(
                f"The session is {source.state}: attempts fork a session that is idle or paused.",
                reason="run_in_progress" if source.state != "archived" else "invalid_transition",
                details={"state": source.state},
            )

    def _plan(
        self,
        project_id: str,
        wish: AttemptsWish,
        title: str,
        actor: str,
        source: SessionRow | None = None,
        *,
        workflow: str | None = None,
        issue_number: int | None = None,
    ) -> _Plan:
        self._projects.require_trusted(project_id)
        digest = self._projects.get(project_id).acting().digest
        group = AttemptGroup(
            id=new_id("att"),
            project_id=project_id,
            session_id=None if source is None else source.id,
            workflow=workflow,
            title=title,
            base="",
            asked_check=wish.asked_check,
            budget=wish.budget,
            created_by=actor,
            created_at=now_ms(),
        )
        plan = _Plan(group, [], [])
        for number, name in enumerate(wish.titles(title), start=1):
            session = _session(group, digest) if source is None else new_session(source, actor)
            session.title, model = name, wish.model_of(number)
            session.overrides = {**session.overrides, **({} if model is None else {"model": model})}
            if workflow is not None:
                session.kind, session.issue_number = KIND, issue_number
                session.overrides = {**session.overrides, OVERRIDE: workflow}
            plan.sessions.append(session)
            plan.attempts.append(
                Attempt(session_id=session.id, group_id=group.id, number=number, model=model)
            )
        return plan

    def _ask(self, plan: _Plan, message: FirstMessage, actor: str) -> None:
        """Let each session wait for its workspace and a place with the message."""
        queued = move_session(SessionState.IDLE, SessionEvent.MESSAGE_POSTED_AT_LIMIT).value
        plan.sessions = [session.model_copy(update={"state": queued}) for session in plan.sessions]
        for session in plan.sessions:
            row = operator_message(
                session.id, message.content, message.attachments, None, actor, message.request_id
            )
            plan.messages.append(waiting_message(row, steer=False))

    async def _start(
        self,
        plan: _Plan,
        base: str,
        titles: Sequence[str],
        actor: str,
        as_runs: tuple[CompiledWorkflow, Author] | None = None,
    ) -> Started:
        group = plan.group
        async with self._workspaces.planned(plan.sessions[0], base, titles, actor, group.id) as rows:
            group.base, group.base_commit = rows[0].base, rows[0].base_commit
            for workspace, session in zip(rows, plan.sessions, strict=True):
                workspace.session_id, session.workspace_id = session.id, workspace.id
            answer = Started(
                new_comparison(group, plan.attempts, plan.sessions, rows), plan.messages, plan.runs
            )

            def store(uow: UnitOfWork) -> Started:
                self._store(uow, plan, rows, as_runs)
                return answer

            started = await self._storage.write(effect(store), durable=True)
        if as_runs is not None:
            for run in plan.runs:
                self._workflows.runs.emit_queued(run, as_runs[1])
            await self._workflows.watch.serve()
        else:
            for session in plan.sessions:
                await self._sessions.enqueue(session.id)
        return started

    def _store(
        self,
        uow: UnitOfWork,
        plan: _Plan,
        workspaces: Sequence[Workspace],
        as_runs: tuple[CompiledWorkflow, Author] | None,
    ) -> None:
        if plan.group.session_id is not None and uow.sessions.get(plan.group.session_id) is None:
            raise NotFound(f"There is no session {plan.group.session_id}.")
        uow.attempt_groups.add(plan.group)
        if plan.copies:
            for store in plan.copies:  # each adds its session
                store(uow)
        else:
            uow.sessions.add_many(plan.sessions)
        uow.workspaces.add_many(workspaces)
        uow.messages.add_many(plan.messages)
        uow.attempts.add_many(plan.attempts)
        models = [one.model for one in plan.attempts]
        about: dict[str, Any] = {"from_session": plan.group.session_id, "workflow": plan.group.workflow}
        about |= {"models": models, "check": plan.group.asked_check, "budget": plan.group.budget}
        uow.audit.add_many([audit_of(plan.group, "attempts.started", plan.group.created_by, about)])
        if as_runs is not None:
            workflow, author = as_runs
            for run in plan.runs:
                self._workflows.runs.add(uow, run, workflow, author)


def _session(group: AttemptGroup, digest: str | None) -> SessionRow:
    return SessionRow(
        id=new_id("ses"),
        project_id=group.project_id,
        compiled_digest=digest,
        created_by=group.created_by,
        created_at=group.created_at,
        updated_at=group.created_at,
    )


def _conversation(uow: UnitOfWork, session_id: str) -> tuple[str | None, list[Message], list[PromptEdit]]:
    """Return the last message of a session, with all of its conversation; None when nothing was said."""
    said = [row for row in uow.messages.history(session_id, ROOT_AGENT) if row.complete]
    if not said:
        return None, [], []
    rows, edits = fork_of(uow, session_id, said[-1].id)
    return said[-1].id, rows, edits
