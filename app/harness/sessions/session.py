"""One live session, and the order of its commands.

Owns: what each command does in each state (one lock per session). Never: beginning and ending a run
(`session_runs`), storing a move (`session_record`) or HTTP. What a caller is told is committed
before it is told.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from app.errors import Conflict, KagedError, NotFound
from app.events import EventPayload, RunQueued
from app.harness.checkpoints.file_rollback import StagedFiles
from app.harness.checkpoints.prompt_edits import PromptEditing
from app.harness.checkpoints.rollback import Rollbacks, RollbackWish
from app.harness.delegation.rows import TASK_RESULT
from app.harness.inbox import Inbox, message_size
from app.harness.interactions.answering import Answering, CheckedAnswer
from app.harness.interactions.open_calls import STOPPED, close_open_calls
from app.harness.issues.binding import refuse_binding
from app.harness.loop import INTERACTION
from app.harness.session_rows import (
    Mode,
    PostedMessage,
    at_work,
    both,
    busy,
    hold_all,
    mark_resumed,
    nudge,
    operator_message,
    posted_event,
    queue_full,
    queue_heavy,
    waiting_message,
)
from app.harness.session_runs import SessionRuns
from app.harness.session_services import SessionServices
from app.harness.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.models import Interaction, Message, Rollback, Run
from app.storage.models import Session as SessionRow

log = logging.getLogger("kaged.session")

PAUSE_GRACE_SECONDS = 2.0

QUEUED_BYTES = 16 * 1024 * 1024
"""What may wait in one session; all of it is in memory. A first message may be larger."""


class Session:
    """A session in memory. Build it with `SessionManager`, never directly."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        self.stream = stream
        self._runs = SessionRuns(row, stream, services)
        self._record = self._runs.record
        self._lock = self._runs.lock
        self._services = services

    @property
    def id(self) -> str:
        return self._record.row.id

    @property
    def runs(self) -> SessionRuns:
        """What the session runs, for commands that stand on their own."""
        return self._runs

    @property
    def row(self) -> SessionRow:
        """The row with the present state and title; its sums are those of when it was loaded."""
        return self._record.row

    @property
    def at_rest(self) -> bool:
        """True when nothing would be lost by forgetting this object."""
        return not self._busy and not len(self._runs.inbox) and not self._lock.locked()

    def restore(self, waiting: list[Message]) -> None:
        """Take up the messages that waited when the daemon stopped."""
        self._runs.inbox.restore(waiting)

    def line_up(self) -> None:
        """Wait for capacity; the session starts by itself when it is there."""
        self._runs.wait_for_capacity()

    async def wake(self) -> None:
        """Tell the agent of an idle session what became of a task while the daemon was away."""
        async with self._lock:
            waiting = self._runs.inbox.next()
            if waiting is not None and waiting.details.get("kind") == TASK_RESULT:
                await self._runs.tasks.take_up(waiting)

    # -- commands ---------------------------------------------------------------------------

    async def post(
        self,
        content: str,
        *,
        attachments: Sequence[Mapping[str, Any]],
        model: str | None,
        mode: Mode,
        actor: str,
    ) -> PostedMessage:
        """Store a message and run it, queue it, or hand it to the running turn."""
        if model is not None:
            self._services.router.resolve(model)
        async with self._lock:
            self._still_there()
            state = self._record.state
            self._record.require(SessionEvent.MESSAGE_POSTED)
            row = operator_message(self.id, content, attachments, model, actor)
            if state is not SessionState.IDLE:
                if mode == "reject":
                    raise busy(state)
                steer = mode == "steer" and state is SessionState.RUNNING
                return await self._enqueue(row, SessionEvent.MESSAGE_POSTED, "busy", steer=steer)
            await self._services.check_runnable(self.row, model)
            if self._services.capacity.try_acquire(self._runs.claim()):
                begun = await self._runs.begin(row, SessionEvent.MESSAGE_POSTED)
                return PostedMessage(begun.message or row, begun.row, queued=False)
            if mode == "reject":
                raise busy(state)
            return await self._enqueue(row, SessionEvent.MESSAGE_POSTED_AT_LIMIT, "capacity")

    async def cancel(self, actor: str) -> None:
        """Stop the run and the tasks in the background, keep their partial answers; nothing that waits
        starts by itself after it. A compaction of the session at rest is given up. A run that just ends in
        a pause is not stopped any more: its pause is cancelled."""
        gave_up = self._runs.give_up_compaction()
        async with self._lock:
            self._still_there()
            tasks = self._runs.delegations.background_tasks()
            if not (tasks or gave_up) or self._record.state is not SessionState.IDLE:
                self._record.require(SessionEvent.CANCEL)
            self._services.capacity.withdraw(self.id)
            held = hold_all(self._runs.stop_what_waits())
            active = self._runs.active
            stopped = [*([] if active is None else [active]), *(task.active for task in tasks)]
            for run in stopped:
                run.stop("cancel", by=actor)
            if active is None and self._record.state is not SessionState.IDLE:
                edited, apply_edits = await self._runs.edits_to_apply()
                closed = await close_open_calls(self._runs, self._services.storage, STOPPED)
                await self._record.move(
                    SessionEvent.CANCEL,
                    reason="cancelled",
                    events=[*closed.events, *edited],
                    work=both(closed.store, both(held, apply_edits)),
                    durable=True,
                )
                closed.tell(await self._runs.conversation())
                await self._runs.prompts.reload()
                self._runs.release_place()
            else:
                await self.stream.record([], held)
        for run in stopped:
            await run.ended()
        if active is not None and active.outcome is not None and active.outcome.pause is not None:
            await self._leave_pause(actor)

    async def pause(
        self, actor: str, reason: str | None = None, *, grace: float = PAUSE_GRACE_SECONDS
    ) -> None:
        """Stop at once and keep a checkpoint; running tools get `grace` seconds.

        A run that ends by itself first is not paused: the next one is, or it is a `Conflict`."""
        while True:
            async with self._lock:
                self._still_there()
                active = self._runs.active
                if active is None:
                    raise self._record.illegal("pause")
                active.stop("pause", detail=reason, by=actor, grace=grace)
            await active.ended()
            if self._record.state is SessionState.PAUSED:
                return

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on after a pause as a new run, without the answers to open questions; None when there is
        nothing left to do."""
        async with self._lock:
            self._still_there()
            state, queued = self._record.state, self._runs.inbox.next()
            if state is SessionState.QUEUED and queued is not None:
                self._services.capacity.force(self._runs.claim())
                return (await self._runs.begin(queued, SessionEvent.RESUME_WITH_WORK)).row
            if state is not SessionState.PAUSED:
                raise self._record.illegal("resume")
            return await self._resume_paused(checkpoint_id, actor)

    async def answer(self, interaction_id: str, checked: CheckedAnswer, actor: str) -> Interaction | None:
        """Store the answer to a question that no run waits for, and go on when it was the last one open;
        None when it is not open. When going on fails, the answer is kept for the next resume."""
        while True:
            async with self._lock:
                self._still_there()
                answering = Answering(self._runs, self._services)
                found = await answering.find(interaction_id)
                if found is None:
                    return None
                active = self._runs.active
                storable = answering.can_store(found)
                answered = await answering.store(found, checked, actor) if storable else None
                if active is None:
                    await self._go_on_when_answered(actor)
                if active is None or answering.taken_by_step:
                    return answered
            await active.ended()
            if storable:
                await self.go_on_when_answered(actor)
                return answered

    async def go_on_when_answered(self, actor: str) -> None:
        """Resume a session that paused for questions which are all answered by now."""
        async with self._lock:
            await self._go_on_when_answered(actor)

    async def _go_on_when_answered(self, actor: str) -> None:
        if self._record.state is not SessionState.PAUSED or self.row.state_reason != INTERACTION:
            return
        if await Answering(self._runs, self._services).open_questions():
            return
        try:
            self._services.refuse_when_stopping()
            await self._resume_paused(None, actor)
        except KagedError as problem:
            log.warning("session %s is answered and stays paused: %s", self.id, problem.message)

    async def _resume_paused(self, checkpoint_id: str | None, actor: str) -> Run | None:
        queued = self._runs.inbox.next()
        checkpoint = await self._services.open_checkpoint(self.id, checkpoint_id)
        history = await self._runs.conversation()
        # A model that asked for a look has answered, but is not done: it is let go on.
        asked = checkpoint is not None and checkpoint.reason == "model" and queued is None
        unanswered = bool(history.messages) and (asked or not history.answered)
        if not unanswered and queued is None:
            edited, apply_edits = await self._runs.edits_to_apply()
            await self._record.move(
                SessionEvent.RESUME_WITHOUT_WORK,
                events=edited,
                work=both(mark_resumed(checkpoint), apply_edits),
                durable=True,
            )
            await self._runs.prompts.reload()
            return None
        await self._services.check_runnable(self.row, None)
        self._services.capacity.force(self._runs.claim())
        message = nudge(self.id, history, actor) if unanswered else queued
        begun = await self._runs.begin(message, SessionEvent.RESUME_WITH_WORK, checkpoint)
        return begun.row

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped without having finished its answer."""
        async with self._lock:
            self._still_there()
            if self._record.state is not SessionState.IDLE:
                raise self._record.illegal("continue")
            history = await self._runs.conversation()
            if not history.messages or history.answered:
                raise Conflict(
                    "There is nothing to continue: post a message.",
                    reason="nothing_to_continue",
                    details={"state": self.row.state},
                )
            await self._services.check_runnable(self.row, None)
            self._services.capacity.force(self._runs.claim())
            message = nudge(self.id, history, actor)
            return (await self._runs.begin(message, SessionEvent.RESUME_WITH_WORK)).row

    async def roll_back(self, wish: RollbackWish, actor: str) -> Rollback | StagedFiles:
        """Take out of the conversation what came after a checkpoint or a message; tasks in the background
        are stopped, unless it is refused. With `stage` only tell what that would do to the files."""
        if not wish.stage and self._runs.delegations.background_tasks():
            async with self._lock:
                self._still_there()
                await Rollbacks(self._runs, self._services).check(wish, actor)
            await self._end_tasks("cancel", by=actor)
        async with self._lock:
            self._still_there()
            return await Rollbacks(self._runs, self._services).go_back(wish, actor)

    async def undo_rollback(self, rollback_id: str, actor: str, *, force: bool = False) -> Rollback:
        """Bring back what a rollback took out, as long as nothing was posted after it."""
        async with self._lock:
            self._still_there()
            return await Rollbacks(self._runs, self._services).undo(rollback_id, actor, force=force)

    async def edit_prompt(self, checkpoint_id: str, agent_path: str, content: str, **options: Any) -> None:
        """Keep a new text of an agent's prompt; the options are those of `PromptEditing.edit`."""
        async with self._lock:
            self._still_there()
            editing = PromptEditing(self._runs, self._services)
            await editing.edit(checkpoint_id, agent_path, content, **options)

    async def remove_prompt_edit(self, agent_path: str, actor: str) -> None:
        """Let the file's text of a prompt hold again."""
        async with self._lock:
            self._still_there()
            await PromptEditing(self._runs, self._services).remove(agent_path, actor)

    async def change(self, **values: Any) -> None:
        """Give it another `title` or `issue_number`; an archived session is bound to nothing new."""
        async with self._lock:
            self._still_there()
            refuse_binding(self.row, values)
            await self._record.change(**values)

    async def archive(self) -> None:
        """Close the session for good; its messages stay readable."""
        async with self._lock:
            self._still_there()
            if self._busy and self._record.state is not SessionState.RUNNING:
                raise at_work(self._record.state, "archive")
            self._record.require(SessionEvent.ARCHIVE)
            held = hold_all(self._runs.stop_what_waits())
            closed = await close_open_calls(self._runs, self._services.storage, STOPPED)
            await self._record.move(
                SessionEvent.ARCHIVE,
                events=closed.events,
                work=both(closed.store, held),
                durable=True,
                archived_at=now_ms(),
            )
            closed.tell(await self._runs.conversation())
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)
            self._runs.inbox = Inbox()

    async def delete(self) -> None:
        """Remove the session and everything below it; not while it runs."""
        async with self._lock:
            self._still_there()
            if self._busy:
                raise at_work(self._record.state, "delete")
            await self._services.storage.write(lambda uow: uow.sessions.delete(self.id), durable=True)
            self._runs.closed = True
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)

    async def stop_for_shutdown(self, grace: float) -> None:
        """The daemon stops: end the run, keep a checkpoint that one resume goes on from."""
        self._runs.give_up_compaction()
        async with self._lock:
            active = self._runs.active
            if active is not None:
                active.stop("pause", by="daemon", grace=grace, reason="daemon_restart")
        await self._end_tasks("pause", by="daemon", grace=grace)
        if active is not None:
            await active.ended()

    # -- inside -----------------------------------------------------------------------------

    async def _leave_pause(self, actor: str) -> None:
        if self._record.state is SessionState.PAUSED:
            await self.cancel(actor)

    async def _enqueue(
        self, row: Message, event: SessionEvent, reason: Literal["busy", "capacity"], *, steer: bool = False
    ) -> PostedMessage:
        inbox, limit = self._runs.inbox, self._services.queue_limit
        if len(inbox) >= limit:
            raise queue_full(limit)
        if len(inbox) and inbox.size + message_size(row) > QUEUED_BYTES:
            raise queue_heavy(QUEUED_BYTES)
        waiting = waiting_message(row, steer=steer)
        told: list[EventPayload] = [posted_event(waiting, queued=True)]
        if not steer:
            told.append(RunQueued(message_id=row.id, position=len(self._runs.inbox) + 1, reason=reason))
        await self._record.move(event, events=told, work=lambda uow: uow.messages.add(waiting), durable=True)
        self._runs.inbox.add(waiting)
        if reason == "capacity":
            self.line_up()
        return PostedMessage(waiting, None, queued=True)

    @property
    def _busy(self) -> bool:
        """True while a run is active, or a task in the background."""
        return self._runs.active is not None or bool(self._runs.delegations.live)

    async def _end_tasks(self, how: Literal["pause", "cancel"], *, by: str, grace: float = 0.0) -> None:
        tasks = [task.active for task in self._runs.delegations.background_tasks()]
        for task in tasks:
            task.stop(how, by=by, grace=grace, reason="daemon_restart")
        for task in tasks:
            await task.ended()

    def _still_there(self) -> None:
        if self._runs.closed:
            raise NotFound(f"There is no session {self.id}.")
