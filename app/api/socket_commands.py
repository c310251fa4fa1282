"""What a client asks of its session over the WebSocket of that session.

Owns: doing it here or at the daemon that owns the session's project, and the audit of it. Never: frames as
text (`client_frames`), or the life of the socket (`stream`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.websockets import WebSocket

from app.access.scopes import Principal
from app.api.access_middleware import SECRET_KEY
from app.api.client_frames import Answer, Cancel, Pause
from app.api.kaged_route import PREFIX
from app.api.operator_audit import note
from app.api.passage import credentials_of
from app.api.schemas.interactions import answer_in
from app.daemon.services import Services
from app.errors import BadRequest, Forbidden


class OwnerRefused(Exception):
    """Another daemon owns the project, and has refused a command with this `error`."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.error = error


class SocketCommands:
    """The commands of one socket. `session_id` is None for the socket of all sessions, which has none."""

    def __init__(
        self, websocket: WebSocket, services: Services, principal: Principal, session_id: str | None
    ) -> None:
        self._websocket, self._services, self._principal = websocket, services, principal
        self._session_id = session_id

    async def follow(self, frame: Cancel | Pause | Answer) -> None:
        """Do what a frame asks. Raises `OwnerRefused` when another daemon owns the project and refuses, and
        `KagedError` when this one does."""
        session_id = self._session_to_steer()
        if await self._done_by_owner(session_id, *_request_of(frame)):
            return
        sessions, actor = self._services.sessions, self._principal.actor
        match frame:
            case Cancel():
                await sessions.cancel(session_id, actor)
                await self._note("cancel_session")
            case Pause():
                await sessions.pause(session_id, actor)
                await self._note("pause_session")
            case Answer(interaction_id=interaction_id):
                given = answer_in(frame.body())
                await sessions.interactions.answer(session_id, interaction_id, given, actor)
                await self._note("answer_interaction", interaction_id=interaction_id)

    async def _done_by_owner(self, session_id: str, path: str, body: Mapping[str, Any] | None) -> bool:
        """Have another daemon do it that owns the project; return whether there is one. Raises
        `OwnerRefused`."""
        forwarding = self._services.decisions.forwarding
        if forwarding is None:
            return False
        row = await self._services.storage.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            return False
        credentials = credentials_of(self._websocket, self._websocket.scope.get(SECRET_KEY))
        address = f"{PREFIX}/sessions/{session_id}/{path}"
        answer = await forwarding.command(row.project_id, "POST", address, body, credentials)
        if answer is not None and answer.error is not None:
            raise OwnerRefused(answer.error)
        return answer is not None

    async def _note(self, operation: str, **more: str) -> None:
        data = {"session_id": self._session_id, **more, "by": "websocket"}
        noting = note(self._services.storage, self._principal.actor, operation, data)
        # The row is stored also when the client disconnects right after its command.
        await asyncio.shield(asyncio.ensure_future(noting))

    def _session_to_steer(self) -> str:
        if not self._principal.may_write:
            raise Forbidden("This token may only read.", reason="read_only")
        if self._session_id is None:
            raise BadRequest(
                "This socket serves all sessions; use the WebSocket of the session.", reason="no_session"
            )
        return self._session_id


def _request_of(frame: Cancel | Pause | Answer) -> tuple[str, dict[str, Any] | None]:
    """Return the route below the session that does the same, and its body. Raises `ValidationFailed`."""
    if isinstance(frame, Answer):
        given = frame.body().model_dump(exclude_unset=True)
        return f"interactions/{quote(frame.interaction_id, safe='')}/answer", given
    return frame.type, None
