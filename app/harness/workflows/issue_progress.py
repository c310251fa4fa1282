"""An issue is in progress once the work on it begins.

Owns: that move, when a session begins to run for an issue that is assigned to it. Never: any other move.
"""

from __future__ import annotations

import asyncio
import logging

from app.errors import KagedError
from app.events.union import RunStarted
from app.harness.dsl.workflow_view import KIND
from app.harness.issues.author import DAEMON
from app.harness.issues.service import IssueService
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.ids import ROOT_AGENT
from app.states import ISSUE_MOVES, IssueState
from app.storage.models import Issue
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.issues")


class IssueProgress:
    """Hears when runs of root agents begin."""

    def __init__(self, storage: Storage, hub: EventHub, issues: IssueService) -> None:
        self._storage = storage
        self._issues = issues
        self._tasks: set[asyncio.Task[None]] = set()
        hub.listen(self._on_frame, lambda session_id: None)

    async def aclose(self) -> None:
        """Wait for the moves that are under way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_frame(self, frame: Frame) -> None:
        if frame.type != RunStarted.TYPE or frame.origin.agent_path not in (None, ROOT_AGENT):
            return
        task = asyncio.create_task(self._move(frame.session_id), name="issue in progress")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _move(self, session_id: str) -> None:
        try:
            issue = await self._storage.read(lambda uow: _to_begin(uow, session_id))
            if issue is not None:
                to = IssueState.IN_PROGRESS.value
                await self._issues.transition(issue.project_id, issue.number, DAEMON, to=to)
        except KagedError as problem:  # somebody else has moved it meanwhile
            log.info("the issue of session %s stays as it is: %s", session_id, problem.message)


def _to_begin(uow: UnitOfWork, session_id: str) -> Issue | None:
    """Return the issue whose work begins with a session's run."""
    session = uow.sessions.get(session_id)
    if session is None or session.issue_number is None:
        return None
    issue = uow.issues.by_number(session.project_id, session.issue_number)
    if issue is None or IssueState.IN_PROGRESS not in ISSUE_MOVES[IssueState(issue.status)]:
        return None
    return issue if _works_on(session, issue) else None


def _works_on(session: SessionRow, issue: Issue) -> bool:
    """Tell whether a session was started for an issue, rather than to talk about it."""
    if session.kind == KIND:
        return True
    return issue.status == IssueState.ASSIGNED.value and issue.assignment in (
        "primary",
        f"session:{session.id}",
    )
