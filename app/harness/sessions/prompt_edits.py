"""Editing agents' prompts while a session is paused.

Owns: when it may be done, against which text, and what is stored; with `write` the prompt's file. Never:
applying an edit (the end of the pause does), or putting a prompt together.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import Conflict, NotFound, ToolError, ValidationFailed
from app.events.sessions import PromptReloaded
from app.harness.conversation.session_rows import session_audit
from app.harness.dsl.prompt_files import MAX_PROMPT_BYTES, prompt_digest
from app.harness.loop.run_services import RunServices
from app.harness.projects.prompts.session_prompts import as_prompt
from app.harness.projects.prompts.store import Prompt, PromptStore
from app.harness.sessions.session_parts import SessionParts
from app.ids import new_id, now_ms
from app.states import SessionState
from app.storage.models import AuditEvent, PromptEdit, Session
from app.storage.unit_of_work import UnitOfWork
from app.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A new text for the prompt of an agent, made from the text with the digest `base_hash` (None: any).
    With `write` the prompt's file is changed."""

    checkpoint_id: str
    agent_path: str
    content: str
    base_hash: str | None
    write: bool


class PromptEditing:
    """What may be done with the prompts of one session. Callers hold the session's lock."""

    def __init__(self, parts: SessionParts, services: RunServices, *, resting: bool) -> None:
        """`resting`: no run of the session waits or works."""
        self._resting = resting
        self._parts = parts
        self._services = services

    @property
    def _row(self) -> Session:
        return self._parts.record.row

    async def edit(self, change: PromptChange, actor: str) -> None:
        """Keep a new text for an agent's prompt; it holds from the end of the pause on.

        Raises `NotFound`, `Conflict` (not paused there, or `base_hash` is not that of the present text),
        `ValidationFailed`."""
        agent_path, content = change.agent_path, change.content
        check_content(content)
        await self._require_paused_at(change.checkpoint_id)
        store = await self._store(agent_path)
        present = await self._present(store, agent_path)
        if change.base_hash not in (None, present.digest):
            raise Conflict(
                "The prompt has another text by now; look at it and edit that one.",
                reason="prompt_changed",
                details={"agent_path": agent_path, "present_hash": present.digest},
            )
        if change.write:
            await self._write_file(store, agent_path, content, present, actor)
            return
        row = PromptEdit(
            id=new_id("ped"),
            session_id=self._parts.id,
            checkpoint_id=change.checkpoint_id,
            target=agent_path,
            old_hash=present.digest,
            new_hash=prompt_digest(content),
            new_content=content,
            edited_by=actor,
            edited_at=now_ms(),
        )
        data = {"checkpoint_id": row.checkpoint_id, "old_hash": row.old_hash, "new_hash": row.new_hash}
        audit = self._audit("prompt.edited", agent_path, actor, data)

        def statements(uow: UnitOfWork) -> None:
            uow.prompt_edits.add(row)
            uow.audit.add_many([audit])

        await self._services.storage.write(statements, durable=True)

    async def remove(self, agent_path: str, actor: str) -> None:
        """Let the file's text hold again from the next message boundary on; raises `NotFound` when the
        session has no edit of this prompt."""
        await self._store(agent_path)
        removed: list[int] = []
        audit = self._audit("prompt.edit_removed", agent_path, actor, {})

        def statements(uow: UnitOfWork) -> None:
            removed.append(uow.prompt_edits.remove(self._parts.id, agent_path))
            if removed[-1]:
                uow.audit.add_many([audit])

        await self._services.storage.write(statements, durable=True)
        if not removed[-1]:
            raise NotFound(f"The session has no edit of the prompt of {agent_path}.")
        await self._parts.prompts.reload()
        await self._parts.stream.record([PromptReloaded(agents=(agent_path,))])

    # -- inside -----------------------------------------------------------------------------

    async def _require_paused_at(self, checkpoint_id: str) -> None:
        state = self._parts.record.state
        known = await self._services.storage.read(lambda uow: uow.checkpoints.get(checkpoint_id))
        if known is None or known.session_id != self._parts.id:
            raise NotFound(f"The session has no checkpoint {checkpoint_id}.")
        opened = await self._services.storage.read(lambda uow: uow.checkpoints.open(self._parts.id))
        resting = self._resting and state is SessionState.PAUSED
        if not resting or not opened or opened[0].id != checkpoint_id:
            where = f"paused at {opened[0].id}" if resting and opened else state.value
            raise Conflict(
                f"Prompts are edited only while the session is paused at this checkpoint; it is {where}.",
                reason="not_paused_here",
                details={"state": state.value},
            )

    async def _store(self, agent_path: str) -> PromptStore:
        project = await self._services.projects.of_session(self._row)
        store = await self._services.projects.prompts_of(self._row.project_id, project)
        if agent_path not in store.agent_paths():
            known = ", ".join(store.agent_paths())
            raise NotFound(f"There is no agent {agent_path!r} in this project. Agents: {known}.")
        return store

    async def _present(self, store: PromptStore, agent_path: str) -> Prompt:
        rows = await self._services.storage.read(lambda uow: uow.prompt_edits.of_session(self._parts.id))
        edits = [as_prompt(row) for row in rows if row.target == agent_path]
        return edits[-1] if edits else store.get(agent_path)

    async def _write_file(
        self, store: PromptStore, agent_path: str, content: str, present: Prompt, actor: str
    ) -> None:
        """Write the file, and give up the session's own edits of it."""
        file, root = (
            Path(store.get(agent_path).file),
            self._services.projects.root_of(self._row.project_id),
        )
        if not file.is_relative_to(root):
            raise Conflict(
                "The file of this prompt is not in the project's folder; edit it there.",
                reason="prompt_not_in_project",
                details={"file": str(file)},
            )
        try:
            await asyncio.to_thread(_write, root, file.relative_to(root), content.encode())
        except ToolError as problem:
            raise Conflict(f"The file could not be written: {problem.message}", reason=problem.code) from None
        await store.reload([agent_path])
        data = {"old_hash": present.digest, "new_hash": prompt_digest(content), "file": str(file)}
        audit = self._audit("prompt.written", agent_path, actor, data)

        def statements(uow: UnitOfWork) -> None:
            uow.prompt_edits.remove(self._parts.id, agent_path)
            uow.audit.add_many([audit])

        await self._services.storage.write(statements, durable=True)
        await self._parts.prompts.reload()

    def _audit(self, event: str, agent_path: str, actor: str, data: dict[str, Any]) -> AuditEvent:
        return session_audit(self._row, event, actor, data, agent_path=agent_path)


def check_content(content: str) -> None:
    """Raise `ValidationFailed` for a text that no prompt file may have."""
    if not content.strip():
        raise ValidationFailed("The prompt is empty.", fields={"content": "write something"})
    if len(content.encode("utf-8", "replace")) > MAX_PROMPT_BYTES:
        raise ValidationFailed(
            "The prompt is too long.", fields={"content": f"at most {MAX_PROMPT_BYTES} bytes"}
        )


def _write(root: Path, file: Path, content: bytes) -> None:
    with Workspace(root).target(f"./{file}") as target:
        target.read()
        target.replace(content)
