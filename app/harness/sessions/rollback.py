"""Going back in a session, and taking that back: the commands.

Owns: what a rollback means for a live session (state, what waits, the conversation in memory), and the
order of files and conversation. Never: which rows change (`superseding`) or which files (`file_rollback`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from app.errors import Conflict, KagedError
from app.events.payload import EventPayload
from app.events.sessions import RollbackUndone, SessionRolledBack
from app.harness.checkpoints.file_writes import as_details
from app.harness.conversation.session_rows import hold_all, session_audit
from app.harness.questions.rows import closed_event
from app.harness.sessions.file_rollback import FileRollback, StagedFiles, as_stored
from app.harness.sessions.open_calls import ROLLED_BACK, closing_of
from app.harness.sessions.restoring import FileChange, FilePlan
from app.harness.sessions.session_parts import SessionParts
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.superseding import Plan, find_undoable, plan_rollback, restore, roll_back
from app.states import InteractionState, SessionEvent
from app.storage.models import AuditEvent, Rollback
from app.storage.unit_of_work import UnitOfWork
from app.workspace.any_names import address_of

log = logging.getLogger("kaged.session")


@dataclass(frozen=True, slots=True)
class RollbackWish:
    """Where to go back to, and whether with the files. `before`: the message goes, too. `stage` only looks;
    `force` restores also what others have changed; `plan` is the digest of the staged plan that is meant."""

    checkpoint_id: str | None = None
    message_id: str | None = None
    before: bool = False
    files: bool = False
    stage: bool = False
    force: bool = False
    plan: str | None = None


class Rollbacks:
    """The commands of one session. Callers hold its lock."""

    def __init__(self, parts: SessionParts, services: SessionServices) -> None:
        self._parts = parts
        self._services = services
        self._storage = services.runs.storage

    async def go_back(self, wish: RollbackWish, actor: str) -> Rollback | StagedFiles:
        """Take the conversation back, and the files when wished; the session is idle then.

        What waits is held. Raises `NotFound` and `Conflict`; nothing has changed then."""
        parts = self._parts
        plan, file_plan = await self._planned(wish, actor)
        if file_plan is None:
            await self._supersede(plan, actor, None)
            return plan.rollback
        files = self._files()
        if wish.stage:
            return await files.stage(file_plan)
        cursor = (await parts.conversation.load()).last_message_id
        kept = await files.keep_present(file_plan, cursor, actor)
        wrote = await files.restore(file_plan)
        try:
            await self._supersede(plan, actor, as_stored(file_plan, kept, wrote))
        except KagedError:
            await self._put_back(files, file_plan)
            raise
        return plan.rollback

    async def check(self, wish: RollbackWish, actor: str) -> None:
        """Raise what would refuse it; nothing changes."""
        await self._planned(wish, actor)

    async def undo(self, rollback_id: str, actor: str, *, force: bool) -> Rollback:
        """Bring back what a rollback took out, with the files that it restored, as long as nothing was
        posted after it. Raises `NotFound`, or `Conflict` that says why it cannot be."""
        parts = self._parts
        parts.record.require(SessionEvent.ROLLBACK)
        rollback = await self._storage.read(lambda uow: find_undoable(uow, parts.id, rollback_id))
        kept = await self._undo_files(rollback, force=force)

        def statements(uow: UnitOfWork) -> None:
            restore(uow, rollback)
            if kept is not None:
                uow.rollbacks.update(rollback.id, details={**rollback.details, "files": kept})
            uow.audit.add_many([self._audit("session.rollback_undone", rollback, actor)])

        await parts.record.move(
            SessionEvent.ROLLBACK,
            reason="rollback_undone",
            events=[RollbackUndone(rollback_id=rollback.id, undone_by=actor)],
            statements=statements,
            durable=True,
            columns={"context_overflow": bool(rollback.details["context_overflow"])},
        )
        parts.conversation.forget()
        return await self._storage.read(lambda uow: uow.rollbacks.get(rollback_id)) or rollback

    # -- inside -----------------------------------------------------------------------------

    async def _planned(self, wish: RollbackWish, actor: str) -> tuple[Plan, FilePlan | None]:
        """Return what it would do to the conversation, and to the files when that is wished."""
        parts = self._parts
        parts.record.require(SessionEvent.ROLLBACK)
        plan = await self._storage.read(
            lambda uow: plan_rollback(
                uow,
                parts.id,
                checkpoint_id=wish.checkpoint_id,
                message_id=wish.message_id,
                before=wish.before,
                actor=actor,
            )
        )
        if not wish.files:
            return plan, None
        file_plan = await self._files().plan(plan.point, plan.checkpoint, force=wish.force)
        if not wish.stage and wish.plan is not None and wish.plan != file_plan.digest:
            raise Conflict(
                "The files have changed since this was staged; stage it again and look.",
                reason="plan_changed",
                details={"plan": file_plan.digest},
            )
        return plan, file_plan

    async def _supersede(self, plan: Plan, actor: str, files: dict[str, Any] | None) -> None:
        parts, rollback, row = self._parts, plan.rollback, self._parts.record.row
        history = await parts.conversation.load()
        closing = closing_of(plan.waiting, history.take_position(len(plan.waiting)), ROLLED_BACK)
        events: list[EventPayload] = [
            closed_event(question, InteractionState.CANCELLED) for question in plan.questions
        ]
        events += closing.events
        events.append(
            SessionRolledBack(
                rollback_id=rollback.id,
                checkpoint_id=rollback.checkpoint_id,
                message_cursor=rollback.message_cursor,
                created_by=actor,
                compactions=tuple(one.id for one in plan.compactions),
                files=0 if files is None else len(files["wrote"]),
            )
        )
        edited, apply_edits = await parts.edits_to_apply(self._storage)
        held = hold_all(parts.inbox.stop())

        def statements(uow: UnitOfWork) -> None:
            held(uow)
            apply_edits(uow)
            roll_back(uow, plan, row, files, closing)
            uow.audit.add_many([self._audit("session.rolled_back", rollback, actor)])

        await parts.record.move(
            SessionEvent.ROLLBACK,
            reason="rolled_back",
            events=[*edited, *events],
            statements=statements,
            durable=True,
            columns={"context_overflow": False},
        )
        parts.conversation.forget()
        if edited:
            await parts.prompts.reload()

    async def _undo_files(self, rollback: Rollback, *, force: bool) -> dict[str, Any] | None:
        """Bring the files back that a rollback has restored; return what is kept of them with it."""
        files = self._files()
        plan = await files.plan_undo(rollback, force=force)
        if plan is None:
            return None
        wrote = await files.restore(plan)
        left = [{"path": address_of(one.path), "reason": one.reason} for one in plan.conflicts]
        return {**rollback.details["files"], "undone": as_details(wrote), "undo_conflicts": left}

    async def _put_back(self, files: FileRollback, plan: FilePlan) -> None:
        """The conversation could not be stored: the files go back to how they were."""
        back = tuple(FileChange(one.path, one.then, one.now) for one in plan.restored)
        try:
            await files.restore(FilePlan(plan.target, plan.before, back, ()))
        except KagedError as problem:
            log.error("the files of session %s stay rolled back: %s", self._parts.id, problem.message)

    def _files(self) -> FileRollback:
        root = self._services.runs.projects.root_of_session(self._parts.record.row)
        return FileRollback(self._storage, self._services.notes, self._parts.id, root.path)

    def _audit(self, event: str, rollback: Rollback, actor: str) -> AuditEvent:
        files = (rollback.details.get("files") or {}).get("wrote", ())
        data = {
            "rollback_id": rollback.id,
            "checkpoint_id": rollback.checkpoint_id,
            "message_cursor": rollback.message_cursor,
            "messages": rollback.details.get("messages", 0),
            "files": [one["path"] for one in files][:100],
        }
        return session_audit(self._parts.record.row, event, actor, data)
