"""The start of a session: what its agents know from the first run on, of plugins and of files for agents.

Owns: firing `on_session_start` and looking for instruction files and skills, once in a session, and keeping
what came of it, so that the system prompt stays the same for the rest of the session. Never: the place in the
system prompt.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson
import xxhash

from app.errors import KagedError
from app.harness.conversation.injection import injection
from app.harness.guidance.guidance import NOTHING, Guidance
from app.harness.guidance.session_guidance import SessionGuidance
from app.harness.hooks.agent_plugins import AgentPlugins, Caller
from app.harness.run.run_context import RunContext
from app.ids import now_ms
from app.messages import SystemBlock
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.plugins")

MEDIA_TYPE = "application/vnd.kaged.session-start+json"
INJECTIONS = "application/vnd.kaged.injections+json"
"""Of sessions that began before there were instruction files: what plugins said, and nothing else."""


class SessionRecall:
    """What one session's plugins said and what was found at its start; empty before its first run."""

    def __init__(
        self, row: SessionRow, plugins: AgentPlugins, storage: Storage, guidance: SessionGuidance
    ) -> None:
        self.guidance = guidance
        self._blocks: tuple[SystemBlock, ...] = ()
        self._recalled_at, self._digest = row.recalled_at, row.recalled_digest
        self._ready = False
        self._plugins = plugins
        self._storage = storage

    def blocks(self) -> tuple[SystemBlock, ...]:
        """Return the parts of the system prompt, one for each plugin that had something to say: the same
        object from the first run's start on."""
        return self._blocks

    async def prepare(self, run: RunContext) -> None:
        """Make `blocks` and `guidance` ready for a run of the root agent: ask the plugins and look for files
        in the first run of the session, read what came of it in later ones.

        Takes as long as the hooks' time-outs allow. A run that is cancelled meanwhile leaves it to the
        next one; what a plugin does wrong is noted in the audit trail and is no reason to fail."""
        if self._ready:
            return
        if self._recalled_at is None:
            await self._ask(run)
        else:
            await self.restore(run.scope.project_root)
        self._ready = True

    async def restore(self, root: Path) -> bool:
        """Read what is stored of the session's start, for a project at `root`; False before its first run."""
        if self._recalled_at is None:
            return False
        if not self._ready:
            self._blocks, found = await self._stored(self._digest)
            await self.guidance.restore(root, found)
            self._ready = True
        return True

    async def _ask(self, run: RunContext) -> None:
        caller = Caller.of(run.scope)
        blocks: list[SystemBlock] = []
        for plugin in await self._plugins.with_hook(caller, "on_session_start"):
            context = caller.context()
            outcome = await self._plugins.fire(plugin, "on_session_start", {}, context)
            if outcome.kind != "result":
                continue
            text = outcome.result.get("inject")
            if isinstance(text, str) and text.strip():
                blocks.append(SystemBlock(name=f"plugin:{plugin.name}", text=injection(plugin.name, text)))
            elif text is not None and not isinstance(text, str):
                self._plugins.malformed(plugin, "on_session_start", context, "`inject` is no text")
        await self.guidance.find(run.scope.project_root, run.scope.project.skills.paths)
        self._blocks = tuple(blocks)
        await self._keep(run)

    async def _keep(self, run: RunContext) -> None:
        """Store what was said before any model reads it: a later run must say the same."""
        found = self.guidance.found
        injections = [block.model_dump() for block in self._blocks]
        content = orjson.dumps({"injections": injections, "guidance": self.guidance.stored()})
        digest = xxhash.xxh3_128_hexdigest(content) if injections or found != NOTHING else None
        at = now_ms()
        for warning in found.warnings:
            log.warning("session %s: %s: %s", run.scope.session_id, warning.file, warning.reason)
        if found != NOTHING:
            run.journal.audit("session.guidance", _audited(found))

        def store(uow: UnitOfWork) -> None:
            if digest is not None:
                uow.blobs.put(digest, MEDIA_TYPE, content)
            uow.sessions.update(run.scope.session_id, recalled_at=at, recalled_digest=digest)

        stored = run.journal.record(statements=store)
        self._recalled_at, self._digest = at, digest
        if digest is None:
            return
        try:
            await asyncio.shield(stored)
        except KagedError:
            self._recalled_at = self._digest = None  # nothing is stored: the next run asks again
            raise

    async def _stored(self, digest: str | None) -> tuple[tuple[SystemBlock, ...], Any]:
        """Return the blocks of plugins, and what was found, None for nothing."""
        if digest is None:
            return (), None
        blob = await self._storage.read(lambda uow: uow.blobs.get(digest))
        if blob is None or blob.media_type not in {MEDIA_TYPE, INJECTIONS}:
            log.warning("the guidance of a session's start is not stored")  # an imported session
            return (), None
        stored = orjson.loads(blob.content)
        if blob.media_type == INJECTIONS:
            stored = {"injections": stored, "guidance": None}
        blocks = tuple(SystemBlock.model_validate(block) for block in stored["injections"])
        return blocks, stored["guidance"]


def _audited(found: Guidance) -> dict[str, Any]:
    """Return what was found, without the texts."""
    return {
        "instructions": [{"file": one.origin, "digest": one.digest} for one in found.instructions],
        "skills": [{"name": one.name, "file": one.origin} for one in found.skills],
        "warnings": [one.model_dump() for one in found.warnings],
    }
