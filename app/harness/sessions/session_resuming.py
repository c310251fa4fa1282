"""What a session at rest resumes: after a pause, after answers, or where an answer broke off.

Owns: which message the next run begins with, and whether there is anything to do. Never: beginning the run
(`session_runs`). Callers hold the session's lock.
"""

from __future__ import annotations

import logging
from typing import Protocol

from app.errors import Conflict, KagedError
from app.harness.conversation.session_rows import both, mark_resumed, nudge
from app.harness.loop.active_run import ActiveRun
from app.harness.loop.loop import INTERACTION
from app.harness.sessions.open_calls import RESUMED, open_calls
from app.harness.sessions.session_parts import SessionParts
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.session_waits import SessionWaits
from app.states import SessionEvent, SessionState
from app.storage.models import Checkpoint, Message, Run

log = logging.getLogger("kaged.session")


class ResumedRuns(Protocol):
    """The runs of the session: the active one, whether it waits, and the beginning of the next."""

    active: ActiveRun | None
    waits: SessionWaits

    async def begin_at_once(self, message: Message | None, checkpoint: Checkpoint | None = None) -> Run: ...


class Resuming:
    """The ways of one session to go on."""

    def __init__(self, runs: ResumedRuns, parts: SessionParts, services: SessionServices) -> None:
        self._runs = runs
        self._parts = parts
        self._services = services

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on without the answers to open questions; None when there is nothing left to do.

        A run that waits goes on itself; otherwise a new one begins. Raises `Conflict`."""
        runs, parts, state = self._runs, self._parts, self._parts.record.state
        if runs.active is not None and runs.waits.keeps_run:
            await runs.waits.take_back()
            if state is SessionState.PAUSED:
                self._services.runs.questions.give_up(parts.id, RESUMED)
            return runs.active.row
        queued = parts.inbox.next()
        if state is SessionState.QUEUED and queued is not None:
            return await runs.begin_at_once(queued)
        if state is not SessionState.PAUSED:
            raise parts.record.illegal("resume")
        return await self._leave_pause(checkpoint_id, actor)

    async def go_on_when_answered(self, actor: str) -> None:
        """Resume a session that paused for questions which are all answered by now."""
        row, storage = self._parts.record.row, self._services.runs.storage
        if self._runs.active is not None or (row.state, row.state_reason) != ("paused", INTERACTION):
            return
        if any(one.question is not None for one in await storage.read(lambda uow: open_calls(uow, row.id))):
            return
        try:
            self._services.tasks.refuse_when_stopping()
            await self._leave_pause(None, actor)
        except KagedError as problem:
            log.warning("session %s is answered and stays paused: %s", row.id, problem.message)

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped without having finished its answer. Raises `Conflict`."""
        record = self._parts.record
        if record.state is not SessionState.IDLE:
            raise record.illegal("continue")
        history = await self._parts.conversation.load()
        if not history.messages or history.answered:
            raise Conflict(
                "There is nothing to continue: post a message.",
                reason="nothing_to_continue",
                details={"state": record.row.state},
            )
        await self._services.check_runnable(record.row, None)
        return await self._runs.begin_at_once(nudge(self._parts.id, history, actor))

    # -- inside -----------------------------------------------------------------------------

    async def _leave_pause(self, checkpoint_id: str | None, actor: str) -> Run | None:
        parts = self._parts
        queued = parts.inbox.next()
        checkpoint = await self._services.open_checkpoint(parts.id, checkpoint_id)
        history = await parts.conversation.load()
        # A model that asked for a look has answered, but is not done: it is let go on.
        asked = checkpoint is not None and checkpoint.reason == "model" and queued is None
        unanswered = bool(history.messages) and (asked or not history.answered)
        if not unanswered and queued is None:
            edited, apply_edits = await parts.edits_to_apply(self._services.runs.storage)
            await parts.record.move(
                SessionEvent.RESUME_WITHOUT_WORK,
                events=edited,
                statements=both(mark_resumed(checkpoint), apply_edits),
                durable=True,
            )
            await parts.prompts.reload()
            return None
        await self._services.check_runnable(parts.record.row, None)
        message = nudge(parts.id, history, actor) if unanswered else queued
        return await self._runs.begin_at_once(message, checkpoint)
