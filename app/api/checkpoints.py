"""Routes for checkpoints and prompts.

Owns: parsing and answering. Never: pausing or resuming (`runs`), or what an edit of a prompt does
(`harness.checkpoints`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from app.api.dependencies import PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page
from app.api.schemas.checkpoints import (
    CheckpointAnswer,
    CheckpointDetail,
    EditPrompt,
    PromptAnswer,
    PromptEditAnswer,
    PromptList,
    WorktreeAnswer,
)
from app.api.schemas.messages import brief
from app.api.schemas.model import PageOf
from app.api.scope_rules import READS_SESSION
from app.daemon.services import Services
from app.errors import NotFound
from app.harness.sessions.inspection import Inspected, inspect
from app.harness.sessions.point import Point
from app.harness.sessions.prompt_edits import PromptChange

router: APIRouter = noun_router("Checkpoints")

AgentPath = Annotated[str, Path(max_length=1024)]


@router.get(
    "/sessions/{session_id}/checkpoints",
    summary="List a session's checkpoints, newest first",
    dependencies=READS_SESSION,
)
async def list_checkpoints(
    services: ServicesDep, session_id: SessionId, page: PageDep
) -> PageOf[CheckpointAnswer]:
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.checkpoints.list(session_id, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, CheckpointAnswer.model_validate)


@router.get(
    "/sessions/{session_id}/checkpoints/{checkpoint_id}",
    summary="Show a checkpoint with its conversation and prompts",
)
async def get_checkpoint(
    services: ServicesDep, session_id: SessionId, checkpoint_id: str
) -> CheckpointDetail:
    """Includes messages that were compacted or rolled back since. `prompts` are those of the next call, each
    with the system prompt that was last sent before the checkpoint."""
    found = await _inspected(services, session_id, checkpoint_id)
    answer = CheckpointAnswer.model_validate(found.checkpoint)
    return CheckpointDetail(
        **{name: getattr(answer, name) for name in CheckpointAnswer.model_fields},
        messages=[brief(message) for message in found.messages],
        prompts=await _prompts(services, session_id, found.point),
        edits=[PromptEditAnswer.model_validate(edit) for edit in found.edits],
        worktree=WorktreeAnswer.model_validate(found.worktree) if found.worktree is not None else None,
        proposal=found.proposal,
    )


@router.get("/sessions/{session_id}/prompts", summary="Show the system prompts of the agents")
async def list_prompts(services: ServicesDep, session_id: SessionId) -> PromptList:
    """The text of each agent's prompt, and the whole system prompt that was last sent."""
    return PromptList.whole(await _prompts(services, session_id))


@router.get(
    "/sessions/{session_id}/checkpoints/{checkpoint_id}/prompts/{agent_path}",
    summary="Show one agent's prompt at a checkpoint",
)
async def get_checkpoint_prompt(
    services: ServicesDep, session_id: SessionId, checkpoint_id: str, agent_path: AgentPath
) -> PromptAnswer:
    found = await _inspected(services, session_id, checkpoint_id)
    return await _prompt(services, session_id, agent_path, found.point)


@router.put(
    "/sessions/{session_id}/checkpoints/{checkpoint_id}/prompts/{agent_path}",
    summary="Edit an agent's prompt at a checkpoint",
)
async def edit_checkpoint_prompt(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    checkpoint_id: str,
    agent_path: AgentPath,
    body: EditPrompt,
) -> PromptAnswer:
    """The edit applies to this session from the end of the pause until it is removed, across restarts and
    changes of the file. No file changes unless `write` is true."""
    change = PromptChange(checkpoint_id, agent_path, **body.model_dump())
    await services.sessions.edit_prompt(session_id, change, actor=principal.actor)
    return await _prompt(services, session_id, agent_path, None)


@router.delete(
    "/sessions/{session_id}/prompts/{agent_path}",
    summary="Remove the edit of an agent's prompt",
    status_code=204,
)
async def remove_prompt_edit(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, agent_path: AgentPath
) -> Response:
    """A running agent uses the text of the file from its next message boundary on."""
    await services.sessions.remove_prompt_edit(session_id, agent_path, actor=principal.actor)
    return Response(status_code=204)


async def _inspected(services: Services, session_id: str, checkpoint_id: str) -> Inspected:
    return await services.storage.read(lambda uow: inspect(uow, session_id, checkpoint_id))


async def _prompts(services: Services, session_id: str, point: Point | None = None) -> list[PromptAnswer]:
    found = await services.sessions.prompts(session_id, point)
    return [PromptAnswer.model_validate(prompt) for prompt in found]


async def _prompt(services: Services, session_id: str, agent_path: str, point: Point | None) -> PromptAnswer:
    for prompt in await _prompts(services, session_id, point):
        if prompt.agent_path == agent_path:
            return prompt
    raise NotFound(f"There is no agent {agent_path!r} in this project.")
