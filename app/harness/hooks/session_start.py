"""`on_session_start`: what the root agent's plugins give a session to know from its first run on.

Owns: firing it once in a session, and keeping what came of it, so that the system prompt stays the same for
the rest of the session. Never: the place in the system prompt.
"""

from __future__ import annotations

import asyncio
import logging

import orjson
import xxhash

from app.errors import KagedError
from app.harness.conversation.injection import injection
from app.harness.hooks.agent_plugins import AgentPlugins, Caller
from app.harness.run.run_context import RunContext
from app.ids import now_ms
from app.messages import SystemBlock
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.plugins")

MEDIA_TYPE = "application/vnd.kaged.injections+json"


class SessionRecall:
    """What one session's plugins said at its start; empty before its first run."""

    def __init__(self, row: SessionRow, plugins: AgentPlugins, storage: Storage) -> None:
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
        """Make `blocks` ready for a run of the root agent: ask the plugins in the first run of the session,
        read what they said in later ones.

        Takes as long as the hooks' time-outs allow. A run that is cancelled meanwhile leaves it to the
        next one; what a plugin does wrong is noted in the audit trail and is no reason to fail."""
        if self._ready:
            return
        if self._recalled_at is None:
            await self._ask(run)
        elif self._digest is not None:
            self._blocks = await self._stored(self._digest)
        self._ready = True

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
        self._blocks = tuple(blocks)
        await self._keep(run)

    async def _keep(self, run: RunContext) -> None:
        """Store what was said before any model reads it: a later run must say the same."""
        content = orjson.dumps([block.model_dump() for block in self._blocks])
        digest = xxhash.xxh3_128_hexdigest(content) if self._blocks else None
        at = now_ms()

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

    async def _stored(self, digest: str) -> tuple[SystemBlock, ...]:
        blob = await self._storage.read(lambda uow: uow.blobs.get(digest))
        if blob is None or blob.media_type != MEDIA_TYPE:  # of an imported session, which comes without
            log.warning("the plugin texts of a session's start are not stored")
            return ()
        return tuple(SystemBlock.model_validate(block) for block in orjson.loads(blob.content))
