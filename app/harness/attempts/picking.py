"""Picking one attempt: it is merged, and the others are discarded; or discarding all.

Owns: the order, and its journal, which one step at a time has claimed: a pick that the end of the daemon
interrupts is finished when the merge was carried out, and otherwise taken back; a discard is finished. Never:
merging or discarding a workspace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.harness.attempts.checks import Checks
from app.harness.attempts.record import AttemptRecord, in_progress
from app.harness.issues.author import Author
from app.harness.sessions.session_manager import SessionManager
from app.harness.workflows.service import WorkflowService
from app.harness.workspaces.merging import Merged, MergeWish
from app.harness.workspaces.service import CHECK_RUNNING, SESSION_RUNNING, Workspaces
from app.states import AttemptsState, CheckState, WorkspaceState
from app.storage.models import Attempt, AttemptGroup, Workspace

log = logging.getLogger("kaged.attempts")

TRIES = 5
"""How often an attempt is stopped that somebody lets go on while it is discarded."""
DAEMON = "daemon"
_AT_WORK = frozenset({SESSION_RUNNING, CHECK_RUNNING})
_GONE = frozenset({WorkspaceState.KEPT, WorkspaceState.DISCARDED, WorkspaceState.BROKEN})


@dataclass(frozen=True, slots=True)
class Picked:
    """What a pick did, or would do: the merge, and the sessions whose workspaces are discarded."""

    group: AttemptGroup
    merged: Merged
    discarded: Sequence[str]


class Picking:
    """Picks attempts, and stops them."""

    def __init__(
        self,
        record: AttemptRecord,
        sessions: SessionManager,
        workspaces: Workspaces,
        workflows: WorkflowService,
        checks: Checks,
    ) -> None:
        self._record = record
        self._sessions = sessions
        self._workspaces = workspaces
        self._workflows = workflows
        self._checks = checks
        self._under_way: set[str] = set()

    async def pick(self, group_id: str, session_id: str, wish: MergeWish, actor: str) -> Picked:
        """Merge one attempt, then discard the others; nothing is discarded when the merge is refused. With
        `dry_run` only say what that does. One that is picked stays so. Raises `NotFound`, and `Conflict` as a
        merge does, or while another pick is under way."""
        if wish.dry_run:
            return await self._pick(group_id, session_id, wish, actor)
        with self._alone(group_id):
            return await self._pick(group_id, session_id, wish, actor)

    @contextmanager
    def _alone(self, group_id: str) -> Iterator[None]:
        """Let no other step begin in a group. Raises `Conflict` when one is under way here."""
        if group_id in self._under_way:
            raise in_progress(group_id)
        self._under_way.add(group_id)
        try:
            yield
        finally:
            self._under_way.discard(group_id)

    async def _pick(self, group_id: str, session_id: str, wish: MergeWish, actor: str) -> Picked:
        group = await self._record.group(group_id)
        attempts = await self._record.attempts(group_id)
        if session_id not in {one.session_id for one in attempts}:
            raise NotFound(f"{session_id} is not one of the attempts {group_id}.", reason="not_an_attempt")
        if group.state == AttemptsState.PICKING.value:
            if wish.dry_run:  # it writes nothing
                raise in_progress(group_id)
            group = await self._taken_up(group, actor)
        if group.state == AttemptsState.PICKED.value:
            return self._picked_before(group, session_id, wish)
        if group.state == AttemptsState.DISCARDED.value:
            raise Conflict(
                f"The attempts {group_id} are discarded. Restore the workspace of {session_id} (undo the "
                "discard) and merge that.",
                reason="attempts_discarded",
            )
        row = await self._workspaces.of_session(session_id)
        others = await self._to_discard(attempts, session_id)
        if wish.dry_run:
            return Picked(group, await self._workspaces.merge(row, wish, actor), others)
        journal = {"session_id": session_id, "merged_at": _merged_at(row), "by": actor}
        await self._record.picking(group_id, journal)
        try:
            await self._checks.stop(session_id, CheckState.NONE)
            merged = await self._workspaces.merge(row, wish, actor)
        except BaseException as problem:
            refused = isinstance(problem, (Conflict, ValidationFailed))
            await asyncio.shield(self._settle(group_id, actor, refused=refused))
            raise
        if merged.given:  # the conflicts are the agent's now, and nothing is picked yet
            return Picked(await self._back(group_id), merged, ())
        return Picked(await self._finish(group_id, session_id, actor), merged, others)

    def _picked_before(self, group: AttemptGroup, session_id: str, wish: MergeWish) -> Picked:
        if group.picked_session_id != session_id:
            raise Conflict(
                f"{group.picked_session_id} is picked already. To have {session_id} as well, restore its "
                "workspace (undo the discard) and merge that.",
                reason="already_picked",
                details={"picked_session_id": group.picked_session_id},
            )
        return Picked(group, Merged(wish.into), ())

    async def discard(self, group_id: str, actor: str) -> None:
        """Stop all attempts of a group, and discard their workspaces: none is picked any more. Raises
        `Conflict` when one is picked, or while a pick is under way."""
        with self._alone(group_id):
            group = await self._record.group(group_id)
            if group.state == AttemptsState.PICKING.value:
                group = await self._taken_up(group, actor)
            if group.state == AttemptsState.PICKED.value:
                raise Conflict(
                    f"{group.picked_session_id} is picked, and the others are discarded already.",
                    reason="already_picked",
                    details={"picked_session_id": group.picked_session_id},
                )
            if group.state == AttemptsState.OPEN.value:
                group = await self._record.discarding(group_id, actor)
            if group.journal is not None:
                await self._finish_discard(group_id, actor)

    async def recover(self, project_id: str | None = None) -> None:
        """Finish or take back what the end of the daemon interrupted. The merges of workspaces are recovered
        before."""
        for group in await self._record.unfinished(project_id):
            try:
                await self._go_on(group)
            except KagedError as problem:
                log.warning("what %s was in could not be finished: %s", group.id, problem.message)

    async def _go_on(self, group: AttemptGroup) -> None:
        actor = str((group.journal or {}).get("by", DAEMON))
        with self._alone(group.id):
            if group.state == AttemptsState.PICKING.value:
                await self._taken_up(group, actor)
            else:
                await self._finish_discard(group.id, actor)

    async def _taken_up(self, group: AttemptGroup, actor: str) -> AttemptGroup:
        """Claim a pick that was cut off, and finish it or take it back. Raises `Conflict` when somebody else
        has claimed it."""
        await self._record.claim(group)
        await self._settle(group.id, actor)
        return await self._record.group(group.id)

    async def _settle(self, group_id: str, actor: str, *, refused: bool = False) -> None:
        """Finish a pick whose merge was carried out, and take any other back. One whose merge is still under
        way stays as it is. A merge that was `refused` was not this pick's, whatever was merged meanwhile."""
        group = await self._record.group(group_id)
        journal = group.journal or {}
        if group.state != AttemptsState.PICKING.value:
            return
        row = await self._workspaces.find(str(journal.get("session_id")))
        if row is not None and row.state == WorkspaceState.MERGING.value:
            return
        if row is not None and not refused and _merged_at(row) != journal.get("merged_at"):
            await self._finish(group_id, str(journal["session_id"]), actor)
        else:
            await self._back(group_id)

    async def _back(self, group_id: str) -> AttemptGroup:
        return await self._record.move(group_id, AttemptsState.OPEN, {"journal": None})

    async def _finish(self, group_id: str, session_id: str, actor: str) -> AttemptGroup:
        # When this raises, the group stays `picking`: the next pick, or start, tries again.
        await self._discard_all(group_id, actor, but=session_id)
        return await self._record.picked(group_id, session_id, actor)

    async def _finish_discard(self, group_id: str, actor: str) -> None:
        await self._discard_all(group_id, actor)
        await self._record.finished(group_id)

    async def _discard_all(self, group_id: str, actor: str, *, but: str | None = None) -> None:
        """Discard the attempts of a group, each if possible; raise what the first failed with."""
        failures: list[KagedError] = []
        for attempt in await self._record.attempts(group_id):
            if attempt.session_id != but:
                try:
                    await self._discard(attempt, actor)
                except KagedError as problem:  # it keeps no other from being discarded
                    log.warning("%s could not be discarded: %s", attempt.session_id, problem.message)
                    failures.append(problem)
        if failures:
            raise failures[0]

    # -- the others -------------------------------------------------------------------------

    async def stop(self, attempt: Attempt, actor: str) -> None:
        """Cancel what an attempt does or waits for; nothing happens when it is at rest."""
        if attempt.workflow_run_id is not None:
            with suppress(KagedError):  # it has ended
                await self._workflows.cancel(attempt.workflow_run_id, Author.of_operator(actor))
        with suppress(Conflict, NotFound):  # it is at rest, or deleted
            await self._sessions.cancel(attempt.session_id, actor)
        await self._checks.stop(attempt.session_id)

    async def _to_discard(self, attempts: Sequence[Attempt], session_id: str) -> list[str]:
        found = []
        for attempt in attempts:
            row = await self._workspaces.find(attempt.session_id)
            if attempt.session_id != session_id and row is not None and row.state not in _GONE:
                found.append(attempt.session_id)
        return found

    async def _discard(self, attempt: Attempt, actor: str) -> None:
        """Stop an attempt and discard its workspace, unless that is kept or gone already."""
        for left in reversed(range(TRIES)):
            await self.stop(attempt, actor)
            row = await self._workspaces.find(attempt.session_id)
            if row is None or row.state in _GONE:
                return
            try:
                await self._workspaces.discard(row)
                return
            except Conflict as problem:
                if problem.details.get("reason") not in _AT_WORK or not left:
                    raise


def _merged_at(row: Workspace) -> int | None:
    found = (row.merged or {}).get("at")
    return None if found is None else int(found)
