"""The rows of workspaces: each change is stored, and then published in the session that works there.

Owns: storing a move together with its event. Never: what a move makes necessary.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from app.errors import Conflict, NotFound
from app.events.payload import Origin
from app.events.sessions import WorkspaceUpdated
from app.harness.stream.event_hub import EventHub
from app.ids import now_ms
from app.keyed_locks import KeyedLocks
from app.states import WorkspaceState, move
from app.storage.models import Workspace
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

Columns = dict[str, Any]


class WorkspaceRecord:
    def __init__(self, storage: Storage, hub: EventHub, learn: Callable[[Workspace], None]) -> None:
        """`learn` is called with each stored row."""
        self.storage = storage
        self._learn = learn
        self._hub = hub
        self._locks = KeyedLocks[str]()

    @asynccontextmanager
    async def holding(self, workspace_id: str) -> AsyncIterator[Workspace]:
        """Hold a workspace for one step, and give its present row."""
        async with self._locks.holding(workspace_id):
            yield await self.get(workspace_id)

    async def find(self, workspace_id: str) -> Workspace | None:
        return await self.storage.read(lambda uow: uow.workspaces.get(workspace_id))

    async def get(self, workspace_id: str) -> Workspace:
        found = await self.find(workspace_id)
        if found is None:
            raise NotFound(f"There is no workspace {workspace_id}.")
        return found

    async def know(self, project_id: str | None) -> None:
        """Let everything that is stored be learned: where sessions work, and why some cannot."""
        broken = await self.storage.read(lambda uow: uow.workspaces.in_states([WorkspaceState.BROKEN.value]))
        here = await self.storage.read(lambda uow: uow.workspaces.with_folder(project_id))
        for row in (*broken, *here):
            self._learn(row)

    async def of_session(self, session_id: str) -> Workspace | None:
        return await self.storage.read(lambda uow: uow.workspaces.of_session(session_id))

    async def add(self, row: Workspace, require: Callable[[UnitOfWork], None]) -> Workspace:
        """Store a new workspace by itself, unless `require` raises; that of a session is stored with the
        session."""

        def statements(uow: UnitOfWork) -> Workspace:
            require(uow)
            uow.workspaces.add(row)
            found = uow.workspaces.get(row.id)
            assert found is not None
            return found

        return self._stored(await self.storage.write(statements, durable=True))

    async def move(
        self,
        row: Workspace,
        target: WorkspaceState,
        columns: Columns | None = None,
        *,
        only_from: WorkspaceState | None = None,
    ) -> Workspace:
        """Store another state with other columns. Raises `Conflict` when the move is not legal by now, or the
        present state is not `only_from`."""
        return await self._store(row, target, None, columns or {}, only_from)

    async def note(self, row: Workspace, columns: Columns, step: str | None = None) -> Workspace:
        """Store columns in the state that it has; `step` says to clients what is done now."""
        return await self._store(row, None, step, columns, None)

    async def _store(
        self,
        row: Workspace,
        target: WorkspaceState | None,
        step: str | None,
        columns: Columns,
        only_from: WorkspaceState | None,
    ) -> Workspace:
        changed: list[Workspace] = []

        def statements(uow: UnitOfWork) -> None:
            present = uow.workspaces.get(row.id)
            if present is None:
                raise NotFound(f"There is no workspace {row.id}.")
            if only_from is not None and present.state != only_from.value:
                raise Conflict(
                    f"The workspace is {present.state} by now.",
                    reason="invalid_transition",
                    details={"state": present.state, "legal": []},
                )
            values = {**columns, "updated_at": now_ms()}
            if target is not None:
                values["state"] = move(WorkspaceState(present.state), target).value
            uow.workspaces.update(row.id, **values)
            found = uow.workspaces.get(row.id)
            assert found is not None
            changed.append(found)

        live = await self._has_session(row)
        if not live:
            await self.storage.write(statements, durable=True)
            return self._stored(changed[-1])
        assert row.session_id is not None
        stream = await self._hub.stream(row.session_id)
        shown = target.value if target is not None else row.state
        detail = columns.get("detail", row.detail)
        event = WorkspaceUpdated(workspace_id=row.id, state=shown, step=step, detail=detail)
        await stream.record([event], statements, origin=Origin(agent_path=row.agent_path), durable=True)
        return self._stored(changed[-1])

    def _stored(self, row: Workspace) -> Workspace:
        self._learn(row)
        return row

    async def _has_session(self, row: Workspace) -> bool:
        session_id = row.session_id
        if session_id is None:
            return False
        return await self.storage.read(lambda uow: uow.sessions.get(session_id)) is not None
