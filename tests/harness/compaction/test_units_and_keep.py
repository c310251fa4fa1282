"""What belongs together, what always stays, and what a plan of any strategy must respect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.compaction.always_keep import always_kept, names_tool
from app.harness.compaction.notes import NOTE_TOKENS
from app.harness.compaction.plan import Window
from app.harness.compaction.selection import drop
from app.harness.compaction.threshold import Threshold
from app.harness.compaction.units import units_of
from app.harness.conversation.estimate import MESSAGE_OVERHEAD, estimate_text
from app.harness.conversation.history import History
from app.harness.dsl.spec import AlwaysKeep
from app.storage.models import Message
from tests.driver.conversations import check_pairs, exchange, row, traffic

pytestmark = pytest.mark.requirement("compaction.keep", "compaction.pairs")


def kept_texts(rows: list[Message], *conditions: AlwaysKeep) -> set[str]:
    units = units_of(History(rows).entries)
    content = {r.id: r.content for r in rows}
    return {content[units[index].row_ids[0]] for index in always_kept(units, conditions)}


def conversation() -> list[Message]:
    rows = [row("operator", "task", 1)]
    rows += exchange(2, "a", ("file.read", {"path": "x"}, "alpha"))
    rows += exchange(4, "b", ("shell.bash", {"command": "ls"}, "beta"), ("file.read", {}, "gamma"))
    rows += [row("operator", "second", 8, always_keep=True), row("primary", "said", 9)]
    rows += [row("operator", "third", 10), row("primary", "answer", 11, stopReason="stop")]
    return rows


@pytest.mark.parametrize(
    ("conditions", "more"),
    [
        ((), set()),
        ((AlwaysKeep(role="tool"),), {"a", "b"}),
        ((AlwaysKeep(tool="read", contains="gamma"),), {"b"}),
        ((AlwaysKeep(tool="shell.*"),), {"b"}),
        ((AlwaysKeep(contains="alpha"),), {"a"}),
        ((AlwaysKeep(contains="ls"),), {"b"}),
        ((AlwaysKeep(role="assistant", contains="said"),), {"said"}),
        ((AlwaysKeep(role="user", contains="said"),), set()),
    ],
)
def test_the_task_marked_messages_conditions_and_what_is_being_answered_stay(
    conditions: tuple[AlwaysKeep, ...], more: set[str]
) -> None:
    assert kept_texts(conversation(), *conditions) == {"task", "second", "third", "answer"} | more


def test_a_child_without_an_operator_keeps_its_task() -> None:
    rows = [row("system", "the task of a child", 1)]
    for number in range(3):
        rows += exchange(2 + 2 * number, f"n{number}", ("file.read", {}, "x"))
    assert kept_texts(rows) == {"the task of a child", "n2"}


def test_a_bare_name_stands_for_a_tool_of_any_family() -> None:
    assert names_tool("read", "file.read") and names_tool("file.*", "file.read")
    assert names_tool("skill", "skill") and not names_tool("read", "file.write")


steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 60), st.booleans(), st.booleans()), min_size=1, max_size=25
)


def grown(shape: list[tuple[int, int, bool, bool]]) -> list[Message]:
    rows: list[Message] = []
    for calls, words, marked, posted in shape:
        at = (rows[-1].position or 0) + 1 if rows else 1
        if posted or not rows:
            rows.append(row("operator", "o " * words, at))
            at += 1
        details: dict[str, Any] = {"always_keep": True} if marked else {}
        made = [("file.read", {"path": str(n)}, "r " * words) for n in range(calls)]
        rows += exchange(at, "said", *made, **details)
    return rows


@settings(deadline=None)
@given(steps, st.integers(0, 2_000))
def test_a_drop_never_splits_a_pair_never_takes_what_is_kept_and_takes_no_more_than_it_must(
    shape: list[tuple[int, int, bool, bool]], goal: int
) -> None:
    history = History(grown(shape))
    units = units_of(history.entries)
    kept = frozenset(always_kept(units))
    window = Window(units, kept, goal, lambda tokens: tokens)
    plan = drop(window)
    gone = {id(unit) for unit in plan.gone}
    assert not any(id(units[index]) in gone for index in kept)
    left = window.tokens - sum(unit.tokens for unit in plan.gone)
    candidates = window.candidates()
    assert plan.gone == candidates[: len(plan.gone)]
    if plan.gone:
        assert left + NOTE_TOKENS <= goal or len(plan.gone) == len(candidates)
        assert left + plan.gone[-1].tokens + NOTE_TOKENS > goal
        assert plan.summary is not None and estimate_text(plan.summary.text) + MESSAGE_OVERHEAD <= NOTE_TOKENS
    else:
        assert sum(unit.tokens for unit in window.oldest(NOTE_TOKENS)) <= NOTE_TOKENS
    history.supersede([entry for unit in plan.gone for entry in unit.entries], None)
    check_pairs(history.messages)


@pytest.mark.requirement("compaction.threshold")
def test_it_fires_at_the_upper_threshold_and_goes_below_the_lower() -> None:
    bounds = Threshold(window=1_000, reserve=100, upper=0.85, lower=0.60)
    assert [bounds.fires(total) for total in (849, 850, 851)] == [False, True, True]
    assert bounds.goal == 599
    units = units_of(History(traffic(40)).entries)
    window = Window(units, frozenset(always_kept(units)), bounds.goal - bounds.reserve, lambda t: t + 100)
    left = window.tokens - sum(unit.tokens for unit in drop(window).gone)
    assert window.measure(left) < 600
