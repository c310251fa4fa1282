"""Routes of the chat-completions protocol: agents as models, and answers of them.

Owns: parsing and answering. Never: what a run does (`harness.sessions`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Request
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import Receive

from app.access.scopes import Principal
from app.api.access_middleware import SECRET_KEY
from app.api.attendance import ClientLeft, attended, until_gone, until_refused
from app.api.chat.answers import Ended, RunAnswer
from app.api.chat.conversation import refuse_unsupported
from app.api.chat.event_stream import DONE, EventStream, event
from app.api.chat.models import served_agent, served_agents
from app.api.chat.runs import Key, Starter
from app.api.chat.wire import (
    AnswerMessage,
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionRequest,
    Choice,
    ChunkChoice,
    CompletionUsage,
    Delta,
    FinishReason,
    Model,
    ModelList,
)
from app.api.dependencies import PrincipalDep, ServicesDep
from app.api.error_handlers import error_words, request_id_of
from app.api.kaged_route import IdempotencyKeyHeader, noun_router, scope_of_key
from app.api.operator_audit import NOTED
from app.api.protocol_errors import protocol_error
from app.api.scope_rules import FOR_CHATS
from app.daemon.services import Services
from app.errors import Conflict, KagedError, NotFound, Unauthenticated

router: APIRouter = noun_router("Chat completions", prefix="")

SESSION_HEADER = "X-Kaged-Session"
RUN_HEADER = "X-Kaged-Run"

SessionHeader = Annotated[
    str | None,
    Header(
        alias=SESSION_HEADER,
        max_length=64,
        description="Continue this session with the last message alone. Without it each request starts a new "
        "session with all messages. The answer has the header with the session of the request.",
    ),
]


async def _require_enabled(connection: HTTPConnection) -> None:
    services: Services = connection.app.state.services
    if not services.settings.chat_completions.enabled:
        raise NotFound(
            "Chat completions are off. Set `enabled = true` under `[chat_completions]` in the config.",
            reason="chat_completions_disabled",
        )


SERVED = [Depends(_require_enabled), FOR_CHATS]


@router.get("/v1/models", summary="List agents as models", dependencies=SERVED)
async def list_chat_models(services: ServicesDep, principal: PrincipalDep) -> ModelList:
    """The agents of trusted projects that the token may use, as `project/agent`."""
    agents = served_agents(services, principal)
    return ModelList(data=[Model(id=one.name, created=one.created // 1000) for one in agents])


@router.get("/v1/models/{model:path}", summary="Show an agent as a model", dependencies=SERVED)
async def get_chat_model(
    services: ServicesDep,
    principal: PrincipalDep,
    model: Annotated[str, Path(max_length=1_000, description="`project/agent`.")],
) -> Model:
    found = served_agent(services, principal, model)
    return Model(id=found.name, created=found.created // 1000)


@router.post(
    "/v1/chat/completions",
    summary="Talk to an agent",
    response_model=ChatCompletion,
    dependencies=SERVED,
    responses={
        200: {
            "description": "The answer. With `stream`: events, each a `ChatCompletionChunk`, then `[DONE]`.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def create_chat_completion(
    request: Request,
    services: ServicesDep,
    principal: PrincipalDep,
    body: ChatCompletionRequest,
    idempotency_key: IdempotencyKeyHeader = None,
    x_kaged_session: SessionHeader = None,
) -> Response:
    """Runs the agent that `model` names. Nobody can be asked: what needs approval is denied. The run is
    cancelled when the client closes the connection. `tools` and other fields that an agent cannot serve are
    refused; parameters of the model are ignored."""
    refuse_unsupported(body)
    agent = served_agent(services, principal, body.model)
    key = None
    if idempotency_key is not None:
        sent = await request.body() + b"?" + (x_kaged_session or "").encode()
        key = Key(scope_of_key(request), idempotency_key, sent)
    starter = Starter(services, principal, agent, request_id_of(request))
    run, after = await starter.start(body.messages, x_kaged_session, key, request.app.state.idempotency)
    setattr(
        request.state,
        NOTED,
        {"project_id": agent.project_id, "session_id": run.session_id, "run_id": run.run_id},
    )
    answer = RunAnswer(services, run, after)
    client = _Client(services, principal, request.scope.get(SECRET_KEY), answer)
    headers = {SESSION_HEADER: run.session_id, RUN_HEADER: run.run_id}
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    completion = _Completion(services, body.model, answer, usage)
    if body.stream:
        quiet = services.settings.daemon.heartbeat_seconds
        return EventStream(
            completion.events(),
            client.attend,
            refusal=completion.refusal,
            headers=headers,
            quiet_seconds=quiet,
        )
    try:
        await client.attend(completion.wait, request.receive)
    except ClientLeft:
        raise ClientDisconnect from None
    return Response(completion.whole(), 200, headers, "application/json")


@dataclass(frozen=True, slots=True)
class _Client:
    """Who waits for an answer. When the client leaves, the run is cancelled."""

    services: Services
    principal: Principal
    secret: str | None
    answer: RunAnswer

    async def attend(self, work: Callable[[], Awaitable[None]], receive: Receive) -> None:
        """Do the work while the client is there. Raises `ClientLeft`, or `Unauthenticated` when its token
        does not hold any more."""

        async def working() -> None:
            await work()

        try:
            await attended(
                working(),
                until_gone(receive),
                until_refused(self.services.access, self.principal, self.secret),
            )
        except (ClientLeft, Unauthenticated):
            await self._cancel()
            raise

    async def _cancel(self) -> None:
        if self.answer.ended is None:
            with suppress(Conflict, NotFound):  # it has just ended, or the session is gone
                await self.services.sessions.one_run.cancel(self.answer.run.run_id, self.principal.actor)


@dataclass(frozen=True, slots=True)
class _Completion:
    """An answer in the protocol's words."""

    services: Services
    model: str
    answer: RunAnswer
    with_usage: bool

    @property
    def id(self) -> str:
        return f"chatcmpl-{self.answer.run.run_id}"

    async def wait(self) -> None:
        """Wait for the end. Raises what has ended the run otherwise."""
        async for _ in self.answer.pieces():
            pass
        self._ended()

    def whole(self) -> bytes:
        """Return the whole answer."""
        ended = self._ended()
        message = AnswerMessage(content=_encodable(ended.text))
        completion = ChatCompletion(
            id=self.id,
            created=self.answer.run.created,
            model=self.model,
            choices=[Choice(message=message, finish_reason=ended.finish_reason)],
            usage=ended.usage,
        )
        return completion.model_dump_json().encode()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the answer as events. An error that comes after the first one is an event, too."""
        yield self._chunk(Delta(role="assistant", content=""))
        try:
            async for piece in self.answer.pieces():
                yield self._chunk(Delta(content=_encodable(piece)))
            ended = self._ended()
        except KagedError as problem:
            yield self.refusal(problem)
            return
        yield self._chunk(Delta(), ended.finish_reason)
        if self.with_usage:
            yield self._chunk(None, usage=ended.usage)
        yield DONE

    def refusal(self, problem: KagedError) -> bytes:
        """Return the event of an error that ends the stream."""
        message, _ = error_words(problem, self.services.redactor)
        return event(protocol_error(problem, message))

    def _ended(self) -> Ended:
        ended = self.answer.ended
        assert ended is not None
        if ended.error is not None:
            raise ended.error
        return ended

    def _chunk(
        self, delta: Delta | None, finish: FinishReason | None = None, usage: CompletionUsage | None = None
    ) -> bytes:
        choices = [] if delta is None else [ChunkChoice(delta=delta, finish_reason=finish)]
        chunk = ChatCompletionChunk(
            id=self.id, created=self.answer.run.created, model=self.model, choices=choices, usage=usage
        )
        return event(chunk.model_dump_json(exclude=None if self.with_usage else {"usage"}).encode())


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()
