"""Whose idea an entry was: proposals of subagents that an agent takes up by adding the same text.

Owns: the comparison, and the decision that follows from it. Never: storing a proposal (`proposals`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.harness.issues.checklist import Hand
from app.harness.issues.matching import folded
from app.states import TodoProposalState, move
from app.storage.models import TodoProposal
from app.storage.unit_of_work import UnitOfWork


def origins_of(proposed: Iterable[TodoProposal]) -> dict[str, str]:
    """Return who proposed a text first, by the folded text."""
    origins: dict[str, str] = {}
    for one in proposed:
        origins.setdefault(folded(one.content), one.agent_path)
    return origins


def settle_proposals(
    uow: UnitOfWork, proposed: Sequence[TodoProposal], items: Iterable[str], hand: Hand
) -> None:
    """Mark those as accepted whose text is among the items that were put on the list."""
    taken = set(map(folded, items))
    for one in proposed:
        if folded(one.content) in taken:
            decide(uow, one, TodoProposalState.ACCEPTED, hand)


def decide(uow: UnitOfWork, proposal: TodoProposal, state: TodoProposalState, hand: Hand) -> TodoProposal:
    """Store what becomes of a proposal; raise `Conflict` when that is decided already."""
    decided = move(TodoProposalState(proposal.state), state)
    values = {"state": decided.value, "decided_at": hand.at, "decided_by": hand.author}
    uow.todo_proposals.update(proposal.id, **values)
    return proposal.model_copy(update=values)
