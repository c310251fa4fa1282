"""Editing agents' prompts while a session is paused.

Owns: when that may be done, against which text, and what is stored. Never: applying an edit (the end of the
pause does) or putting a system prompt together. With `write` the prompt's file itself is changed, for all
sessions, and nothing is kept for this one.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from app.errors import Conflict, NotFound, ToolError, ValidationFailed
from app.events.sessions import PromptReloaded
from app.harness.dsl.prompt_files import MAX_PROMPT_BYTES, prompt_digest
from app.harness.projects.prompts.session_prompts import as_prompt
from app.harness.projects.prompts.store import Prompt, PromptStore
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.ids import new_id, now_ms
from app.states import SessionState
from app.storage.models import AuditEvent, PromptEdit
from app.storage.unit_of_work import UnitOfWork
from app.workspace import Workspace


class PromptEditing:
    """What may be done with the prompts of one session. Callers hold the session's lock."""

    def __init__(self, runs: SessionRuns, services: SessionServices) -> None:
        self._runs = runs
        self._services = services

    async def edit(
        self,
        checkpoint_id: str,
        agent_path: str,
        content: str,
        *,
        base_hash: str | None,
        write: bool,
        actor: str,
    ) -> None:
        """Keep a new text for an agent's prompt; it holds from the end of the pause on.

        Raises `NotFound`, `Conflict` (not paused there, or `base_hash` is not that of the present text),
        `ValidationFailed`."""
        check_content(content)
        await self._require_paused_at(checkpoint_id)
        store = await self._store(agent_path)
        present = await self._present(store, agent_path)
        if base_hash is not None and base_hash != present.digest:
            raise Conflict(
                "The prompt has another text by now; look at it and edit that one.",
                reason="prompt_changed",
                details={"agent_path": agent_path, "present_hash": present.digest},
            )
        if write:
            await self._write_file(store, agent_path, content, present, actor)
            return
        row = PromptEdit(
            id=new_id("ped"),
            session_id=self._runs.id,
            checkpoint_id=checkpoint_id,
            target=agent_path,
            old_hash=present.digest,
            new_hash=prompt_digest(content),
            new_content=content,
            edited_by=actor,
            edited_at=now_ms(),
        )
        data = {"checkpoint_id": checkpoint_id, "old_hash": row.old_hash, "new_hash": row.new_hash}
        audit = self._audit("prompt.edited", agent_path, actor, data)

        def statements(uow: UnitOfWork) -> None:
            uow.prompt_edits.add(row)
            uow.audit.add_many([audit])

        await self._services.runs.storage.write(statements, durable=True)

    async def remove(self, agent_path: str, actor: str) -> None:
        """Let the file's text hold again from the next message boundary on; raises `NotFound` when the
        session has no edit of this prompt."""
        await self._store(agent_path)
        removed: list[int] = []
        audit = self._audit("prompt.edit_removed", agent_path, actor, {})

        def statements(uow: UnitOfWork) -> None:
            removed.append(uow.prompt_edits.remove(self._runs.id, agent_path))
            if removed[-1]:
                uow.audit.add_many([audit])

        await self._services.runs.storage.write(statements, durable=True)
        if not removed[-1]:
            raise NotFound(f"The session has no edit of the prompt of {agent_path}.")
        await self._runs.prompts.reload()
        await self._runs.stream.record([PromptReloaded(agents=(agent_path,))])

    # -- inside -----------------------------------------------------------------------------

    async def _require_paused_at(self, checkpoint_id: str) -> None:
        state = self._runs.record.state
        known = await self._services.runs.storage.read(lambda uow: uow.checkpoints.get(checkpoint_id))
        if known is None or known.session_id != self._runs.id:
            raise NotFound(f"The session has no checkpoint {checkpoint_id}.")
        opened = await self._services.runs.storage.read(lambda uow: uow.checkpoints.open(self._runs.id))
        resting = state is SessionState.PAUSED and self._runs.active is None
        if not resting or not opened or opened[0].id != checkpoint_id:
            where = f"paused at {opened[0].id}" if resting and opened else state.value
            raise Conflict(
                f"Prompts are edited only while the session is paused at this checkpoint; it is {where}.",
                reason="not_paused_here",
                details={"state": state.value},
            )

    async def _store(self, agent_path: str) -> PromptStore:
        project = await self._services.runs.projects.of_session(self._runs.row)
        store = await self._services.runs.projects.prompts_of(self._runs.row.project_id, project)
        if agent_path not in store.agent_paths():
            known = ", ".join(store.agent_paths())
            raise NotFound(f"There is no agent {agent_path!r} in this project. Agents: {known}.")
        return store

    async def _present(self, store: PromptStore, agent_path: str) -> Prompt:
        rows = await self._services.runs.storage.read(lambda uow: uow.prompt_edits.of_session(self._runs.id))
        edits = [as_prompt(row) for row in rows if row.target == agent_path]
        return edits[-1] if edits else store.get(agent_path)

    async def _write_file(
        self, store: PromptStore, agent_path: str, content: str, present: Prompt, actor: str
    ) -> None:
        """Write the file, and give up the session's own edits of it."""
        file, root = (
            Path(store.get(agent_path).file),
            self._services.runs.projects.root_of(self._runs.row.project_id),
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
            uow.prompt_edits.remove(self._runs.id, agent_path)
            uow.audit.add_many([audit])

        await self._services.runs.storage.write(statements, durable=True)
        await self._runs.prompts.reload()

    def _audit(self, event: str, agent_path: str, actor: str, data: dict[str, Any]) -> AuditEvent:
        return AuditEvent(
            created_at=now_ms(),
            event=event,
            actor=actor,
            project_id=self._runs.row.project_id,
            session_id=self._runs.id,
            agent_path=agent_path,
            data=data,
        )


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
