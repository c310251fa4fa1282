"""What subagents propose for the checklist of their session's issue, and what becomes of it.

Owns: storing proposals, adding them at once where the project says so (`todo_review: auto`), the operator's
decision. Never: reading them out of an answer (`delegation.answers`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.events.issues import TodoProposed, TodoRejected
from app.events.payload import NO_ORIGIN, EventPayload, Origin
from app.harness.issues.author import ROOT_AGENT_NAME, Author
from app.harness.issues.checklist import Checklist, Hand
from app.harness.issues.commands import Done
from app.harness.issues.matching import folded, one_line
from app.harness.issues.origins import decide
from app.harness.issues.todos import TodoService, bound_issue
from app.harness.stream.event_hub import EventHub
from app.ids import new_id, now_ms
from app.states import TodoProposalState
from app.storage.models import Issue, TodoProposal
from app.storage.pages import Page
from app.storage.storage import Storage
from app.storage.text import storable
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import ProposedTodo

log = logging.getLogger("kaged.delegation")

MAX_WAITING = 500
"""So many proposals of one session may wait to be decided on; more are not kept."""


@dataclass(frozen=True, slots=True)
class Proposer:
    """The subagent whose answer proposes something, and the delegation that it answers. `at_once`: its
    proposals go on the list without a review."""

    session_id: str
    agent_path: str
    run_id: str | None
    call_id: str | None
    at_once: bool


class TodoProposals:
    """The proposals of all sessions."""

    def __init__(self, todos: TodoService, storage: Storage, hub: EventHub) -> None:
        self.todos = todos
        self._storage = storage
        self._hub = hub

    async def take(self, proposer: Proposer, items: Sequence[ProposedTodo]) -> None:
        """Keep what a subagent proposes, and put it on the list when it needs no review. Does not raise:
        a delegation is not lost because of its checklist."""
        texts = list(dict.fromkeys(one_line(storable(item.content)) for item in items))
        if not texts:
            return
        done = {folded(item.content) for item in items if item.status == "completed"}
        try:
            issue = await self._storage.read(lambda uow: bound_issue(uow, proposer.session_id))
            if proposer.at_once and issue is not None:
                waits = await self._put_on_list(issue, proposer, texts, done)
            else:
                waits = bool(await self._storage.write(lambda uow: _keep(uow, proposer, texts), durable=True))
            if waits:
                origin = Origin(proposer.run_id, proposer.agent_path, proposer.call_id)
                await self._tell(proposer.session_id, TodoProposed(**_named(issue)), origin)
        except KagedError as problem:
            log.warning("the proposal of %s is not stored: %s", proposer.agent_path, problem.message)

    async def list(
        self, session_id: str, *, state: str | None = None, limit: int, cursor: str | None
    ) -> Page[TodoProposal]:
        """Return a page of a session's proposals, the newest first."""
        return await self._storage.read(
            lambda uow: uow.todo_proposals.page(session_id, state=state, limit=limit, cursor=cursor)
        )

    async def accept(self, session_id: str, proposal_id: str, author: Author) -> TodoProposal:
        """Put a proposal on the list of the session's issue, with its origin.

        Raises `NotFound`, or `Conflict` when it is decided already or the session has no issue."""
        decided: list[TodoProposal] = []
        issue = await self._storage.read(lambda uow: bound_issue(uow, session_id))
        if issue is None:
            raise Conflict(
                "The session is bound to no issue, so there is no checklist to put it on. Bind the session "
                "to an issue first.",
                reason="no_bound_issue",
                details={"route": "PATCH /api/v1/sessions/{session_id}"},
            )

        def statements(uow: UnitOfWork, checklist: Checklist) -> Sequence[Done]:
            proposal = _required(uow, session_id, proposal_id)
            decided.append(decide(uow, proposal, TodoProposalState.ACCEPTED, checklist.hand))
            origins = {folded(proposal.content): proposal.agent_path}
            made = checklist.add([proposal.content], kind=proposal.kind, origins=origins)
            data = {"proposal_id": proposal.id, "origin_agent": proposal.agent_path, "count": len(made)}
            return [Done("added", data)]

        await self.todos.change(issue.project_id, issue.number, author, statements)
        return decided[-1]

    async def reject(self, session_id: str, proposal_id: str, author: Author) -> TodoProposal:
        """Refuse a proposal. Raises `NotFound`, or `Conflict` when it is decided already."""
        hand = Hand(author.name, now_ms())

        def statements(uow: UnitOfWork) -> tuple[TodoProposal, Issue | None]:
            proposal = _required(uow, session_id, proposal_id)
            return decide(uow, proposal, TodoProposalState.REJECTED, hand), bound_issue(uow, session_id)

        rejected, issue = await self._storage.write(statements, durable=True)
        await self._tell(session_id, TodoRejected(**_named(issue), proposal_id=proposal_id))
        return rejected

    async def _tell(self, session_id: str, event: EventPayload, origin: Origin = NO_ORIGIN) -> None:
        """Publish what is stored already; who misses it reads it with the next event."""
        try:
            await (await self._hub.stream(session_id)).record([event], origin=origin)
        except KagedError as problem:
            log.warning("what was proposed in %s is not told: %s", session_id, problem.message)

    async def _put_on_list(
        self, issue: Issue, proposer: Proposer, texts: Sequence[str], done: set[str]
    ) -> bool:
        """Put on the list what has room there; return whether something waits for a review."""
        waiting: list[TodoProposal] = []
        author = Author(
            ROOT_AGENT_NAME, proposer.session_id, run_id=proposer.run_id, agent_path=proposer.agent_path
        )

        def statements(uow: UnitOfWork, checklist: Checklist) -> Sequence[Done]:
            taken = 0
            for proposal in _keep(uow, proposer, texts):
                origins = {folded(proposal.content): proposer.agent_path}
                try:
                    made = checklist.add([proposal.content], kind=proposal.kind, origins=origins)
                except ValidationFailed:
                    waiting.append(proposal)  # the list is full, or has this text as another kind
                    continue
                decide(uow, proposal, TodoProposalState.ACCEPTED, checklist.hand)
                taken += len(made)
                for row in made:
                    if folded(row.content) in done:
                        checklist.complete(row)
            data = {"origin_agent": proposer.agent_path, "count": taken, "kind": "step"}
            return [Done("added", data)]

        await self.todos.change(issue.project_id, issue.number, author, statements)
        return bool(waiting)


def _named(issue: Issue | None) -> dict[str, Any]:
    """Return how an event names an issue."""
    return {"number": issue and issue.number, "project_id": issue and issue.project_id}


def _keep(uow: UnitOfWork, proposer: Proposer, texts: Sequence[str]) -> list[TodoProposal]:
    """Store as many proposals as may wait; return those that are new. What the same subagent has proposed
    already, and nobody has decided on yet, is not kept twice."""
    waiting = uow.todo_proposals.of_session(proposer.session_id, state=TodoProposalState.PROPOSED.value)
    known = {folded(one.content) for one in waiting if one.agent_path == proposer.agent_path}
    rows = [
        TodoProposal(
            id=new_id("tpr"),
            session_id=proposer.session_id,
            run_id=proposer.run_id,
            call_id=proposer.call_id,
            agent_path=proposer.agent_path,
            content=text,
            created_at=now_ms(),
        )
        for text in texts
        if text and folded(text) not in known
    ][: max(0, MAX_WAITING - len(waiting))]
    uow.todo_proposals.add_many(rows)
    return rows


def _required(uow: UnitOfWork, session_id: str, proposal_id: str) -> TodoProposal:
    found = uow.todo_proposals.get(proposal_id)
    if found is None or found.session_id != session_id:
        raise NotFound(f"There is no proposal {proposal_id[:64]} in this session.")
    return found
