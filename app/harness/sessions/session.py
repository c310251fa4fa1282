"""One live session, and the order of its commands.

Owns: what each command does in each state, under one lock; what it answers is committed. Never: beginning and
ending a run (`session_runs`), storing a move (`session_record`), or HTTP.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from app.errors import Conflict
from app.events.payload import EventPayload
from app.events.union import QueuedFor, RunQueued
from app.harness.conversation.inbox import message_size
from app.harness.conversation.session_rows import (
    Mode,
    PostedMessage,
    at_work,
    both,
    busy,
    hold_all,
    operator_message,
    posted_event,
    queue_full,
    queue_heavy,
    waiting_message,
)
from app.harness.delegation.rows import TASK_RESULT
from app.harness.issues.binding import refuse_binding
from app.harness.loop.active_run import ActiveRun
from app.harness.sessions.answering import Answering, CheckedAnswer
from app.harness.sessions.capacity import Claim
from app.harness.sessions.file_rollback import StagedFiles
from app.harness.sessions.mode_changes import audited, scope_of, settle_open_requests
from app.harness.sessions.open_calls import STOPPED, Closing, close_open_calls
from app.harness.sessions.prompt_edits import PromptChange, PromptEditing
from app.harness.sessions.rollback import Rollbacks, RollbackWish
from app.harness.sessions.session_resuming import Resuming
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.keyed_effect import effect
from app.storage.models import Interaction, Message, Rollback, Run
from app.storage.models import Session as SessionRow

log = logging.getLogger("kaged.session")

PAUSE_GRACE_SECONDS = 2.0
OPERATOR = "operator"

QUEUED_BYTES = 16 * 1024 * 1024
"""What may wait in one session; all of it is in memory. A first message may be larger."""


class Session:
    """A session in memory. Build it with `SessionManager`, never directly."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        self.stream = stream
        self._runs = SessionRuns(row, stream, services)
        self._parts = self._runs.parts
        self._record, self._inbox = self._parts.record, self._parts.inbox
        self._services = services
        self._resuming = Resuming(self._runs, self._parts, services)
        self._waits = self._runs.waits

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
    def ahead(self) -> bool:
        """True while the row in memory knows what storing has failed for."""
        return self._record.ahead

    def forget_version(self) -> None:
        """Go on with the project's present version."""
        self._record.forget_version()

    @property
    def working(self) -> bool:
        """True while a run is active, also one that waits for an answer, or a task in the background."""
        return self._runs.working

    @property
    def at_rest(self) -> bool:
        """True when nothing would be lost by forgetting this object."""
        return not (self._runs.working or self._runs.lock.locked() or self.stream.owes or len(self._inbox))

    def restore(self, waiting: list[Message]) -> None:
        """Take up the messages that waited when the daemon stopped."""
        self._inbox.restore(waiting)

    def enqueue(self) -> None:
        """Wait for capacity; the session starts by itself when it is there."""
        self._runs.wait_for_capacity()

    async def wake(self) -> None:
        """Give the agent of an idle session the end of a task from the time the daemon was away."""
        async with self._runs.lock:
            waiting = self._inbox.next()
            if waiting is not None and waiting.details.get("kind") == TASK_RESULT:
                await self._runs.start_when_idle(waiting)

    # -- commands ---------------------------------------------------------------------------

    async def post(
        self,
        content: str,
        *,
        attachments: Sequence[Mapping[str, Any]],
        model: str | None,
        mode: Mode,
        actor: str,
        request_id: str | None = None,
    ) -> PostedMessage:
        """Store a message and run it, queue it, or hand it to the running turn."""
        if model is not None:
            self._services.runs.router.resolve(model)
        async with self._runs.command():
            state, event = self._record.state, SessionEvent.MESSAGE_POSTED
            keeps_run = self._waits.keeps_run
            if keeps_run and state is SessionState.PAUSED:
                event = SessionEvent.MESSAGE_POSTED_TO_WAITING_RUN
            self._record.require(event)
            row = operator_message(self.id, content, attachments, model, actor, request_id)
            if state is not SessionState.IDLE:
                if mode == "reject":
                    raise busy(state, waits=keeps_run)
                steer = mode == "steer" and (state is SessionState.RUNNING or keeps_run)
                return await self._enqueue(row, event, "busy", steer=steer)
            if self._services.workspaces.is_making(self.row) and mode != "reject":
                return await self._enqueue(row, SessionEvent.MESSAGE_POSTED_AT_LIMIT, "workspace")
            await self._services.check_runnable(self.row, model)
            if self._services.capacity.try_acquire(Claim.of(self.row)):

                def posted(begun: ActiveRun) -> PostedMessage:
                    return PostedMessage(begun.message or row, begun.row, queued=False)

                return posted(await self._runs.begin(row, SessionEvent.MESSAGE_POSTED, result=posted))
            if mode == "reject":
                raise busy(state)
            self._services.capacity.refuse_beyond_queue()
            return await self._enqueue(row, SessionEvent.MESSAGE_POSTED_AT_LIMIT, "capacity")

    async def cancel(self, actor: str) -> None:
        """Stop the run and its background tasks, keep their partial answers, give up a compaction. Nothing
        that waits starts by itself. The pause of a run that has just ended in one is cancelled."""
        gave_up = self._runs.compaction.give_up()
        async with self._runs.command():
            tasks = self._runs.delegations.background_tasks()
            if not (tasks or gave_up) or self._record.state is not SessionState.IDLE:
                self._record.require(SessionEvent.CANCEL)
            self._services.capacity.withdraw(self.id)
            held = hold_all(self._inbox.stop())
            active = self._runs.active
            stopped = [*([] if active is None else [active]), *(task.active for task in tasks)]
            for run in stopped:
                run.stop("cancel", by=actor)
            await self._waits.take_back()
            if active is None and self._record.state is not SessionState.IDLE:
                edited, apply_edits = await self._parts.edits_to_apply(self._services.runs.storage)
                closed = await self._close_calls()
                await self._record.move(
                    SessionEvent.CANCEL,
                    reason="cancelled",
                    events=[*closed.events, *edited],
                    statements=both(closed.store, both(held, apply_edits)),
                    durable=True,
                )
                closed.add_to(await self._parts.conversation.load())
                await self._parts.prompts.reload()
                self._runs.release_place()
            else:
                await self.stream.record([], held)
        for run in stopped:
            await run.ended()
        if active is not None and active.outcome is not None and active.outcome.pause is not None:
            await self._leave_pause(actor)

    async def pause(self, actor: str, reason: str | None = None) -> None:
        """Stop at once and keep a checkpoint; running tools get `PAUSE_GRACE_SECONDS`.

        A run that ends by itself first is not paused: the next one is, or it is a `Conflict`."""
        while True:
            async with self._runs.command():
                active = self._runs.active
                if active is None:
                    raise self._record.illegal("pause")
                await self._waits.refuse_ending_questions(active)
                active.stop("pause", detail=reason, by=actor, grace=PAUSE_GRACE_SECONDS)
                await self._waits.take_back()
            await active.ended()
            if self._record.state is SessionState.PAUSED:
                return

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on after a pause, without the answers to open questions; None when there is nothing left to
        do."""
        async with self._runs.command():
            return await self._resuming.resume(checkpoint_id, actor)

    async def answer(self, interaction_id: str, checked: CheckedAnswer, actor: str) -> Interaction | None:
        """Store the answer to a question that no run waits for, and go on when it was the last one open;
        None when it is not open. When going on fails, the answer is kept for the next resume."""
        while True:
            async with self._runs.command():
                answering = Answering(self._parts, self._services.runs, self._runs.step_at_work)
                found = await answering.find(interaction_id)
                if found is None:
                    return None
                active = self._runs.active
                # Its result has its place when the session is at rest, or while the other calls of the step
                # are at work. A run that is just ending has to end first.
                storable = active is None or answering.step_of(found) is not None
                answered = await answering.store(found, checked, actor) if storable else None
                if active is None:
                    await self._resuming.go_on_when_answered(actor)
                if active is None or answering.taken_by_step:
                    return answered
            await active.ended()
            if storable:
                await self.go_on_when_answered(actor)
                return answered

    async def go_on_when_answered(self, actor: str) -> None:
        """Resume a session that paused for questions which are all answered by now."""
        async with self._runs.lock:
            await self._resuming.go_on_when_answered(actor)

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped without having finished its answer."""
        async with self._runs.command():
            return await self._resuming.continue_run(actor)

    async def roll_back(self, wish: RollbackWish, actor: str) -> Rollback | StagedFiles:
        """Take out of the conversation what came after a checkpoint or a message; tasks in the background
        are stopped, unless it is refused. With `stage` only return what that would do to the files."""
        waits = self._waits.keeps_run
        if not wish.stage and (waits or self._runs.delegations.background_tasks()):
            async with self._runs.command():
                await Rollbacks(self._parts, self._services).check(wish, actor)
            await self._end_waiting_run(actor)
            await self._end_tasks("cancel", by=actor)
        async with self._runs.command():
            return await Rollbacks(self._parts, self._services).go_back(wish, actor)

    async def undo_rollback(self, rollback_id: str, actor: str, *, force: bool = False) -> Rollback:
        """Bring back what a rollback took out, as long as nothing was posted after it."""
        async with self._runs.command():
            if self._waits.keeps_run:
                raise at_work(self._record.state, "undo a rollback in", run=True)
            return await Rollbacks(self._parts, self._services).undo(rollback_id, actor, force=force)

    async def edit_prompt(self, change: PromptChange, actor: str) -> None:
        """Keep a new text of an agent's prompt; see `PromptEditing.edit`."""
        async with self._runs.command():
            editing = PromptEditing(self._parts, self._services.runs, resting=self._runs.active is None)
            await editing.edit(change, actor)

    async def remove_prompt_edit(self, agent_path: str, actor: str) -> None:
        """Let the file's text of a prompt hold again."""
        async with self._runs.command():
            await PromptEditing(self._parts, self._services.runs, resting=False).remove(agent_path, actor)

    async def change(self, changes: Mapping[str, Any], actor: str) -> None:
        """Give it another of what `PATCH` takes; an archived one takes no issue, model or mode."""
        async with self._runs.command():
            refuse_binding(self.row, changes)
            columns = dict(changes)
            if "model" in columns:
                kept = {name: value for name, value in self.row.overrides.items() if name != "model"}
                model = columns.pop("model")
                columns["overrides"] = kept if model is None else {**kept, "model": model}
            mode = columns.get("mode", self.row.mode)
            changes_mode = mode != self.row.mode
            also = audited(self.row, mode, actor) if changes_mode else lambda uow: None
            await self._record.change(columns, also)
            self._services.runs.questions.rules.changed(scope_of(self.row))
        if changes_mode:
            await settle_open_requests(self._services.runs.questions, self.row, mode, actor)

    async def archive(self) -> None:
        """Close the session for good; its messages stay readable. A run that waits for people is
        cancelled."""
        await self._end_waiting_run(OPERATOR)
        async with self._runs.command():
            if self._runs.working and self._record.state is not SessionState.RUNNING:
                raise at_work(self._record.state, "archive")
            self._record.require(SessionEvent.ARCHIVE)
            held = hold_all(self._inbox.stop())
            closed = await self._close_calls()
            await self._record.move(
                SessionEvent.ARCHIVE,
                events=closed.events,
                statements=both(closed.store, held),
                durable=True,
                columns={"archived_at": now_ms()},
            )
            closed.add_to(await self._parts.conversation.load())
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)
            self._inbox.clear()

    async def delete(self) -> None:
        """Remove the session and everything below it; not while it runs. A run that waits for people is
        cancelled."""
        await self._end_waiting_run(OPERATOR)
        async with self._runs.command():
            if self._runs.working:
                raise at_work(self._record.state, "delete")
            await self._services.runs.storage.write(lambda uow: uow.sessions.delete(self.id), durable=True)
            self._runs.closed = True
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)

    async def stop_for_shutdown(self, grace: float) -> None:
        """The daemon stops: end the run, keep a checkpoint that one resume goes on from."""
        self._runs.compaction.give_up()
        async with self._runs.lock:
            active = self._runs.active
            if active is not None:
                active.stop("pause", by="daemon", grace=grace, reason="daemon_restart")
                await self._waits.take_back()
        await self._end_tasks("pause", by="daemon", grace=grace)
        if active is not None:
            await active.ended()

    # -- inside -----------------------------------------------------------------------------

    async def _close_calls(self) -> Closing:
        history = await self._parts.conversation.load()
        return await close_open_calls(self._services.runs.storage, self.id, history, STOPPED)

    async def _end_waiting_run(self, actor: str) -> None:
        if self._waits.keeps_run:
            with suppress(Conflict):  # it has ended meanwhile
                await self.cancel(actor)

    async def _leave_pause(self, actor: str) -> None:
        if self._record.state is SessionState.PAUSED:
            await self.cancel(actor)

    async def _enqueue(
        self, row: Message, event: SessionEvent, reason: QueuedFor, *, steer: bool = False
    ) -> PostedMessage:
        inbox, limit = self._inbox, self._services.queue_limit
        if len(inbox) >= limit:
            raise queue_full(limit)
        if len(inbox) and inbox.size + message_size(row) > QUEUED_BYTES:
            raise queue_heavy(QUEUED_BYTES)
        waiting = waiting_message(row, steer=steer)
        events: list[EventPayload] = [posted_event(waiting, queued=True)]
        if not steer:
            events.append(RunQueued(message_id=row.id, position=len(self._inbox) + 1, reason=reason))
        kept = None if event is SessionEvent.MESSAGE_POSTED_AT_LIMIT else self.row.state_reason
        posted = PostedMessage(waiting, None, queued=True)
        store = effect(lambda uow: uow.messages.add(waiting), lambda _: posted)
        await self._record.move(event, reason=kept, events=events, statements=store, durable=True)
        self._inbox.add(waiting)
        if reason != "busy":
            self.enqueue()
        return posted

    async def _end_tasks(self, how: Literal["pause", "cancel"], *, by: str, grace: float = 0.0) -> None:
        tasks = [task.active for task in self._runs.delegations.background_tasks()]
        for task in tasks:
            task.stop(how, by=by, grace=grace, reason="daemon_restart")
        for task in tasks:
            await task.ended()
