"""The sessions in memory: read when they are needed, let go of when they do nothing.

Owns: that there is one object for each session, however many ask for it at once. Never: commands.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from app.errors import NotFound
from app.harness.sessions.session import Session
from app.harness.sessions.session_services import SessionServices
from app.harness.stream.event_hub import EventHub
from app.storage.models import Message
from app.storage.models import Session as SessionRow
from app.storage.models import Workspace as WorkspaceRow
from app.storage.unit_of_work import UnitOfWork

MAX_LIVE_SESSIONS = 256
"""Sessions kept in memory beside those that run or wait."""


class LiveSessions:
    """At most `MAX_LIVE_SESSIONS`, unless more are at work."""

    def __init__(self, services: SessionServices, hub: EventHub) -> None:
        self._services, self._storage, self._hub = services, services.runs.storage, hub
        self._kept: dict[str, Session] = {}
        # Also those that were let go of while a command still holds them: two objects of one session
        # would begin two runs at once.
        self._alive: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self._opening: dict[str, asyncio.Lock] = {}

    def all(self) -> list[Session]:
        return list(self._kept.values())

    def find(self, session_id: str) -> Session | None:
        """Return a session that is in memory; None when it would have to be read."""
        return self._kept.get(session_id)

    async def get(self, session_id: str) -> Session:
        """Return a session, read when it is not in memory. Raises `NotFound`."""
        found = self._kept.get(session_id)
        if found is not None:
            return found
        lock = self._opening.setdefault(session_id, asyncio.Lock())
        try:
            async with lock:
                return self._kept.get(session_id) or await self._load(session_id)
        finally:
            self._opening.pop(session_id, None)

    def forget(self, session_id: str) -> None:
        """Let go of a session that is deleted."""
        self._alive.pop(session_id, None)
        self._let_go(session_id)

    async def _load(self, session_id: str) -> Session:
        row, waiting, workspace = await self._storage.read(lambda uow: _stored(uow, session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        self._services.runs.projects.require_here(row.project_id)
        if workspace is not None:
            self._services.runs.projects.workspaces.learn(workspace)
        stream = await self._hub.stream(session_id)
        found = self._alive.get(session_id)  # also who came after a failure, with a lock of its own
        if found is None:
            found = Session(row, stream, self._services)
            found.restore(waiting)
            self._alive[session_id] = found
        self._make_room()
        self._kept[session_id] = found
        return found

    def _make_room(self) -> None:
        """Let go of sessions that do nothing; what they know is stored."""
        for session_id in list(self._kept):
            if len(self._kept) < MAX_LIVE_SESSIONS:
                return
            if self._kept[session_id].at_rest:
                self._let_go(session_id)

    def _let_go(self, session_id: str) -> None:
        """Drop the conversation with it: the parts of a session refer to each other, so that only a full
        garbage collection frees them, which may be hours away."""
        session = self._kept.pop(session_id, None)
        if session is not None:
            session.runs.parts.conversation.forget()


def _stored(uow: UnitOfWork, session_id: str) -> tuple[SessionRow | None, list[Message], WorkspaceRow | None]:
    """Return a session, the messages that wait in it, and the workspace that it works in."""
    row = uow.sessions.get(session_id)
    workspace_id = None if row is None else row.workspace_id
    workspace = None if workspace_id is None else uow.workspaces.get(workspace_id)
    return row, uow.messages.queued(session_id), workspace
