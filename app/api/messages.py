"""Routes for messages.

Owns: parsing and answering. Never: what a message sets off (`harness.sessions`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from app.access.scopes import Principal
from app.api.dependencies import MessageId, PageDep, PrincipalDep, RequestId, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.runs import run_answer
from app.api.schemas.attempts import AttemptGroupAnswer
from app.api.schemas.messages import (
    EditMessage,
    MessageAnswer,
    PostedMessageAnswer,
    PostMessage,
    SupersededAnswer,
    SupersededMessages,
    brief,
)
from app.api.schemas.model import PageOf
from app.api.scope_rules import READS_SESSION
from app.daemon.services import Services
from app.errors import NotFound, ValidationFailed
from app.harness.attempts.starting import Started
from app.harness.attempts.wish import FirstMessage
from app.harness.conversation.session_rows import PostedMessage
from app.storage.keyed_effect import answer_with
from app.storage.repositories.messages import MessageFilter

router: APIRouter = noun_router("Messages")

Mode = Literal["queue", "steer", "reject"]


@router.post(
    "/sessions/{session_id}/messages",
    summary="Post a message to a session",
    status_code=201,
    dependencies=[IDEMPOTENT],
    responses={
        202: {
            "model": PostedMessageAnswer,
            "description": "Stored; the message waits for the active run, or for the workspaces of attempts.",
        }
    },
)
async def post_message(
    services: ServicesDep,
    principal: PrincipalDep,
    request_id: RequestId,
    session_id: SessionId,
    body: PostMessage,
    response: Response,
    mode: Annotated[Mode | None, Query(description="As `mode` in the body.")] = None,
) -> PostedMessageAnswer:
    """Answers as soon as the message and its run are stored: 201 when a run starts, 202 when the message is
    queued or steers the active run, or becomes the first message of `attempts`."""
    if mode is not None and body.mode is not None and mode != body.mode:
        raise ValidationFailed(
            "The mode differs between query and body.", fields={"mode": "differs between query and body"}
        )
    if body.attempts is not None:
        response.status_code, answer = await _attempted(services, principal, request_id, session_id, body)
        return answer
    answer_with(PostedMessage, _posted)
    content = await services.sessions.message_files.named_in(session_id, body.content, body.upload_ids)
    posted = await services.sessions.post_message(
        session_id,
        content,
        attachments=[attachment.model_dump() for attachment in body.attachments],
        model=body.model,
        mode=mode or body.mode or "queue",
        actor=principal.actor,
        request_id=request_id,
    )
    response.status_code, answer = _posted(posted)
    return answer


async def _attempted(
    services: Services, principal: Principal, request_id: str, session_id: str, body: PostMessage
) -> tuple[int, PostedMessageAnswer]:
    given = {"mode": body.mode, "model": body.model, "upload_ids": body.upload_ids or None}
    fields = {name: "not with `attempts`" for name, value in given.items() if value is not None}
    if fields or body.attempts is None:
        raise ValidationFailed("Attempts have their own models and folders.", fields=fields)
    answer_with(Started, _started)
    attachments = [attachment.model_dump() for attachment in body.attachments]
    message = FirstMessage(body.content, attachments, request_id)
    attempts = services.management.attempts
    return _started(await attempts.from_session(session_id, body.attempts.wish(), message, principal.actor))


def _started(started: Started) -> tuple[int, PostedMessageAnswer]:
    answer = PostedMessageAnswer(
        message=MessageAnswer.model_validate(started.messages[0]),
        run=None,
        queued=True,
        attempt_group=AttemptGroupAnswer.begun(started),
    )
    return 202, answer


def _posted(posted: PostedMessage) -> tuple[int, PostedMessageAnswer]:
    answer = PostedMessageAnswer(
        message=MessageAnswer.model_validate(posted.message),
        run=run_answer(posted.run) if posted.run is not None else None,
        queued=posted.queued,
    )
    return 202 if posted.queued else 201, answer


@router.get(
    "/sessions/{session_id}/messages", summary="List a session's messages", dependencies=READS_SESSION
)
async def list_messages(
    services: ServicesDep,
    session_id: SessionId,
    page: PageDep,
    include_superseded: Annotated[
        bool, Query(description="Include messages that a rollback removed.")
    ] = False,
    agent_path: Annotated[
        str | None, Query(max_length=2000, description="Only messages of one agent, such as `primary`.")
    ] = None,
    run_id: Annotated[
        str | None, Query(max_length=64, description="Only messages of one run, such as one delegation.")
    ] = None,
    waiting: Annotated[bool, Query(description="Only messages that wait for their turn.")] = False,
    superseded_by: Annotated[
        str | None,
        Query(max_length=64, description="Only messages that one rollback or compaction superseded."),
    ] = None,
    order: Annotated[Literal["oldest", "newest"], Query(description="Which messages come first.")] = "oldest",
) -> PageOf[MessageAnswer]:
    """The messages of all agents in order, each with its `agent_path`; queued messages come last. With
    `order=newest` the whole order is turned around, so that the first page has the end of the conversation.
    Images in tool results are omitted: request the message itself."""
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.messages.page(
            session_id,
            MessageFilter(
                include_superseded=include_superseded,
                superseded_by=superseded_by,
                agent_path=agent_path,
                run_id=run_id,
                waiting=waiting,
            ),
            newest_first=order == "newest",
            limit=page.limit,
            cursor=page.cursor,
        )
    )
    return answer_page(found, brief)


@router.get(
    "/sessions/{session_id}/superseded",
    summary="List what was taken out of a conversation",
    dependencies=READS_SESSION,
)
async def list_superseded(
    services: ServicesDep,
    session_id: SessionId,
    agent_path: Annotated[str, Query(max_length=2000, description="Whose conversation.")] = "primary",
) -> SupersededAnswer:
    """One item for each rollback and compaction that superseded messages, the oldest first. The messages
    themselves: `GET .../messages?superseded_by=`."""
    await services.sessions.get(session_id)
    found = await services.storage.read(lambda uow: uow.messages.superseded_groups(session_id, agent_path))
    return SupersededAnswer(items=[SupersededMessages.model_validate(group) for group in found])


@router.get(
    "/sessions/{session_id}/messages/{message_id}", summary="Show one message", dependencies=READS_SESSION
)
async def get_message(services: ServicesDep, session_id: SessionId, message_id: MessageId) -> MessageAnswer:
    """The complete message, also when a frame had only part of a tool result (`contentRef`)."""
    found = await services.storage.read(lambda uow: uow.messages.get(message_id))
    if found is None or found.session_id != session_id:
        raise NotFound(f"The session has no message {message_id}.")
    return MessageAnswer.model_validate(found)


@router.patch("/sessions/{session_id}/messages/{message_id}", summary="Edit a queued message")
async def edit_message(
    services: ServicesDep, session_id: SessionId, message_id: MessageId, body: EditMessage
) -> MessageAnswer:
    """Changes the text, or `mode`: when the message runs. `409 not_waiting` once the message is in the
    conversation."""
    queued = services.sessions.queued_messages
    changed = await queued.edit(session_id, message_id, body.content, mode=body.mode)
    return MessageAnswer.model_validate(changed)


@router.delete(
    "/sessions/{session_id}/messages/{message_id}", summary="Remove a queued message", status_code=204
)
async def remove_message(services: ServicesDep, session_id: SessionId, message_id: MessageId) -> Response:
    """`409 not_waiting` once the message is in the conversation; `rollback` removes it from there."""
    await services.sessions.queued_messages.remove(session_id, message_id)
    return Response(status_code=204)
