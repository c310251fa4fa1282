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
from app.ids import now_ms
from app.states import AttemptsState, CheckState, SessionState, move
from app.storage.models import Attempt, AttemptGroup, AuditEvent
from app.storage.pages import Page
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork


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

    async def picked(self, group_id: str, session_id: str, actor: str) -> AttemptGroup:
        """Store that an attempt is picked, with its row in the audit trail."""
        columns = {"picked_session_id": session_id, "picked_at": now_ms(), "journal": None}
        return await self.move(group_id, AttemptsState.PICKED, columns, actor)

    async def move(
        self,
        group_id: str,
        target: AttemptsState,
        columns: Mapping[str, Any],
        picked_by: str | None = None,
    ) -> AttemptGroup:
        """Store another state of a group. Raises `Conflict` when the move is not legal by now."""

        def statements(uow: UnitOfWork) -> AttemptGroup:
            present = uow.attempt_groups.get(group_id)
            if present is None:
                raise NotFound(f"There is no group of attempts {group_id}.")
            state = move(AttemptsState(present.state), target).value
            uow.attempt_groups.update(group_id, state=state, **columns)
            if picked_by is not None:
                data = {"session_id": columns["picked_session_id"]}
                uow.audit.add_many([audit_of(present, "attempts.picked", picked_by, data)])
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
            attempts_id=attempt.group_id,
            state=target.value,
            exit_code=said.get("exit_code"),
            problem=said.get("problem"),
        )
        try:
            stream = await self._hub.stream(session_id)
        except NotFound:  # deleted meanwhile
            return
        await stream.record([event], statements, durable=True)


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
        data={"attempts_id": group.id, **data},
    )
