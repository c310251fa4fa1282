"""Random operations of agents and operators on issues and their checklists, in any order, through the
services and a real database: what must hold, holds after each of them, and what is refused changes nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Coroutine, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.issues.author import Author
from app.harness.issues.todos import TodoEdit
from app.states import ISSUE_MOVES, ISSUE_TODO_MOVES, IssueState, IssueTodoState
from app.storage.models import Issue, IssueTodo, IssueUpdate
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver.checklist_desk import AGENT, OPERATOR, PROJECT, ChecklistDesk, checklist_desk
from tests.driver.rounds import rounds

T = TypeVar("T")

ISSUES = st.integers(0, 2)
HANDS = st.sampled_from([AGENT, OPERATOR])
WORDS = st.sampled_from(["Read", "Write", "Test", "Write the docs", "read", "Ship it", "task-1"])
TEXTS = st.sampled_from(["One text", "Another text", "A third"])
REFUSALS = {
    "todo_not_found",
    "ambiguous_todo",
    "content_addressing_hint",
    "invalid_transition",
    "invalid_params",
}


@dataclass(frozen=True)
class Stored:
    """An issue as it is stored, with all that belongs to it."""

    issue: Issue
    todos: list[IssueTodo]
    updates: list[IssueUpdate]

    def plain(self) -> list[dict[str, Any]]:
        return [row.model_dump() for row in (self.issue, *self.todos, *self.updates)]


def all_stored(uow: UnitOfWork) -> list[Stored]:
    found = []
    for number in itertools.count(1):
        issue = uow.issues.by_number(PROJECT, number)
        if issue is None:
            return found
        found.append(Stored(issue, uow.issue_todos.of_issue(issue.id), uow.issue_updates.of_issue(issue.id)))
    raise AssertionError("there is no end of issues")


def chain(updates: Iterable[IssueUpdate], kind: str, field: str) -> list[tuple[Any, Any]]:
    """Return the old and the new value of each change of a field, in their order."""
    return [(one.details[f"old_{field}"], one.details[f"new_{field}"]) for one in updates if one.kind == kind]


def check_chain(pairs: list[tuple[Any, Any]], first: Any, last: Any) -> None:
    """Each change begins where the one before it has ended; none is missing and none says nothing."""
    ends = [first, *(new for _, new in pairs)]
    assert [old for old, _ in pairs] == ends[:-1]
    assert ends[-1] == last
    assert all(old != new for old, new in pairs)


class IssueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="kaged-issues-"))
        self.first: dict[int, tuple[str, str]] = {}
        self.before: list[Stored] = []
        self.by_agent = False
        self.desk = self.run(self._open())
        self.desks = [self.desk]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self) -> ChecklistDesk:
        storage = await Storage.open(None, self.folder)
        self.stack.push_async_callback(storage.close)
        desk = await self.stack.enter_async_context(checklist_desk(storage, self.folder))
        issue = await desk.issue()
        self.first[1] = (issue.title, issue.body)
        return desk

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- how an operation is made -------------------------------------------------------------

    def number(self, which: int) -> int:
        return which % len(self.desks) + 1

    def now(self) -> list[Stored]:
        return self.run(self.desk.storage.read(all_stored))

    def todo(self, which: int, place: int) -> IssueTodo | None:
        rows = self.now()[which % len(self.desks)].todos
        return rows[place % len(rows)] if rows else None

    def carried_out(self, work: Coroutine[Any, Any, Any], hand: Author) -> bool:
        """Carry an operation out; when it is refused nothing may have changed."""
        self.by_agent = hand.is_agent
        before = self.now()
        try:
            self.run(work)
        except (Conflict, NotFound, ValidationFailed):
            assert [one.plain() for one in self.now()] == [one.plain() for one in before]
            return False
        return True

    def agent_does(self, which: int, action: str, **params: Any) -> None:
        self.by_agent = True
        before = self.now()
        envelope = self.run(self.desks[which % len(self.desks)].call(action, **params))
        if envelope.is_error:
            assert envelope.code in REFUSALS, envelope.model_text()
            assert [one.plain() for one in self.now()] == [one.plain() for one in before]
            return
        rows = self.now()[which % len(self.desks)].todos
        assert [one["id"] for one in envelope.data["todos"]] == [row.id for row in rows]

    # -- issues -------------------------------------------------------------------------------

    @rule(title=TEXTS, body=TEXTS, hand=HANDS)
    def file(self, title: str, body: str, hand: Author) -> None:
        if len(self.desks) == 3:
            return
        issue = self.run(self.desk.issues.create(PROJECT, hand, title=title, body=body))
        assert issue.number == len(self.desks) + 1
        self.first[issue.number] = (title, body)
        self.desks.append(self.run(self.desk.open_session(issue.number, issue.number)))

    @rule(
        which=ISSUES, title=st.none() | TEXTS, body=st.none() | TEXTS, whom=st.sampled_from([None, "primary"])
    )
    def edit(self, which: int, title: str | None, body: str | None, whom: str | None) -> None:
        given: dict[str, Any] = {} if title is None else {"title": title}
        given |= {} if body is None else {"body": body}
        assigned = {"assignment": whom} if (title, body) == (None, None) else {}
        edit = self.desk.issues.edit(PROJECT, self.number(which), OPERATOR, **given, **assigned)
        self.carried_out(edit, OPERATOR)

    @rule(which=ISSUES, hand=HANDS)
    def comment(self, which: int, hand: Author) -> None:
        assert self.carried_out(self.desk.issues.comment(PROJECT, self.number(which), hand, body="x"), hand)

    @rule(which=ISSUES, other=ISSUES, kind=st.sampled_from(["blocks", "relates", "duplicates"]))
    def link(self, which: int, other: int, kind: Any) -> None:
        link = self.desk.issues.relations.link(
            PROJECT, self.number(which), OPERATOR, kind=kind, target=self.number(other)
        )
        linked = self.carried_out(link, OPERATOR)
        assert not linked or self.number(which) != self.number(other)

    @rule(
        which=ISSUES, to=st.sampled_from(IssueState), comment=st.sampled_from([None, "Because"]), hand=HANDS
    )
    def transition(self, which: int, to: IssueState, comment: str | None, hand: Author) -> None:
        stored = self.now()[which % len(self.desks)]
        legal = to in ISSUE_MOVES[IssueState(stored.issue.status)]
        legal = legal and (comment is not None or to not in (IssueState.RESOLVED, IssueState.REJECTED))
        if to is IssueState.RESOLVED and hand.is_agent:
            legal = legal and not [row for row in stored.todos if self._stands_unaccepted(row)]
        move = self.desk.issues.transition(PROJECT, self.number(which), hand, to=to.value, comment=comment)
        assert self.carried_out(move, hand) is legal

    # -- checklists ---------------------------------------------------------------------------

    @rule(
        which=ISSUES,
        action=st.sampled_from(["set", "add"]),
        items=st.lists(WORDS, max_size=3),
        kind=st.sampled_from(["step", "criterion"]),
    )
    def agent_plans(self, which: int, action: str, items: list[str], kind: str) -> None:
        self.agent_does(which, action, items=items, kind=kind)

    @rule(which=ISSUES, action=st.sampled_from(["start", "done", "drop"]), content=WORDS)
    def agent_works(self, which: int, action: str, content: str) -> None:
        self.agent_does(which, action, content=content)

    @rule(which=ISSUES, content=WORDS)
    def agent_notes(self, which: int, content: str) -> None:
        self.agent_does(which, "note", content=content, text="Remember")

    @rule(which=ISSUES, first=WORDS, second=WORDS)
    def agents_start_at_once(self, which: int, first: str, second: str) -> None:
        desk = self.desks[which % len(self.desks)]

        async def both() -> None:
            await asyncio.gather(desk.call("start", content=first), desk.call("start", content=second))

        self.by_agent = True
        self.run(both())

    @rule(
        which=ISSUES, content=WORDS, kind=st.sampled_from(["step", "criterion"]), position=st.none() | ISSUES
    )
    def operator_adds(self, which: int, content: str, kind: Any, position: int | None) -> None:
        number = self.number(which)
        add = self.desk.todos.add(PROJECT, number, content, OPERATOR, kind=kind, position=position)
        self.carried_out(add, OPERATOR)

    @rule(
        which=ISSUES,
        place=st.integers(0, 9),
        edit=st.builds(TodoEdit, status=st.sampled_from([state.value for state in IssueTodoState]))
        | st.builds(TodoEdit, content=WORDS, position=st.integers(0, 9))
        | st.builds(TodoEdit, accept=st.just(True), resolve=st.sampled_from([None, "All is well"]))
        | st.builds(TodoEdit, reject=st.just("Not yet")),
    )
    def operator_edits(self, which: int, place: int, edit: TodoEdit) -> None:
        row = self.todo(which, place)
        if row is not None:
            change = self.desk.todos.edit(PROJECT, self.number(which), row.id, edit, OPERATOR)
            done = self.carried_out(change, OPERATOR)
            assert not (done and (edit.accept or edit.reject) and row.kind == "step")

    # -- what must hold -----------------------------------------------------------------------

    @invariant()
    def everything_holds(self) -> None:
        now = self.now()
        assert [one.issue.number for one in now] == list(range(1, len(self.desks) + 1))
        for stored in now:
            self._check_issue(stored)
            self._check_checklist(stored)
        for old, new in zip(self.before, now, strict=False):
            self._check_step(old, new)
        self.before = now

    def _check_issue(self, stored: Stored) -> None:
        issue, updates = stored.issue, stored.updates
        title, body = self.first[issue.number]
        moves = chain(updates, "status_change", "status")
        check_chain(moves, "open", issue.status)
        assert all(IssueState(new) in ISSUE_MOVES[IssueState(old)] for old, new in moves)
        check_chain(chain(updates, "title_edit", "title"), title, issue.title)
        bodies = chain(updates, "body_edit", "body")
        check_chain(bodies, body, issue.body)
        check_chain(chain(updates, "assignment_change", "assignment"), None, issue.assignment)
        assert issue.original_body == (body if bodies else None)
        resolved = issue.status == "resolved"
        assert (issue.resolved_at is not None) is resolved
        assert (issue.resolved_by is not None) is resolved

    def _check_checklist(self, stored: Stored) -> None:
        rows = stored.todos
        assert sum(row.status == "in_progress" for row in rows) <= 1
        assert len({row.position for row in rows}) == len(rows)
        for row in rows:
            assert IssueTodoState(row.status)
            assert (row.completed_at is not None) is (row.status == "completed")
            if row.accepted_at is not None:
                assert (row.kind, row.status) == ("criterion", "completed")
                assert not str(row.accepted_by).startswith("agent:")

    def _check_step(self, old: Stored, new: Stored) -> None:
        after = {row.id: row for row in new.todos}
        assert after.keys() >= {row.id for row in old.todos}, "an entry is never deleted"
        for row in old.todos:
            now = after[row.id]
            if now.status != row.status:
                assert IssueTodoState(now.status) in ISSUE_TODO_MOVES[IssueTodoState(row.status)]
            assert (now.kind, now.created_by, now.created_at) == (row.kind, row.created_by, row.created_at)
            if self.by_agent:
                assert now.content == row.content
                self._check_left_alone(row, now)
        assert new.updates[: len(old.updates)] == old.updates, "history is only added to"

    @staticmethod
    def _check_left_alone(row: IssueTodo, now: IssueTodo) -> None:
        """What is the operator's of the criteria no agent gives up or opens again."""
        if row.kind != "criterion":
            return
        if row.created_by == OPERATOR.name and row.status != "abandoned":
            assert now.status != "abandoned"
        if row.accepted_at is not None:
            assert (now.status, now.accepted_at) == (row.status, row.accepted_at)

    @staticmethod
    def _stands_unaccepted(row: IssueTodo) -> bool:
        return row.kind == "criterion" and row.status != "abandoned" and row.accepted_at is None


TestIssueMachine = pytest.mark.requirement("issues.machine")(pytest.mark.timeout(300)(IssueMachine.TestCase))
IssueMachine.TestCase.settings = settings(
    max_examples=rounds(10, 25),
    stateful_step_count=40,
    deadline=None,
    # Without shrinking: each try is a database, and the steps of one failure are read easily enough.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
