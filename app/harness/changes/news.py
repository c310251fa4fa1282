"""Events of changed files, for sessions that somebody follows.

Owns: when to compare again, and what of it is news. Never: comparing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from app.errors import KagedError
from app.events.changes import ChangesUpdated
from app.harness.changes.present import PresentFiles
from app.harness.changes.service import ChangeList, Changes
from app.harness.run.task_ends import note_failure
from app.harness.stream.event_hub import EventHub
from app.storage.models import Session as SessionRow
from app.workspace.any_names import address_of

log = logging.getLogger("kaged.changes")

SHORTEST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
COST = 4.0
"""Comparing takes at most a fifth of the time, for all sessions together."""
BLIND_SECONDS = 5.0
"""How often files are compared whose tree is not watched."""
MOST_PATHS = 100


@dataclass(slots=True)
class _Followed:
    task: asyncio.Task[None]
    followers: int = 0


class ChangeNews:
    """One task for each followed session; it ends with its last follower."""

    def __init__(self, changes: Changes, hub: EventHub) -> None:
        self._changes, self._hub = changes, hub
        self._followed: dict[str, _Followed] = {}
        self._comparing = asyncio.Lock()

    @asynccontextmanager
    async def followed(self, session_id: str) -> AsyncIterator[None]:
        """Publish what changes in a session as long as the block lasts; nothing for one of another daemon."""
        one = self._followed.get(session_id)
        if one is None:
            task = asyncio.create_task(self._follow(session_id), name=f"changes of {session_id}")
            task.add_done_callback(note_failure)
            self._followed[session_id] = one = _Followed(task)
        one.followers += 1
        try:
            yield
        finally:
            one.followers -= 1
            if one.followers == 0:
                del self._followed[session_id]
                one.task.cancel()
                await asyncio.gather(one.task, return_exceptions=True)

    async def aclose(self) -> None:
        """End all tasks, also those that are followed still."""
        tasks = [one.task for one in self._followed.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, session_id: str) -> None:
        with suppress(KagedError):  # another daemon has the files, or the session is gone
            row = await self._changes.session(session_id)
            await self._publish_forever(row, self._changes.present(row))

    async def _publish_forever(self, row: SessionRow, present: PresentFiles) -> None:
        again = asyncio.Event()
        leave = present.listen(again.set)
        try:
            known: dict[str, str] = {}  # the first event has what was changed already
            while True:
                known = await self._publish(row, known)
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if present.is_watched else BLIND_SECONDS):
                        await again.wait()
                again.clear()
        finally:
            leave()

    async def _publish(self, row: SessionRow, known: dict[str, str]) -> dict[str, str]:
        """Publish what is new; return what is known now. Takes at least as long as two events are apart."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(SHORTEST_SECONDS)  # what is written together is one piece of news
        with suppress(KagedError):
            await self._changes.settled(row.id)
        async with self._comparing:
            begun = loop.time()
            found = await self._list(row)
            states = known if found is None else await asyncio.to_thread(_states_of, found)
            await self._emit(row, known, states, found)
            await asyncio.sleep(min(COST * (loop.time() - begun), LONGEST_SECONDS))
        return states

    async def _emit(
        self, row: SessionRow, known: dict[str, str], states: dict[str, str], found: ChangeList | None
    ) -> None:
        event = None if found is None else await asyncio.to_thread(_news, known, states, found)
        if event is not None:
            (await self._hub.stream(row.id)).emit(event)

    async def _list(self, row: SessionRow) -> ChangeList | None:
        try:
            return await self._changes.list(row, "start")
        except KagedError as problem:
            log.info("the changes of session %s are not known: %s", row.id, problem.message)
            return None


def _news(known: dict[str, str], states: dict[str, str], found: ChangeList) -> ChangesUpdated | None:
    """Return what is published of a list; None where it says nothing new."""
    if states == known:
        return None
    both = {*states.items()} ^ {*known.items()}
    return ChangesUpdated(
        paths=tuple(sorted({path for path, _ in both})[:MOST_PATHS]),
        total=len(found.items),
        additions=found.additions,
        deletions=found.deletions,
    )


def _states_of(found: ChangeList) -> dict[str, str]:
    return {address_of(one.change.path): one.change.state for one in found.items}
