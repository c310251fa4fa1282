"""Posts, compactions, rollbacks and their undoing in any order, held against a simple model.

The model remembers, for each message, the conversation at the moment when it had just been posted: that is
what going back to it must give, and what looking back at it must show, whatever has happened since.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.errors import Conflict
from app.harness.compaction import records
from app.harness.sessions.history_at import conversation_at
from app.harness.sessions.point import point_at
from app.harness.sessions.superseding import find_undoable, plan_rollback, restore, roll_back
from app.ids import new_id, now_ms
from app.storage.models import Compaction, Message
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows
from tests.driver.rounds import rounds

T = TypeVar("T")
SESSION = "ses_00001"


def visible(uow: UnitOfWork) -> list[str]:
    return [row.id for row in uow.messages.history(SESSION, "primary")]


class RollbackMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="kaged-rollback-"))
        self.storage = self.runner.run(Storage.open(None, self.folder))
        self.session = rows.session(1)
        self.write(lambda uow: (uow.projects.add(rows.project(1)), uow.sessions.add(self.session)))
        self.position = 0
        self.shown: list[str] = []
        self.when_posted: dict[str, list[str]] = {}
        self.undoable: list[tuple[str, list[str]]] = []
        self.taken_back: list[tuple[str, set[str]]] = []
        self.tables: list[dict[str, Any]] = []

    def teardown(self) -> None:
        self.runner.run(self.storage.close())
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, work: Callable[[UnitOfWork], T]) -> T:
        return self.runner.run(self.storage.write(work))

    def read(self, work: Callable[[UnitOfWork], T]) -> T:
        return self.runner.run(self.storage.read(work))

    def state_of_tables(self) -> dict[str, Any]:
        """The rows that undoing a rollback must bring back exactly."""

        def look(uow: UnitOfWork) -> dict[str, Any]:
            messages = uow.messages.through(SESSION, 10**9)
            compactions = uow.compactions.of_session(SESSION)
            return {
                "messages": [(row.id, row.superseded, row.superseded_by) for row in messages],
                "compactions": [(row.id, row.state, row.undone_by) for row in compactions],
                "checkpoints": [
                    (row.id, row.rolled_back, row.superseded_by)
                    for row in uow.checkpoints.of_session(SESSION)
                ],
            }

        return self.read(look)

    # -- what happens -----------------------------------------------------------------------

    @rule(checkpoint=st.booleans())
    def post(self, checkpoint: bool) -> None:
        self.position += 1
        row = rows.message(self.position, role="operator")
        self.write(lambda uow: uow.messages.add(row))
        if checkpoint:
            made = rows.checkpoint(self.position, message_cursor=row.id, reason="operator")
            self.write(lambda uow: uow.checkpoints.add(made))
        self.shown = [*self.shown, row.id]
        self.when_posted[row.id] = self.shown
        self.undoable.clear()
        self.tables.clear()

    @precondition(lambda self: len(self.shown) > 1)
    @rule(share=st.floats(0.1, 1.0), summarised=st.booleans())
    def compact(self, share: float, summarised: bool) -> None:
        """As a compaction does: the oldest go, and a summary may come in their place."""
        count = max(1, int((len(self.shown) - 1) * share))
        gone = self.shown[:count]
        summary = (
            Message(id=new_id("msg"), session_id=SESSION, role="system", content="s", created_at=now_ms())
            if summarised
            else None
        )
        record = Compaction(
            id=new_id("cmp"),
            session_id=SESSION,
            created_at=now_ms(),
            trigger="manual",
            strategy="drop",
            window_upper=0.8,
            window_lower=0.5,
            superseded_message_ids=gone,
            summary_message_id=None if summary is None else summary.id,
            details={"position": self.position},
        )
        self.write(lambda uow: records.apply(uow, record, summary))
        self.shown = [*([] if summary is None else [summary.id]), *self.shown[count:]]
        self.undoable.clear()
        self.tables.clear()

    @precondition(lambda self: bool(self.when_posted))
    @rule(which=st.integers(0, 10**6))
    def go_back(self, which: int) -> None:
        target = list(self.when_posted)[which % len(self.when_posted)]
        gone = next((name for name, ids in reversed(self.taken_back) if target in ids), None)
        before = self.state_of_tables()

        def work(uow: UnitOfWork) -> str:
            plan = plan_rollback(
                uow, SESSION, checkpoint_id=None, message_id=target, before=False, actor="operator"
            )
            roll_back(uow, plan, self.session)
            return plan.rollback.id

        if gone is not None:
            with pytest.raises(Conflict) as refused:
                self.write(work)
            assert refused.value.details["rollback_id"] in {name for name, _ in self.taken_back}
            return
        made = self.write(work)
        then = self.when_posted[target]
        later = {one for one in self.when_posted if one not in then and self.is_after(one, target)}
        self.undoable.append((made, self.shown))
        self.tables.append(before)
        self.taken_back.append((made, later))
        self.shown = then

    def is_after(self, one: str, target: str) -> bool:
        posted = list(self.when_posted)
        return posted.index(one) > posted.index(target)

    @precondition(lambda self: bool(self.taken_back))
    @rule(which=st.sampled_from([-1, -1, -1, 0, 1]))
    def undo(self, which: int) -> None:
        name, _ = self.taken_back[which % len(self.taken_back)]

        def work(uow: UnitOfWork) -> None:
            restore(uow, find_undoable(uow, SESSION, name))

        if not self.undoable or self.undoable[-1][0] != name:
            with pytest.raises(Conflict):
                self.write(work)
            return
        self.write(work)
        _, self.shown = self.undoable.pop()
        self.taken_back.pop()
        assert self.state_of_tables() == self.tables.pop()

    # -- what always holds ------------------------------------------------------------------

    @invariant()
    def the_model_is_shown_what_it_must(self) -> None:
        assert self.read(visible) == self.shown

    @invariant()
    def every_message_shows_the_conversation_of_its_time(self) -> None:
        def look(uow: UnitOfWork) -> dict[str, list[str]]:
            return {
                one: [row.id for row in conversation_at(uow, SESSION, point_at(uow, SESSION, one))]
                for one in list(self.when_posted)[-6:]
            }

        for one, found in self.read(look).items():
            assert found == self.when_posted[one], one


TestRollbackMachine = pytest.mark.requirement("checkpoint.rollback")(
    pytest.mark.requirement("checkpoint.undo")(pytest.mark.timeout(300)(RollbackMachine.TestCase))
)
RollbackMachine.TestCase.settings = settings(
    max_examples=rounds(12, 60),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
