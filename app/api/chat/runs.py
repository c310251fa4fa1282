"""Starting the run that a request asks for, once for each idempotency key.

Owns: the session of a request, and the run in it. Never: the answer (`answers`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import Response

from app.access.scopes import Principal
from app.api.chat.conversation import last_turn, turns_of
from app.api.chat.models import ServedAgent
from app.api.chat.wire import ChatMessage, StartedRun
from app.api.error_handlers import RETRY_AFTER
from app.api.idempotency import Idempotency
from app.api.protocol_errors import PARAM
from app.daemon.services import Services
from app.errors import BadRequest, Conflict, KagedError, NotFound, RateLimited
from app.harness.conversation.session_rows import PostedMessage
from app.harness.dsl.agent_view import agent_of
from app.harness.sessions.opening import Opening, Turn
from app.ids import ROOT_AGENT
from app.states import SessionState
from app.storage.keyed_effect import answer_with
from app.storage.models import Session as SessionRow

CAPACITY_SECONDS = 5
"""After how long a client tries again when as many sessions run as may."""


@dataclass(frozen=True, slots=True)
class Key:
    """A client's idempotency key, with what it is unique within and the request that it stands for."""

    scope: str
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the runs of one request."""

    services: Services
    principal: Principal
    agent: ServedAgent
    request_id: str

    async def start(
        self, messages: list[ChatMessage], session_id: str | None, key: Key | None, keys: Idempotency
    ) -> tuple[StartedRun, int]:
        """Return the run, and the sequence number before its first event. The same key again gives the run
        that it started. Raises what a request can be refused for."""
        if key is None:
            return await self._start(messages, session_id)
        after = 0

        async def first() -> Response:
            nonlocal after
            answer_with(PostedMessage, lambda posted: (200, _started(posted)))
            run, after = await self._start(messages, session_id)
            return Response(run.model_dump_json(), media_type="application/json")

        answer = await keys.once(
            self.services.storage, scope=key.scope, key=key.key, body=key.body, call=first
        )
        return StartedRun.model_validate_json(bytes(answer.body)), after

    async def _start(self, messages: list[ChatMessage], session_id: str | None) -> tuple[StartedRun, int]:
        if session_id is not None:
            session = await self._own_session(session_id)
            return await self._post(session.id, last_turn(messages))
        *before, last = await asyncio.to_thread(turns_of, messages)
        opening = Opening(self.agent.project_id, self.agent.agent_path, before)
        session = await self.services.sessions.open(opening, created_by=self.principal.actor)
        try:
            return await self._post(session.id, last)
        except KagedError:
            with suppress(KagedError):
                await self.services.sessions.delete(session.id)
            raise

    async def _own_session(self, session_id: str) -> SessionRow:
        """Return the session that a request names. Raises `NotFound`, in the same words for a session that
        another token's client has started."""
        with suppress(NotFound):
            session = await self.services.sessions.get(session_id)
            hidden = self.principal.scope == "chat" and session.created_by != self.principal.actor
            if not hidden and session.project_id == self.agent.project_id:
                return self._checked(session)
        raise NotFound(
            f"The project has no session {session_id[:64]} of this client.", reason="session_not_found"
        )

    def _checked(self, session: SessionRow) -> SessionRow:
        if (agent_of(session) or ROOT_AGENT) != self.agent.agent_path:
            raise BadRequest(
                "The session is one of another agent: send that one as model.",
                reason="session_of_another_agent",
                details={PARAM: "model"},
            )
        if not session.headless:
            raise Conflict(
                "The agent may ask people in this session, which this protocol cannot do. Continue it on the "
                "page, or start a new session.",
                reason="session_not_headless",
            )
        return session

    async def _post(self, session_id: str, turn: Turn) -> tuple[StartedRun, int]:
        after = (await self.services.events.stream(session_id)).published_seq
        try:
            posted = await self.services.sessions.post_message(
                session_id,
                turn.content,
                attachments=turn.attachments,
                mode="reject",
                actor=self.principal.actor,
                request_id=self.request_id,
            )
        except Conflict as refused:
            raise _busy(refused) from None
        return _started(posted), after


def _started(posted: PostedMessage) -> StartedRun:
    assert posted.run is not None
    run = posted.run
    return StartedRun(session_id=run.session_id, run_id=run.id, created=run.created_at // 1000)


def _busy(refused: Conflict) -> KagedError:
    """Return the refusal of a message by a session that cannot run it now, in words for this protocol."""
    match refused.details.get("state"):
        case SessionState.IDLE.value if refused.details.get("reason") == "no_capacity":
            return RateLimited(
                "As many sessions run as may. Try again later.",
                reason="no_capacity",
                details={RETRY_AFTER: CAPACITY_SECONDS},
            )
        case SessionState.RUNNING.value | SessionState.QUEUED.value:
            return Conflict(
                "The session works on another message. Wait for its answer, or start a new session without "
                "the header X-Kaged-Session.",
                reason="session_busy",
            )
        case SessionState.PAUSED.value:
            return Conflict(
                "The session is paused. Resume or cancel it on the page or with the command line, or start a "
                "new session.",
                reason="session_paused",
            )
        case SessionState.ARCHIVED.value:
            return Conflict("The session is archived. Start a new session.", reason="session_archived")
        case _:
            return refused
