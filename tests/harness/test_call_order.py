"""The order of a step's calls: what collides never runs side by side, and nothing else waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.harness.loop.call_order import CallOrder
from app.tools.contract.definition import Effects

pytestmark = pytest.mark.requirement("tools.meta.effects")

paths = st.lists(st.sampled_from(["", "a", "a/b", "a/b/c", "a/d", "ab", "e"]), max_size=3).map(tuple)
effects = st.builds(Effects, reads=paths, writes=paths, exclusive=st.sampled_from([False] * 5 + [True]))


def collide(first: Effects, second: Effects) -> bool:
    if first.exclusive or second.exclusive:
        return True
    touched = (*second.reads, *second.writes)
    return meet(first.writes, touched) or meet(first.reads, second.writes)


def meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether one of some is one of the others, or lies in it or around it."""
    return any(one == other or lies_in(one, other) or lies_in(other, one) for one in some for other in others)


def lies_in(path: str, folder: str) -> bool:
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def placed(calls: list[Effects]) -> list[list[int]]:
    order: CallOrder[int] = CallOrder()
    return [order.place(call, number) for number, call in enumerate(calls)]


def all_before(behind: list[list[int]]) -> list[set[int]]:
    """Return for each call the ones that have ended when it begins."""
    found: list[set[int]] = []
    for direct in behind:
        found.append(set(direct).union(*(found[other] for other in direct)))
    return found


@given(st.lists(effects, max_size=12))
def test_a_call_begins_after_all_that_it_collides_with_and_waits_for_no_other(calls: list[Effects]) -> None:
    behind = placed(calls)
    ended = all_before(behind)
    for number, call in enumerate(calls):
        colliding = {other for other in range(number) if collide(calls[other], call)}
        assert colliding <= ended[number]
        assert set(behind[number]) <= colliding


def test_the_work_grows_with_the_number_of_calls() -> None:
    many = 2_000
    same_file = placed([Effects(writes=("a",))] * many)
    alone = placed([Effects(exclusive=True)] * many)
    readers_and_writers = placed([Effects(reads=("a",)), Effects(writes=("a",))] * (many // 2))
    for behind in (same_file, alone, readers_and_writers):
        assert sum(map(len, behind)) <= 2 * many
