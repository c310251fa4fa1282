"""Attempts: several sessions do the same from one baseline, are compared, and one is picked.

Owns: what operators do with them, and that each step goes to its end. Never: how any of it is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from app.errors import KagedError
from app.harness.attempts.checks import Checks
from app.harness.attempts.comparison import Comparison, compared, with_changes
from app.harness.attempts.following import Following
from app.harness.attempts.picking import DAEMON, Picked, Picking
from app.harness.attempts.record import AttemptRecord
from app.harness.attempts.starting import Started, Starting
from app.harness.attempts.wish import AttemptsWish, FirstMessage
from app.harness.changes.service import Changes
from app.harness.issues.author import Author
from app.harness.sessions.session_manager import SessionManager
from app.harness.workspaces.merging import MergeWish
from app.states import AttemptsState
from app.storage.pages import Page

log = logging.getLogger("kaged.attempts")

T = TypeVar("T")


class Attempts:
    """One per daemon. `start` takes up what is stored; `aclose` ends what runs in the background."""

    def __init__(
        self,
        record: AttemptRecord,
        starting: Starting,
        following: Following,
        checks: Checks,
        picking: Picking,
        changes: Changes,
        sessions: SessionManager,
    ) -> None:
        self._record = record
        self._starting = starting
        self._following = following
        self._checks = checks
        self._picking = picking
        self._changes = changes
        self._sessions = sessions
        self._steps: set[asyncio.Task[Any]] = set()

    async def start(self, project_id: str | None = None) -> None:
        """Finish what the end of the daemon interrupted; in one project when given. Workspaces and sessions
        have been recovered."""
        await self._picking.recover(project_id)
        await self._record.end_given_up(project_id)
        await self._following.start(project_id)
        await self._go_on(project_id)

    async def _go_on(self, project_id: str | None) -> None:
        """Let attempts go on that the end of the daemon has cut off. Runs of workflows do so themselves."""
        for session_id in await self._record.cut_off(project_id):
            try:
                await self._sessions.resume(session_id, actor=DAEMON)
            except KagedError as problem:
                log.error("the attempt %s cannot go on: %s", session_id, problem.message)

    async def aclose(self) -> None:
        """Begin nothing more, and await what operators have begun."""
        await self._following.aclose()
        await self._checks.aclose()
        await asyncio.gather(*self._steps, return_exceptions=True)

    # -- starting ---------------------------------------------------------------------------

    async def with_message(
        self, project_id: str, wish: AttemptsWish, message: FirstMessage, title: str | None, actor: str
    ) -> Started:
        """As `Starting.with_message`."""
        begun = self._starting.with_message(project_id, wish, message, title, actor)
        return await self._followed(begun)

    async def from_session(
        self, session_id: str, wish: AttemptsWish, message: FirstMessage, actor: str
    ) -> Started:
        """As `Starting.from_session`."""
        return await self._followed(self._starting.from_session(session_id, wish, message, actor))

    async def workflow(
        self,
        project_id: str,
        name: str,
        inputs: dict[str, Any],
        wish: AttemptsWish,
        author: Author,
        issue_number: int | None = None,
    ) -> Started:
        """As `Starting.workflow`."""
        begun = self._starting.workflow(project_id, name, inputs, wish, author, issue_number)
        return await self._followed(begun)

    # -- looking ----------------------------------------------------------------------------

    async def get(self, group_id: str) -> Comparison:
        """Return a group with all that is known of its attempts. Raises `NotFound`."""
        found = await compared(self._record.storage, [await self._record.group(group_id)])
        return await with_changes(self._changes, found[0])

    async def stored(self, group_id: str) -> Comparison:
        """As `get`, without a look at files."""
        return (await compared(self._record.storage, [await self._record.group(group_id)]))[0]

    async def list(self, project_id: str, limit: int, cursor: str | None) -> Page[Comparison]:
        """Return a page of a project's groups, the newest first; no file is looked at."""
        page = await self._record.page(project_id, limit, cursor)
        items = await compared(self._record.storage, page.items)
        return Page(items=items, next_cursor=page.next_cursor, total=page.total)

    # -- deciding ---------------------------------------------------------------------------

    async def pick(self, group_id: str, session_id: str, wish: MergeWish, actor: str) -> Picked:
        """As `Picking.pick`."""
        return await self._to_its_end(self._pick(group_id, session_id, wish, actor))

    async def _pick(self, group_id: str, session_id: str, wish: MergeWish, actor: str) -> Picked:
        try:
            return await self._picking.pick(group_id, session_id, wish, actor)
        finally:
            await self._follow_again(group_id)

    async def _follow_again(self, group_id: str) -> None:
        """Follow the attempts of a group that is open after all: its merge was refused, or given away."""
        try:
            group = await self._record.group(group_id)
            if group.state == AttemptsState.OPEN.value:
                self._following.follow(group, await self._record.attempts(group_id))
        except KagedError as problem:  # what became of the pick is the answer
            log.warning("the attempts %s are not followed: %s", group_id, problem.message)

    async def cancel(self, group_id: str, actor: str) -> Comparison:
        """Cancel all attempts of a group that work or wait, with their checks; what is done stays so."""
        return await self._to_its_end(self._cancel(group_id, actor))

    async def _cancel(self, group_id: str, actor: str) -> Comparison:
        await self._record.group(group_id)
        attempts = await self._record.attempts(group_id)
        stops = [self._picking.stop(one, actor) for one in attempts]
        ends = await asyncio.gather(*stops, return_exceptions=True)
        due = [one for one in (await self.stored(group_id)).items if one.state == "checking"]
        holds = [self._checks.hold(one.session.id, one.run_id) for one in due if one.run_id is not None]
        ends += await asyncio.gather(*holds, return_exceptions=True)
        for end in ends:  # each was tried: one that fails keeps no other from being stopped
            if end is not None:
                raise end
        return await self.get(group_id)

    async def discard(self, group_id: str, actor: str) -> Comparison:
        """As `Picking.discard`; return what became of the attempts."""
        await self._to_its_end(self._picking.discard(group_id, actor))
        return await self.get(group_id)

    async def stop_checks(self, project_id: str) -> None:
        """End the checks of a project."""
        for _, attempts in await self._record.in_state(AttemptsState.OPEN, project_id):
            await asyncio.gather(*(self._checks.stop(one.session_id) for one in attempts))

    # -- inside -----------------------------------------------------------------------------

    async def _followed(self, begun: Coroutine[Any, Any, Started]) -> Started:
        async def begin() -> Started:
            started = await begun
            found = started.comparison
            self._following.follow(found.group, [one.attempt for one in found.items])
            return started

        return await self._to_its_end(begin())

    async def _to_its_end(self, step: Coroutine[Any, Any, T]) -> T:
        """Do a step whole, also when the client that asked for it is gone."""
        task = asyncio.create_task(step)
        self._steps.add(task)
        task.add_done_callback(self._steps.discard)
        return await asyncio.shield(task)
