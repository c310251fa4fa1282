"""The rows of attempts: looked up, and moved with the event of what became of a check.

Owns: these units. Never: when any of it happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Conflict, NotFound
from app.events.sessions import AttemptChecked
from app.harness.sessions.recovery import REASON as DAEMON_RESTART
from app.harness.stream.event_hub import EventHub
from app.ids import new_id, now_ms
from app.states import AttemptsState, CheckState, SessionState, WorkspaceState, move
from app.storage.models import Attempt, AttemptGroup, AuditEvent
from app.storage.pages import Page
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

GIVEN_UP = frozenset({WorkspaceState.DISCARDED.value, WorkspaceState.KEPT.value})
"""The states of the workspaces of attempts that are not picked any more."""


class AttemptRecord:
    def __init__(self, storage: Storage, hub: EventHub) -> None:
        self.storage = storage
        self._hub = hub

    async def group(self, group_id: str) -> AttemptGroup:
        """Return a group; raises `NotFound`."""
        found = await self.storage.read(lambda uow: uow.attempt_groups.get(group_id))
        if found is None:
            raise NotFound(f"There is no group of attempts {group_id}.")
        return found

    async def attempts(self, group_id: str) -> list[Attempt]:
        """Return the attempts of a group, by their numbers."""
        return await self.storage.read(lambda uow: uow.attempts.of_groups([group_id]))

    async def page(self, project_id: str, limit: int, cursor: str | None) -> Page[AttemptGroup]:
        """Return a page of a project's groups, the newest first."""
        return await self.storage.read(
            lambda uow: uow.attempt_groups.list(project_id, limit=limit, cursor=cursor)
        )

    async def in_state(
        self, state: AttemptsState, project_id: str | None
    ) -> list[tuple[AttemptGroup, list[Attempt]]]:
        """Return the groups in a state with their attempts; of one project when given."""

        def read(uow: UnitOfWork) -> list[tuple[AttemptGroup, list[Attempt]]]:
            groups = uow.attempt_groups.in_states([state.value])
            wanted = [one for one in groups if project_id in (None, one.project_id)]
            found = uow.attempts.of_groups([one.id for one in wanted])
            return [(group, [one for one in found if one.group_id == group.id]) for group in wanted]

        return await self.storage.read(read)

    async def unfinished(self, project_id: str | None) -> list[AttemptGroup]:
        """Return the groups with a pick or discard that is under way; of one project when given."""
        states = (AttemptsState.PICKING.value, AttemptsState.DISCARDED.value)
        found = await self.storage.read(lambda uow: uow.attempt_groups.unfinished(states))
        return [one for one in found if project_id in (None, one.project_id)]

    async def end_given_up(self, project_id: str | None) -> None:
        """Store that open groups are over of which nothing is left: all were discarded one by one, and their
        folders are removed. In one project when given."""
        found = await self.in_state(AttemptsState.OPEN, project_id)

        def is_over(uow: UnitOfWork, attempts: list[Attempt]) -> bool:
            rows = [uow.workspaces.of_session(one.session_id) for one in attempts]
            folders = [row for row in rows if row is None or row.removed_at is None]
            states = {row.state for row in rows if row is not None}
            return not folders and WorkspaceState.DISCARDED.value in states and states <= GIVEN_UP

        def read(uow: UnitOfWork) -> list[str]:
            return [group.id for group, attempts in found if is_over(uow, attempts)]

        for group_id in await self.storage.read(read):
            await self.move(group_id, AttemptsState.DISCARDED, {"journal": None})

    async def cut_off(self, project_id: str | None) -> list[str]:
        """Return the sessions of open groups whose run the end of the daemon has cut off; of one project when
        given. Those of workflows are left out."""
        found = await self.in_state(AttemptsState.OPEN, project_id)
        ids = [one.session_id for _, group in found for one in group if one.workflow_run_id is None]

        def read(uow: UnitOfWork) -> list[str]:
            rows = (uow.sessions.get(one) for one in ids)
            paused = [row for row in rows if row is not None and row.state == SessionState.PAUSED.value]
            return [row.id for row in paused if row.state_reason == DAEMON_RESTART]

        return await self.storage.read(read)

    async def picking(self, group_id: str, journal: Mapping[str, Any]) -> AttemptGroup:
        """Claim a group for a pick. Raises `Conflict` when it is not open by now."""
        columns = {"journal": {**journal, "claim": new_id("att")}}
        return await self.move(group_id, AttemptsState.PICKING, columns)

    async def claim(self, group: AttemptGroup) -> AttemptGroup:
        """Claim the pick that was cut off in a group, which was read as it is here. Raises `Conflict` when
        somebody else has claimed or finished it since."""

        def statements(uow: UnitOfWork) -> AttemptGroup:
            present = uow.attempt_groups.get(group.id)
            if present is None or (present.state, present.journal) != (group.state, group.journal):
                raise in_progress(group.id)
            journal = {**(present.journal or {}), "claim": new_id("att")}
            uow.attempt_groups.update(group.id, journal=journal)
            return present.model_copy(update={"journal": journal})

        return await self.storage.write(statements, durable=True)

    async def picked(self, group_id: str, session_id: str, actor: str) -> AttemptGroup:
        """Store that an attempt is picked, with its row in the audit trail."""
        columns = {"picked_session_id": session_id, "picked_at": now_ms(), "journal": None}
        data = {"session_id": session_id}
        return await self.move(group_id, AttemptsState.PICKED, columns, ("attempts.picked", actor, data))

    async def discarding(self, group_id: str, actor: str) -> AttemptGroup:
        """Store that all attempts of a group are given up, with its row in the audit trail. Raises `Conflict`
        when it is not open by now."""
        audit = ("attempts.discarded", actor, dict[str, Any]())
        return await self.move(group_id, AttemptsState.DISCARDED, {"journal": {"by": actor}}, audit)

    async def finished(self, group_id: str) -> None:
        """Store that nothing is left to do in a group."""
        await self.storage.write(lambda uow: uow.attempt_groups.update(group_id, journal=None), durable=True)

    async def move(
        self,
        group_id: str,
        target: AttemptsState,
        columns: Mapping[str, Any],
        audit: tuple[str, str, dict[str, Any]] | None = None,
    ) -> AttemptGroup:
        """Store another state of a group; `audit` is event, actor and data of its row in the audit trail.
        Raises `Conflict` when the move is not legal by now."""

        def statements(uow: UnitOfWork) -> AttemptGroup:
            present = uow.attempt_groups.get(group_id)
            if present is None:
                raise NotFound(f"There is no group of attempts {group_id}.")
            state = move(AttemptsState(present.state), target).value
            uow.attempt_groups.update(group_id, state=state, **columns)
            if audit is not None:
                uow.audit.add_many([audit_of(present, *audit)])
            return present.model_copy(update={"state": state, **columns})

        return await self.storage.write(statements, durable=True)

    async def check(self, session_id: str, target: CheckState, checked: dict[str, Any] | None) -> None:
        """Store another state of an attempt's check, and publish it; nothing when the attempt is gone. Raises
        `Conflict` for one that begins when its group is not open any more."""

        def statements(uow: UnitOfWork) -> None:
            present = uow.attempts.get(session_id)
            if present is not None:
                if target is CheckState.RUNNING:
                    _require_open(uow, present)
                state = move(CheckState(present.check_state), target).value
                uow.attempts.change(session_id, check_state=state, checked=checked)

        attempt = await self.storage.read(lambda uow: uow.attempts.get(session_id))
        if attempt is None:
            return
        said = checked or {}
        event = AttemptChecked(
            attempt_group_id=attempt.group_id,
            state=target.value,
            exit_code=said.get("exit_code"),
            problem=said.get("problem"),
        )
        try:
            stream = await self._hub.stream(session_id)
        except NotFound:  # deleted meanwhile
            return
        await stream.record([event], statements, durable=True)


def in_progress(group_id: str) -> Conflict:
    """Return what refuses a step for which another one has to end first."""
    return Conflict(
        f"A pick or discard of {group_id} is in progress: wait for its end, then look at the group again.",
        reason="pick_in_progress",
        details={"attempt_group_id": group_id},
    )


def _require_open(uow: UnitOfWork, attempt: Attempt) -> None:
    """Raise `Conflict` when an attempt of a group is being picked, or is picked."""
    group = uow.attempt_groups.get(attempt.group_id)
    if group is not None and group.state != AttemptsState.OPEN.value:
        raise Conflict(f"The attempts {group.id} are {group.state}.", reason="invalid_transition")


def audit_of(group: AttemptGroup, event: str, actor: str, data: dict[str, Any]) -> AuditEvent:
    """Return the row of the audit trail about a group."""
    return AuditEvent(
        created_at=now_ms(),
        event=event,
        actor=actor,
        project_id=group.project_id,
        data={"attempt_group_id": group.id, **data},
    )
