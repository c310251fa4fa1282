"""Follows the sessions of workflow runs: their clocks, their ends, and their way over a restart.

Owns: the one task that looks at a session after it has moved, and the lock under which runs
begin and end. Never: what a session does, or what a run's end means (`endings`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from app.errors import KagedError
from app.harness.projects.projects import ProjectRegistry
from app.harness.sessions.recovery import REASON as DAEMON_RESTART
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.harness.uploads.service import UploadService
from app.harness.workflows.endings import Ending, ending_of, failed, timed_out
from app.harness.workflows.queue import NewWorkspaces, WorkflowQueue
from app.harness.workflows.runs import RUNNING, WorkflowRuns
from app.harness.workflows.work_clock import WorkClock
from app.states import SessionState
from app.storage.models import Session as SessionRow
from app.storage.models import WorkflowRun
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.workflows")

KEEP_EVERY_SECONDS = 5.0
"""How often the time that a run has worked is stored while it works."""
DAEMON = "daemon"
_MOVES = frozenset(
    {
        "session.state",
        "run.ended",
        "interaction.requested",
        "interaction.answered",
        "permission.requested",
        "permission.answered",
    }
)
"""What happened to a session: it began or ended to work, or to wait for a person."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run and its session as they are stored. `worked`: the session has run; `background`: a task goes on
    that no agent waits for; `waits`: a human is asked."""

    run: WorkflowRun | None
    session: SessionRow | None
    worked: bool
    background: bool
    waits: bool
    ending: Ending | None

    @property
    def working(self) -> bool:
        running = self.session is not None and self.session.state == SessionState.RUNNING.value
        return (running or self.background) and not self.waits


class WorkflowWatch:
    """Every running run by its session."""

    def __init__(
        self,
        hub: EventHub,
        runs: WorkflowRuns,
        projects: ProjectRegistry,
        sessions: SessionManager,
        uploads: UploadService,
        workspaces: NewWorkspaces,
    ) -> None:
        self._runs = runs
        self._sessions = sessions
        self._queue = WorkflowQueue(runs, projects, uploads, workspaces, self._begin)
        self._clock = WorkClock(self._overdue)
        self._lock = asyncio.Lock()
        self._by_session: dict[str, str] = {}
        self._decided: dict[str, Ending] = {}
        self._moved: dict[str, None] = {}
        self._late: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None
        self._kept_at = 0.0
        self._closed = False
        hub.listen(self._on_frame, self._note)

    async def start(self) -> None:
        """Take up the runs that are stored: those that wait, and those that were at work."""
        await self._take_up(None)
        self.follow()
        await self.serve()

    def follow(self) -> None:
        """Begin to follow runs; none is taken up."""
        self._following = asyncio.create_task(self._follow(), name="workflow runs")

    async def take_up(self, project_id: str) -> None:
        """Take up the runs of a project that another daemon owned."""
        await self._take_up(project_id)
        await self.serve()

    async def _take_up(self, project_id: str | None) -> None:
        rows = await self._runs.storage.read(
            lambda uow: [
                (run, uow.sessions.get(run.session_id or ""))
                for run in uow.workflow_runs.in_states([RUNNING])
            ]
        )
        for run, session in rows:
            if project_id not in (None, run.project_id):
                continue
            self._by_session[run.session_id or ""] = run.id
            if session is not None and session.state_reason == DAEMON_RESTART:
                await self._go_on(run, session)
            elif session is not None and await self._was_told_nothing(session):
                await self._queue.say_again(run)
            self._moved[run.session_id or ""] = None
        self._wake.set()

    async def aclose(self) -> None:
        """Follow nothing any more; what has worked until now is stored."""
        self._closed = True
        tasks = [*self._tasks, *([self._following] if self._following is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        elapsed = self._clock.all()
        self._clock.close()
        try:
            await self._runs.keep_elapsed(elapsed)
        except KagedError as problem:
            log.error("the times of workflow runs could not be stored: %s", problem.message)

    def with_elapsed(self, run: WorkflowRun) -> WorkflowRun:
        """Return a run with the time that it has worked until now."""
        elapsed = self._clock.elapsed(run.id)
        return run if elapsed is None else run.model_copy(update={"elapsed_ms": elapsed})

    async def shielded(self, command: Coroutine[Any, Any, None]) -> None:
        """Carry a command out to its end, also when who gave it goes away."""
        await asyncio.shield(self._spawn(command))

    async def serve(self) -> None:
        """Begin every run whose turn it is; nothing once the daemon stops."""
        if self._closed:
            return
        await self.shielded(self._serve())

    async def end_queued(self, run: WorkflowRun, ending: Ending) -> bool:
        """End a run that waits; False when it does not wait any more."""
        async with self._lock:
            ended = await self._runs.end(run, ending)
        await self.serve()
        return ended

    async def stop(self, run: WorkflowRun, ending: Ending, *, by: str) -> None:
        """Stop the session of a run and end the run so; one that was done first succeeds."""
        self._decided[run.id] = ending
        await self.shielded(self._stop(run, by))

    # -- inside -----------------------------------------------------------------------------

    def _on_frame(self, frame: Frame) -> None:
        if frame.type in _MOVES:
            self._note(frame.session_id)

    def _note(self, session_id: str) -> None:
        """Look at the session of a run soon: it may have moved, or is gone."""
        if session_id in self._by_session:
            self._moved[session_id] = None
            self._wake.set()

    async def _serve(self) -> None:
        async with self._lock:
            await self._queue.serve()

    async def _begin(self, run_id: str, session_id: str, content: str | None) -> None:
        self._by_session[session_id] = run_id
        if content is None:
            await self._sessions.enqueue(session_id)
            return
        run = await self._runs.storage.read(lambda uow: uow.workflow_runs.get(run_id))
        if run is None:
            return
        try:
            actor = str(run.invoked_by.get("id", run.cause))
            await self._sessions.post_message(session_id, content, actor=actor)
        except KagedError as problem:
            log.warning("workflow run %s cannot begin: %s", run_id, problem.message)
            await self._runs.end(run, failed("cannot_run", problem.message))

    async def _was_told_nothing(self, session: SessionRow) -> bool:
        """Tell whether the daemon ended before a session that waited for its run got the message."""
        if session.state != SessionState.IDLE.value or session.state_reason is not None:
            return False
        return await self._runs.storage.read(
            lambda uow: not (uow.messages.last_position(session.id) or uow.messages.queued(session.id))
        )

    async def _stop(self, run: WorkflowRun, by: str) -> None:
        session_id = run.session_id or ""
        try:
            await self._sessions.cancel(session_id, by)
        except KagedError as problem:  # it is idle, or gone: how it ended is read below
            log.info("session %s of workflow run %s: %s", session_id, run.id, problem.message)
        await self._look_at(session_id)
        if session_id not in self._by_session:  # it had ended before
            self._decided.pop(run.id, None)

    async def _stop_late(self, run: WorkflowRun) -> None:
        """Stop a run that nobody waits for; what cannot be stored now is tried again."""
        try:
            await self._stop(run, DAEMON)
        except KagedError as problem:
            log.error("the end of workflow run %s could not be stored: %s", run.id, problem.message)
            self._note(run.session_id or "")

    async def _go_on(self, run: WorkflowRun, session: SessionRow) -> None:
        """Let a run go on that the end of the daemon has cut off."""
        if session.state != SessionState.PAUSED.value or run.elapsed_ms >= run.timeout_seconds * 1000:
            return
        try:
            await self._sessions.resume(session.id, actor=DAEMON)
        except KagedError as problem:
            log.error("workflow run %s cannot go on: %s", run.id, problem.message)
            self._decided[run.id] = failed("cannot_go_on", problem.message)
            self._late[run.id] = None

    def _overdue(self, run_id: str) -> None:
        self._late[run_id] = None
        self._wake.set()

    async def _follow(self) -> None:
        while True:
            try:
                async with asyncio.timeout(KEEP_EVERY_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                await self._work_off()
            except KagedError as problem:
                log.error("a workflow run could not be stored: %s", problem.message)
                await asyncio.sleep(KEEP_EVERY_SECONDS)
                self._wake.set()
            except Exception:  # one run must not keep the others from being followed
                log.exception("a workflow run could not be followed")

    async def _work_off(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._kept_at + KEEP_EVERY_SECONDS:
            self._kept_at = now
            await self._runs.keep_elapsed(self._clock.all())
        while self._late:
            run_id = next(iter(self._late))
            await self._time_out(run_id)
            self._late.pop(run_id, None)
        while self._moved:
            session_id = next(iter(self._moved))
            del self._moved[session_id]
            try:
                await self._look_at(session_id)
            except KagedError:
                self._moved[session_id] = None
                raise

    async def _time_out(self, run_id: str) -> None:
        """Stop a run that has used its time. It is stored first, so that a restart does not forget it."""
        run = await self._runs.storage.read(lambda uow: uow.workflow_runs.get(run_id))
        if run is None or run.state != RUNNING:
            return
        self._decided.setdefault(run_id, timed_out(run))
        self._spawn(self._stop_late(run))

    async def _look_at(self, session_id: str) -> None:
        """Do what the state of a session asks for."""
        run_id = self._by_session.get(session_id)
        if run_id is None:
            return
        async with self._lock:
            decided = self._decided.get(run_id)
            seen = await self._runs.storage.read(lambda uow: _seen(uow, run_id, decided))
            run = seen.run
            if run is None or run.state != RUNNING:
                self._forget(session_id, run_id)
                return
            if run.started_at is None and seen.worked:
                run = await self._runs.begun(run)
            run = await self._count(run, working=seen.working)
            if seen.ending is not None:
                await self._runs.end(run, seen.ending)
                self._forget(session_id, run_id)
            elif not seen.working and run.elapsed_ms >= run.timeout_seconds * 1000:
                self._overdue(run_id)
        if seen.ending is not None:
            await self.serve()

    async def _count(self, run: WorkflowRun, *, working: bool) -> WorkflowRun:
        """Let the clock go, or stand still; return the run with the time that is stored."""
        if working:
            self._clock.start(run)
            return run
        elapsed = self._clock.stop(run.id)
        if elapsed is None:
            return run
        await self._runs.keep_elapsed({run.id: elapsed})
        return run.model_copy(update={"elapsed_ms": elapsed})

    def _forget(self, session_id: str, run_id: str) -> None:
        self._by_session.pop(session_id, None)
        self._decided.pop(run_id, None)
        self._clock.stop(run_id)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(coroutine, name="workflow run")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _seen(uow: UnitOfWork, run_id: str, decided: Ending | None) -> _Seen:
    run = uow.workflow_runs.get(run_id)
    if run is None or run.state != RUNNING:
        return _Seen(run, None, worked=False, background=False, waits=False, ending=None)
    session_id = run.session_id or ""
    return _Seen(
        run,
        uow.sessions.get(session_id),
        worked=bool(uow.runs.list(session_id, roots_only=True, limit=1).items),
        background=bool(uow.runs.in_background(session_id)),
        waits=bool(uow.interactions.pending(session_id)),
        ending=ending_of(uow, run, decided),
    )
