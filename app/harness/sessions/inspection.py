"""What a checkpoint shows, and what a session shows of its agents' prompts.

Owns: putting the prompts' files, the session's edits and what was really sent side by side. Never:
changing anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.errors import NotFound
from app.harness.conversation.estimate import estimate_text
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.workflow_view import prompt_of
from app.harness.guidance.agent_guidance import AgentGuidance
from app.harness.guidance.session_guidance import SessionGuidance
from app.harness.hooks.session_start import SessionRecall
from app.harness.projects.prompts.assemble import environment
from app.harness.projects.prompts.session_prompts import as_prompt
from app.harness.projects.run_cage import cage_of
from app.harness.projects.session_roots import SessionRoot
from app.harness.sessions.history_at import conversation_at
from app.harness.sessions.point import Point, point_at
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.ids import ROOT_AGENT
from app.messages import SystemBlock
from app.storage.models import Checkpoint, Message, PromptEdit, Worktree
from app.storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The system prompt of an agent's last answer. `blocks` are its parts in order; none when they are not
    kept any more."""

    agent_path: str
    digest: str
    message_id: str
    run_id: str | None
    created_at: int
    blocks: tuple[SystemBlock, ...]


def sent_prompts(
    uow: UnitOfWork, session_id: str, agent_paths: Iterable[str], position: int | None = None
) -> dict[str, SentPrompt]:
    """Return, by agent, what it was last sent (up to a position when given)."""
    found = {}
    for agent_path in agent_paths:
        row = uow.messages.last_answer(session_id, agent_path, position)
        digest = row.details.get("systemDigest") if row is not None else None
        if row is None or digest is None:
            continue
        blob = uow.blobs.get(digest)
        content = [] if blob is None else orjson.loads(blob.content)
        found[agent_path] = SentPrompt(
            agent_path,
            digest,
            row.id,
            row.run_id,
            row.created_at,
            tuple(SystemBlock.model_validate(block) for block in content),
        )
    return found


@dataclass(frozen=True, slots=True)
class Inspected:
    """A checkpoint, the conversation as it was then, and what belongs to it. `proposal` is the id of a
    compaction that waits for the operator."""

    checkpoint: Checkpoint
    point: Point
    messages: list[Message]
    edits: list[PromptEdit]
    worktree: Worktree | None
    proposal: str | None


def inspect(uow: UnitOfWork, session_id: str, checkpoint_id: str) -> Inspected:
    """Return what a checkpoint shows; raises `NotFound`."""
    checkpoint = uow.checkpoints.get(checkpoint_id)
    if checkpoint is None or checkpoint.session_id != session_id:
        raise NotFound(f"The session has no checkpoint {checkpoint_id}.")
    point = point_at(uow, session_id, checkpoint.message_cursor)
    proposals = [
        one.id
        for one in uow.compactions.of_session(session_id)
        if one.state == "proposed" and one.checkpoint_id in (None, checkpoint_id)
    ]
    return Inspected(
        checkpoint,
        point,
        conversation_at(uow, session_id, point),
        uow.prompt_edits.of_checkpoint(checkpoint_id),
        uow.worktrees.of_checkpoint(session_id, checkpoint_id),
        proposals[-1] if proposals and checkpoint.reason == "compaction_pending" else None,
    )


async def guidance_now(recall: SessionRecall, project: CompiledProject, root: Path) -> SessionGuidance:
    """Return what was found for a session; before its first run, what would be found now."""
    if await recall.restore(root):
        return recall.guidance
    preview = recall.guidance.another()
    await preview.find(root, project.skills.paths)
    return preview


async def describe_prompts(
    services: SessionServices, session: SessionRuns, project: CompiledProject, point: Point | None
) -> list[dict[str, Any]]:
    """Return, for each agent, the text that the next call bears: `agent_path`, `file`, `digest`,
    `content`, `source` (`file` or `edited`), `pending`, `file_digest`, `parts` with all of the system prompt,
    `warnings` about its files, and `sent`, its last system prompt up to the point, or None."""
    row = session.row
    described = await services.runs.projects.describe_prompts(
        row.project_id, project, workflow=prompt_of(row)
    )
    paths = [str(prompt["agent_path"]) for prompt in described]
    position = None if point is None else point.position

    def read(uow: UnitOfWork) -> tuple[list[PromptEdit], dict[str, SentPrompt]]:
        return uow.prompt_edits.of_session(row.id), sent_prompts(uow, row.id, paths, position)

    edits, sent = await services.runs.storage.read(read)
    newest = {edit.target: edit for edit in edits}
    shown = [_described(prompt, newest.get(prompt["agent_path"]), sent) for prompt in described]
    texts = {str(prompt["agent_path"]): prompt for prompt in shown}
    root = services.runs.projects.root_of_session(row)
    found = await guidance_now(session.root.recall, project, root.path)
    for prompt in shown:
        agent = project.agent(str(prompt["agent_path"]))
        if agent is not None:
            cage = await asyncio.to_thread(cage_of, project, agent, root.path)
            guidance = AgentGuidance(found, agent, cage, root.path)
            prompt |= _parts(session, guidance, agent.path, texts, root)
    return shown


def _parts(
    session: SessionRuns,
    guidance: AgentGuidance,
    agent_path: str,
    prompts: Mapping[str, Mapping[str, Any]],
    root: SessionRoot,
) -> dict[str, Any]:
    """Return the parts of an agent's next system prompt with their origins, and the warnings about them."""
    own, workflow = prompts[agent_path], prompts.get(prompt_of(session.row) or "")
    is_root = agent_path == ROOT_AGENT
    texts = [("agent", own["file"], own["content"])]
    if is_root and workflow is not None:
        texts.append(("workflow", workflow["file"], workflow["content"]))
    blocks = [
        *guidance.instructions(),
        *(session.root.recall.blocks() if is_root else ()),
        *guidance.skill_list(),
        *environment(root, guidance.session.day),
    ]
    texts += [(block.name, block.name.partition(":")[2] or None, block.text) for block in blocks]
    found = guidance.session.found.warnings if is_root else ()
    return {
        "parts": [
            {"name": name, "origin": origin, "tokens": estimate_text(text), "text": text}
            for name, origin, text in texts
        ],
        "warnings": [warning.model_dump() for warning in (*found, *guidance.shown.warnings)],
    }


def _described(
    prompt: dict[str, Any], edit: PromptEdit | None, sent: dict[str, SentPrompt]
) -> dict[str, Any]:
    shown = {
        **prompt,
        "source": "file",
        "pending": False,
        "parts": [],
        "warnings": [],
        "file_digest": prompt["digest"],
        "sent": sent.get(prompt["agent_path"]),
    }
    if edit is None:
        return shown
    text = as_prompt(edit)
    edited = {"source": "edited", "pending": edit.applied_at is None}
    return {**shown, **edited, "content": text.text, "digest": text.digest}
