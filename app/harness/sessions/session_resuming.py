"""What a session at rest goes on with: after a pause, after answers, or where an answer broke off.

Owns: which message the next run begins with, and whether there is anything to do. Never: beginning the run
(`session_runs`). Callers hold the session's lock.
"""

from __future__ import annotations

import logging

from app.errors import Conflict, KagedError
from app.harness.conversation.session_rows import both, mark_resumed, nudge
from app.harness.loop.loop import INTERACTION
from app.harness.sessions.answering import Answering
from app.harness.sessions.open_calls import RESUMED
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.states import SessionEvent, SessionState
from app.storage.models import Run

log = logging.getLogger("kaged.session")


class Resuming:
    """The ways of one session to go on."""

    def __init__(self, runs: SessionRuns, services: SessionServices) -> None:
        self._runs = runs
        self._services = services

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on without the answers to open questions; None when there is nothing left to do.

        A run that waits goes on itself; otherwise a new one begins. Raises `Conflict`."""
        runs, state, queued = self._runs, self._runs.record.state, self._runs.inbox.next()
        if runs.active is not None and runs.waits.keeps_run:
            await runs.waits.take_back()
            if state is SessionState.PAUSED:
                self._services.runs.consents.give_up(runs.id, RESUMED)
                self._services.runs.questions.give_up(runs.id, RESUMED)
            return runs.active.row
        if state is SessionState.QUEUED and queued is not None:
            self._services.capacity.force(runs.claim())
            return (await runs.begin(queued, SessionEvent.RESUME_WITH_WORK)).row
        if state is not SessionState.PAUSED:
            raise runs.record.illegal("resume")
        return await self._leave_pause(checkpoint_id, actor)

    async def go_on_when_answered(self, actor: str) -> None:
        """Resume a session that paused for questions which are all answered by now."""
        runs = self._runs
        paused = runs.record.state is SessionState.PAUSED and runs.row.state_reason == INTERACTION
        if runs.active is not None or not paused:
            return
        if await Answering(runs, self._services).open_questions():
            return
        try:
            self._services.tasks.refuse_when_stopping()
            await self._leave_pause(None, actor)
        except KagedError as problem:
            log.warning("session %s is answered and stays paused: %s", runs.id, problem.message)

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped without having finished its answer. Raises `Conflict`."""
        runs = self._runs
        if runs.record.state is not SessionState.IDLE:
            raise runs.record.illegal("continue")
        history = await runs.conversation()
        if not history.messages or history.answered:
            raise Conflict(
                "There is nothing to continue: post a message.",
                reason="nothing_to_continue",
                details={"state": runs.row.state},
            )
        await self._services.check_runnable(runs.row, None)
        self._services.capacity.force(runs.claim())
        message = nudge(runs.id, history, actor)
        return (await runs.begin(message, SessionEvent.RESUME_WITH_WORK)).row

    # -- inside -----------------------------------------------------------------------------

    async def _leave_pause(self, checkpoint_id: str | None, actor: str) -> Run | None:
        runs = self._runs
        queued = runs.inbox.next()
        checkpoint = await self._services.open_checkpoint(runs.id, checkpoint_id)
        history = await runs.conversation()
        # A model that asked for a look has answered, but is not done: it is let go on.
        asked = checkpoint is not None and checkpoint.reason == "model" and queued is None
        unanswered = bool(history.messages) and (asked or not history.answered)
        if not unanswered and queued is None:
            edited, apply_edits = await runs.edits_to_apply()
            await runs.record.move(
                SessionEvent.RESUME_WITHOUT_WORK,
                events=edited,
                statements=both(mark_resumed(checkpoint), apply_edits),
                durable=True,
            )
            await runs.prompts.reload()
            return None
        await self._services.check_runnable(runs.row, None)
        self._services.capacity.force(runs.claim())
        message = nudge(runs.id, history, actor) if unanswered else queued
        begun = await runs.begin(message, SessionEvent.RESUME_WITH_WORK, checkpoint)
        return begun.row
