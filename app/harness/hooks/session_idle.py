"""`on_session_idle`: the root agent's plugins hear of a session in which nothing happens any more.

Owns: the waiting after a run, by each plugin's own debounce, and its end when a run begins. Never: keeping
a wait over a restart; the next run's end starts another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from app.errors import KagedError
from app.harness.hooks.agent_plugins import AgentPlugins, Caller, Declared
from app.ids import now_ms
from app.states import SessionState
from app.storage.models import Message
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.plugins")

MAX_TRANSCRIPT_CHARACTERS = 4 * 1024 * 1024
MAX_MESSAGE_CHARACTERS = 64 * 1024


class IdleWatch:
    """The sessions that are at rest and have plugins which want to know. One instance; close it."""

    def __init__(
        self,
        plugins: AgentPlugins,
        storage: Storage,
        root_caller: Callable[[SessionRow], Awaitable[Caller]],
    ) -> None:
        """`root_caller` gives a session's root agent as the caller of plugins."""
        self._plugins = plugins
        self._storage = storage
        self._root_caller = root_caller
        self._waits: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def on_idle(self, row: SessionRow) -> None:
        """A run has ended and nothing follows: begin to wait."""
        self.on_busy(row.id)
        if self._closed:
            return
        stirred = asyncio.Event()
        task = asyncio.create_task(self._wait(row, stirred), name=f"idle {row.id}")
        self._waits[row.id] = task, stirred
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(row.id, done))

    def on_busy(self, session_id: str) -> None:
        """A run begins, or the session is closed: nobody is notified any more. A plugin that is being called
        goes on."""
        found = self._waits.pop(session_id, None)
        if found is not None:
            found[1].set()

    async def aclose(self) -> None:
        """End all waits and calls; none begins any more."""
        self._closed = True
        self._waits.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, session_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if session_id in self._waits and self._waits[session_id][0] is task:
            del self._waits[session_id]
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.error("the hook session.idle of %s was not called", session_id, exc_info=problem)

    async def _wait(self, row: SessionRow, stirred: asyncio.Event) -> None:
        began = asyncio.get_running_loop().time()
        try:
            caller = await self._root_caller(row)
        except KagedError:
            return  # its project is gone
        listening = await self._plugins.with_hook(caller, "on_session_idle")
        for plugin in sorted(listening, key=lambda one: one.manifest.idle_debounce_sec):
            due = began + plugin.manifest.idle_debounce_sec
            try:
                async with asyncio.timeout_at(due):
                    await stirred.wait()
                return
            except TimeoutError:
                pass
            if stirred.is_set() or not await self._notify(row.id, plugin, caller):
                return

    async def _notify(self, session_id: str, plugin: Declared, caller: Caller) -> bool:
        """Call the hook of one plugin; False when the session is not at rest any more."""
        at = now_ms()

        def read(uow: UnitOfWork) -> dict[str, Any] | None:
            row = uow.sessions.get(session_id)
            if row is None or row.state != SessionState.IDLE.value:
                return None
            rows = uow.messages.history(session_id, caller.agent.path)
            return {**transcript(rows), "last_idle_at": row.idle_fired_at}

        params = await self._storage.read(read)
        if params is None:
            return False
        await self._plugins.fire(plugin, "on_session_idle", params, caller.context())
        await self._storage.write(lambda uow: uow.sessions.update(session_id, idle_fired_at=at))
        return True


def transcript(rows: list[Message]) -> dict[str, Any]:
    """Return the newest messages that fit, oldest first, as `transcript`, and how many older ones are left
    out as `omitted`. A message's text is cut when it is very long."""
    transcript: list[dict[str, Any]] = []
    left = MAX_TRANSCRIPT_CHARACTERS
    for row in reversed(rows):
        text = row.content[:MAX_MESSAGE_CHARACTERS]
        left -= len(text) + 200
        if left < 0:
            break
        transcript.append(
            {
                "id": row.id,
                "role": row.role,
                "content": text,
                "truncated": len(row.content) > len(text),
                "tool": row.details.get("toolName"),
                "created_at": row.created_at,
            }
        )
    return {"transcript": transcript[::-1], "omitted": len(rows) - len(transcript)}
