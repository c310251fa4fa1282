"""The delegations of one session: a tool call of an agent becomes a run of its child.

Owns: starting a child, waiting for it, what becomes of it when the parent is stopped, and the answer.
Never: what a child is shown (`forwarding`), the loop, or a session's moves (`session_runs`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from app.errors import KagedError, ToolError
from app.events.payload import EventPayload
from app.harness.conversation.session_rows import posted_event, put_all
from app.harness.delegation.answers import answer_of
from app.harness.delegation.folders import ChildFolder, ChildFolders
from app.harness.delegation.forwarding import forward, prompt_of
from app.harness.delegation.hooks import Delegation, DelegationHooks
from app.harness.delegation.outside_cage import Outside, SeenLines
from app.harness.delegation.rows import delegation_row, forwarded_row
from app.harness.issues.proposals import Proposer, TodoProposals
from app.harness.loop.active_run import PARENT, ActiveRun
from app.harness.loop.loop import LoopOutcome
from app.harness.loop.run_factory import build_child
from app.harness.loop.run_services import CallServices, RunServices
from app.harness.run.run_context import RunContext
from app.ids import new_id
from app.observability import Span
from app.storage.models import Message
from app.storage.unit_of_work import UnitOfWork
from app.tools.agents.definition import agent_tool_name
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.contract.ports import ChildAnswer, ChildFiles, ChildTask
from app.workspace import locate

log = logging.getLogger("kaged.delegation")

STORED_WITHIN_MS = 30_000
"""A result may be stored so long after others that are newer."""

MAX_LIVE = 64
"""Runs of children at once in one session."""

Statements = Callable[[UnitOfWork], None]


class Background(Protocol):
    """The session's side of a task whose caller does not wait for it."""

    async def task_ended(
        self, delegation: Delegation, active: ActiveRun, events: Sequence[EventPayload], store: Statements
    ) -> None:
        """Store the end of the task and a message to the agent that started it, in one unit."""

    async def forward(self, rows: list[Message], *, held: bool) -> None:
        """Give the root agent what another agent ended without having read; with
        `held` not before the operator's next message."""


class ChildRun:
    """A child's run as the one who started it sees it; also the owner that the run reports to."""

    def __init__(self, delegation: Delegation, tasks: Background, folder: ChildFolder | None = None) -> None:
        self.delegation = delegation
        self.folder = folder
        self.active: ActiveRun
        self._tasks = tasks
        self._late: list[Message] = []
        self._over = False

    @property
    def files(self) -> ChildFiles | None:
        """What is in the child's own workspace, once its run is over; None without one."""
        return None if self.folder is None else self.folder.files

    @property
    def cancelled(self) -> bool:
        return self.active.context.controls.stopping == "cancel"

    def tell(self, row: Message) -> bool:
        """Keep the result of a background task for the child's running turn. False when its run is over: the
        result then goes to another agent."""
        if not self._over:
            self._late.append(row)
        return not self._over

    def drain_late(self) -> list[Message]:
        """Give what became of background tasks to the child's running turn."""
        taken, self._late = self._late, []
        run = self.active.context
        placed = [
            row.model_copy(update={"position": run.history.take_position(), "run_id": run.scope.run_id})
            for row in taken
        ]
        if placed:
            run.journal.record(
                *(posted_event(row, queued=False) for row in placed), statements=put_all(placed), kept=True
            )
        return placed

    async def run_ended(self, outcome: LoopOutcome, closing: EventPayload, store: Statements) -> None:
        """Store the end of the run; a storage that fails must not keep anybody waiting."""
        run = self.active.context
        try:
            if self.folder is not None:
                await self.folder.note(run)
            if self.delegation.background:
                await self._tasks.task_ended(self.delegation, self.active, [closing], store)
            else:
                await asyncio.shield(
                    run.journal.stream.record([closing], store, origin=run.scope.origin, kept=True)
                )
            late, self._late, self._over = self._late, [], True
            if late:
                await self._tasks.forward(late, held=self.cancelled)
        except KagedError as problem:
            self._over = True
            log.error("the end of run %s could not be stored: %s", run.scope.run_id, problem.message)
        finally:
            if self.folder is not None:
                await self.folder.close()


class Delegations:
    """One object for each session. `hooks` are the daemon's."""

    def __init__(
        self,
        services: RunServices,
        session_id: str,
        tasks: Background,
        hooks: DelegationHooks,
        proposals: TodoProposals | None,
        folders: ChildFolders,
    ) -> None:
        self.live: dict[str, ChildRun] = {}
        """The runs of children under way, by run id."""
        self._services = services
        self._session_id = session_id
        self._tasks = tasks
        self._hooks = hooks
        self._proposals = proposals
        self._folders = folders
        self._seen = SeenLines()
        self._seen_lock = asyncio.Lock()
        self._agents: Counter[str] = Counter()
        self._starting = 0

    async def delegate(
        self, parent: RunContext, calls: CallServices, call_id: str, task: ChildTask, span: Span
    ) -> ChildAnswer:
        """Run a child of `parent` on a task and return its answer, at once when it is a background task.

        Raises ToolError when the child is refused, cannot be started, or does not get to its end."""
        agent = parent.scope.agent.children.get(task.child)
        if agent is None:
            known = ", ".join(map(agent_tool_name, parent.scope.agent.children)) or "none"
            raise ToolError("agent_not_found", f"There is no subagent {task.child!r}. Subagents: {known}.")
        if len(self.live) + self._starting >= MAX_LIVE:
            message = f"{MAX_LIVE} subagents are at work in this session already; wait for some of them."
            raise ToolError("too_many_agents", message)
        prompt, place = prompt_of(agent, task.input), task.workspace or agent.workspace
        asked = Delegation(parent, agent, call_id, task.input, prompt, task.background, place)
        delegation, refusal = await self._hooks.on_start(asked)
        if refusal is not None:
            raise self._refused(delegation, refusal)
        self._starting += 1
        try:
            child = await self._start(delegation, calls, span)
        finally:
            self._starting -= 1
        if task.background:
            return ChildAnswer(agent_path=agent.path, run_id=child.active.run_id, state="running", message="")
        outcome = await self._end_of(child)
        feedback, stop = await self._completed(delegation, child.active, outcome)
        if stop:
            parent.controls.ending = "delegation_stopped"
        answer = answer_of(child.active.context, outcome, feedback, child.files)
        await self.propose(delegation, child.active, answer)
        return answer

    def background_tasks(self) -> list[ChildRun]:
        """Return the tasks under way that nobody waits for."""
        return [child for child in self.live.values() if child.delegation.background]

    async def propose(self, delegation: Delegation, active: ActiveRun, answer: ChildAnswer) -> None:
        """Keep the checklist that a child's answer proposes, if any. Does not raise."""
        proposals, agent = self._proposals, delegation.child
        if proposals is not None and answer.todos:
            at_once = agent.todo_review == "auto"
            call_id, run_id = delegation.call_id, active.run_id
            proposer = Proposer(self._session_id, agent.path, run_id, call_id, at_once=at_once)
            await proposals.take(proposer, answer.todos)

    # -- inside -----------------------------------------------------------------------------

    def _refused(self, delegation: Delegation, reason: str) -> ToolError:
        key = delegation.child.key
        data = {"child": delegation.path, "call_id": delegation.call_id, "reason": reason}
        delegation.parent.journal.audit("delegation.refused", data)
        return ToolError(
            "delegation_refused",
            f"The subagent {key} could not be started: {reason}",
            detail={"agent_path": delegation.path, "reason": reason},
        )

    async def _start(self, delegation: Delegation, calls: CallServices, span: Span) -> ChildRun:
        """Store the child's run with what it is shown, and start it."""
        parent, run_id = delegation.parent, new_id("run")
        try:
            folder = await self._folder(delegation, calls, run_id)
        except KagedError as problem:
            raise self._refused(delegation, problem.message) from None
        child = ChildRun(delegation, self._tasks, folder)
        try:
            active, rows = await self._built(child, calls, span, run_id)
        except BaseException as problem:
            if folder is not None:
                await asyncio.shield(folder.close())
            if isinstance(problem, KagedError):
                raise self._refused(delegation, problem.message) from None
            raise
        active.message = rows[-1]
        active.row.trigger_message_id = rows[-1].id
        row = active.row

        def store(uow: UnitOfWork) -> None:
            uow.runs.add(row)
            put_all(rows)(uow)

        run = active.context
        events = [posted_event(one, queued=False) for one in rows]
        run.journal.record(
            active.started_event(), *events, statements=store, durable=delegation.background, kept=True
        )
        for one in rows:
            run.history.add_user(one)
        parent.journal.audit("delegation.started", self._started_facts(delegation, active))
        self.live[run.scope.run_id] = child
        self._agents[run.scope.agent_path] += 1
        if not delegation.background:
            parent.controls.children[run.scope.run_id] = active
        active.start(self._services.spawn)
        if parent.controls.stopping:
            active.stop(parent.controls.stopping, by=PARENT)
        return child

    async def _folder(self, delegation: Delegation, calls: CallServices, run_id: str) -> ChildFolder | None:
        """Return the workspace of a child that is to have one of its own."""
        if delegation.workspace == "shared":
            return None
        root = await self._folders.open(delegation.parent.scope, delegation.child, run_id)
        return ChildFolder(root, self._folders, calls, self._services.tools)

    async def _built(
        self, child: ChildRun, calls: CallServices, span: Span, run_id: str
    ) -> tuple[ActiveRun, list[Message]]:
        """Return a child's run that is ready to start, with the messages that it begins with."""
        delegation, folder = child.delegation, child.folder
        child.active = active = await build_child(
            self._services,
            delegation.parent,
            delegation.child,
            child,
            calls,
            run_id=run_id,
            call_id=delegation.call_id,
            span=span,
            background=delegation.background,
            take_steers=child.drain_late,
            on_end=self._on_run_end,
            root=None if folder is None else folder.root,
            prepare=None if folder is None else folder.prepare,
        )
        return active, await self._rows(delegation, active)

    async def _rows(self, delegation: Delegation, active: ActiveRun) -> list[Message]:
        """Return the messages that the child's conversation begins with."""
        run, candidate = active.context, active.context.plan.route.candidates[0]
        window = self._services.router.catalog.context_window(candidate.provider, candidate.model)
        outside = await self._outside(run, delegation.parent.scope.project_root)
        shown = await forward(delegation, self._hooks, outside, window)
        rows = []
        if shown.text:
            rows.append(forwarded_row(delegation, run, shown.text, shown.left_out))
        rows.append(delegation_row(delegation, run, shown.prompt))
        if shown.left_out:
            data = {"child": delegation.path, "call_id": delegation.call_id, "lines": shown.left_out}
            delegation.parent.journal.audit("delegation.filtered", data)
        return rows

    async def _outside(self, run: RunContext, root: Path) -> Outside:
        """Return what keeps from a child what its cage does not show it; `root` is where its parent works."""
        cage = run.scope.cage
        if cage is None:
            return Outside(self._seen, None)
        async with self._seen_lock:
            since = self._seen.newest_at - STORED_WITHIN_MS
            rows = await self._services.storage.read(
                lambda uow: uow.messages.tool_results_since(self._session_id, max(0, since))
            )
            await asyncio.to_thread(self._seen.add_results, rows)
        policy = CagePolicy(cage, root)

        def readable(path: str) -> bool:
            try:
                policy.check(locate(root, path).parts, "ro")
            except ToolError:
                return False
            return True

        return Outside(self._seen, readable)

    async def _end_of(self, child: ChildRun) -> LoopOutcome:
        """Wait for the end of a child's run. When the parent is stopped the child is, before it."""
        active, parent = child.active, child.delegation.parent
        try:
            await active.ended()
        except asyncio.CancelledError:
            active.stop("cancel" if parent.controls.stopping == "cancel" else "pause", by=PARENT)
            await _ended_whatever_comes(active)
            self._audit_end(child.delegation, active)
            raise
        finally:
            parent.controls.children.pop(active.run_id, None)
            self.live.pop(active.run_id, None)
        outcome = active.outcome
        if outcome is None:  # a defect: the run ended without having come to an end
            return LoopOutcome("failed", "internal", error={"code": "internal", "message": "It broke off."})
        return outcome

    async def _completed(
        self, delegation: Delegation, active: ActiveRun, outcome: LoopOutcome
    ) -> tuple[list[str], bool]:
        self._audit_end(delegation, active)
        return await self._hooks.on_complete(delegation, outcome)

    def _audit_end(self, delegation: Delegation, active: ActiveRun) -> None:
        delegation.parent.journal.audit("delegation.completed", ended_facts(delegation, active))

    def _started_facts(self, delegation: Delegation, active: ActiveRun) -> dict[str, Any]:
        root = active.context.scope.root
        return {
            "child": delegation.path,
            "child_run_id": active.run_id,
            "call_id": delegation.call_id,
            "background": delegation.background,
            "prompt": delegation.prompt[:200],
            **({} if delegation.workspace == "shared" else {"workspace": root.workspace_id}),
        }

    async def _on_run_end(self, session_id: str, agent_path: str, run_id: str) -> None:
        """End what tools keep for a run, and for its agent once the last of its runs is over."""
        self._agents[agent_path] -= 1
        last = self._agents[agent_path] <= 0
        if last:
            del self._agents[agent_path]
        await self._services.on_run_end(session_id, agent_path, run_id, last=last)


def ended_facts(delegation: Delegation, active: ActiveRun) -> dict[str, Any]:
    """Return the audit row of the end of a delegation."""
    run, outcome = active.context, active.outcome
    return {
        "child": delegation.path,
        "child_run_id": active.run_id,
        "call_id": delegation.call_id,
        "state": outcome.state if outcome is not None else "failed",
        "reason": outcome.reason if outcome is not None else "internal",
        "steps": run.meter.step,
        "tokens": run.meter.usage.total,
        "cost_usd": run.meter.cost_usd,
    }


async def _ended_whatever_comes(active: ActiveRun) -> None:
    """Wait for the end of a run that is stopped, however often the waiting is cancelled."""
    waiting = asyncio.ensure_future(active.ended())
    while not waiting.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([waiting])
