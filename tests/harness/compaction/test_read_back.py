"""However a conversation grew and was compacted: read back from its rows it is the one that was left, and
every request that was ever sent can be put together again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.compaction.always_keep import always_kept
from app.harness.compaction.plan import Plan, Summary
from app.harness.compaction.prune import ToolOutputPruner
from app.harness.compaction.records import summary_row
from app.harness.compaction.units import rows_of, units_of
from app.harness.conversation.history import History
from app.harness.conversation.message_rows import assistant_blocks, tool_result
from app.harness.conversation.older_results import leave_out_results
from app.harness.conversation.view import View, is_summary
from app.harness.dsl.spec import PruneSpec
from app.messages import ModelMessage
from app.storage.models import Compaction, Message
from tests.driver.conversations import SESSION, check_pairs, exchange, row

pytestmark = pytest.mark.requirement("compaction.readable", "compaction.pairs")

PRUNE = PruneSpec(protect_tokens=60, minimum_savings=40)

posts = st.tuples(st.just("post"), st.booleans())
steps = st.tuples(st.just("step"), st.integers(0, 3), st.integers(0, 40))
compactions = st.tuples(st.just("compact"), st.integers(0, 8), st.booleans())
others = st.sampled_from([("truncate", 80), ("prune",), ("refused",), ("load",), ("leave_out",), ("lost",)])
lives = st.lists(st.one_of(posts, steps, steps, compactions, others), max_size=30)


class Life:
    """A conversation with its rows, changed as the daemon changes both."""

    def __init__(self) -> None:
        self.history = History()
        self.rows: dict[str, Message] = {}
        self.sent: list[tuple[list[ModelMessage], str | None, bytes | None]] = []

    def store(self, *rows: Message) -> None:
        self.rows |= {one.id: one for one in rows}

    def post(self, keep: bool) -> None:
        made = row(
            "operator", "asked", self.history.take_position(), **({"always_keep": True} if keep else {})
        )
        self.store(made)
        self.history.add_user(made)

    def step(self, calls: int, words: int) -> None:
        asked = [("shell.bash", {"n": n}, "out " * words) for n in range(calls)]
        rows = exchange(self.history.take_position(calls + 1), "said", *asked)
        self.store(*rows)
        self.history.add_assistant(rows[0].id, assistant_blocks(rows[0]), complete=not calls)
        if calls:
            self.history.add_results([one.id for one in rows[1:]], tuple(map(tool_result, rows[1:])))

    def leave_out(self) -> None:
        """As for an agent that is not shown the results of earlier turns."""
        leave_out_results(self.history)

    def lost(self) -> None:
        """A call whose result was never stored."""
        (answer, _) = exchange(self.history.take_position(2), "said", ("shell.bash", {}, "out"))
        self.store(answer)
        self.load()

    def compact(self, count: int, summarized: bool) -> None:
        units = units_of(self.history.entries)
        kept = always_kept(units)
        gone = [unit for index, unit in enumerate(units) if index not in kept][:count]
        if not gone:
            return
        record = Compaction(
            id=f"cmp_{len(self.rows):026}",
            session_id=SESSION,
            created_at=1,
            trigger="operator_manual",
            strategy="drop",
            window_upper=0.85,
            window_lower=0.6,
            superseded_message_ids=rows_of(gone),
        )
        summary = summary_row(record, Plan("drop", gone, Summary("short", {}) if summarized else None))
        self.history.supersede([entry for unit in gone for entry in unit.entries], summary)
        if summary is not None:
            last = max(self.rows[one].position or 0 for one in record.superseded_message_ids)
            self.store(summary.model_copy(update={"position": last}))
        for one in record.superseded_message_ids:
            self.store(self.rows[one].model_copy(update={"superseded": True, "superseded_by": record.id}))

    def truncate(self, tokens: int) -> None:
        if self.history.entries:
            self.history.truncate(tokens)

    def prune(self) -> None:
        ToolOutputPruner(self.history, PRUNE).prune()

    def refused(self) -> None:
        mark, before = self.history.mark(), set(self.rows)
        self.step(1, 3)
        self.history.cut(mark)
        for one in self.rows.keys() - before:
            self.store(self.rows[one].model_copy(update={"superseded": True}))

    def load(self) -> None:
        whole = not any(one.superseded for one in self.rows.values())
        self.history = History(self.visible_rows(), positions=self.history.positions, whole=whole)

    def visible_rows(self) -> list[Message]:
        return [one for one in self.in_order() if not one.superseded]

    def in_order(self) -> list[Message]:
        return sorted(self.rows.values(), key=lambda one: (one.position or 0, one.id))

    def call(self) -> None:
        """Note what a model would be sent now, as the audit does."""
        view = self.history.view()
        last = self.history.last_message_id
        self.sent.append((list(self.history.visible), last, view[1] if view is not None else None))

    def read_back(self, last: str | None, noted: bytes | None) -> list[ModelMessage]:
        end = self.rows[last].position or 0 if last is not None else 0
        rows = [one for one in self.in_order() if (one.position or 0) <= end]
        if noted is None:
            return History([one for one in rows if not is_summary(one)]).visible
        view = View.decode(noted)
        history = History(view.of(rows))
        history.show_as(view)
        return history.visible


@settings(deadline=None, max_examples=300)
@given(lives)
def test_what_is_read_back_is_what_was_left_and_what_was_sent(life: list[tuple[Any, ...]]) -> None:
    it = Life()
    it.post(False)
    for name, *arguments in life:
        getattr(it, name)(*arguments)
        it.call()
        check_pairs(it.history.visible)
        again = History(it.visible_rows())
        assert again.messages == it.history.messages
        assert [entry.row_ids for entry in again.entries] == [e.row_ids for e in it.history.entries]
        assert it.history.tokens() == sum(
            entry.tokens
            for index, entry in enumerate(it.history.entries)
            if index == 0 or index >= it.history._hidden_before or entry.is_summary
        )
    for sent, last, noted in it.sent:
        assert it.read_back(last, noted) == sent
