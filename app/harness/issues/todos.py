"""The checklists of issues: what agents and operators do to them, and the events.

Owns: the one way to change a checklist; every change is one unit of work with its audit rows and its event.
Never: the rules of a list (`checklist`), which entry a text means (`matching`), or the issue itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.errors import Conflict, KagedError, NotFound
from app.events.payload import EventPayload
from app.harness.issues.author import Author
from app.harness.issues.changes import Changed, IssueChanges, changed_event
from app.harness.issues.checklist import Checklist, Hand
from app.harness.issues.commands import Done, as_tool_error, carry_out, done_to, no_bound_issue
from app.harness.issues.fields import wrong
from app.harness.issues.listing import listing_of, todo_event
from app.harness.issues.moves import move_issue, require_issue
from app.harness.issues.origins import origins_of, settle_proposals
from app.harness.issues.reminder import reminder
from app.ids import now_ms
from app.states import IssueState
from app.storage.models import Issue, IssueTodo
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolCallContext
from app.tools.planning.todo import TodoKind, TodoParams, TodoResult, TodoStatus

Statements = Callable[[UnitOfWork, Checklist], Sequence[Done]]


@dataclass(frozen=True, slots=True)
class TodoEdit:
    """What an operator changes of one entry; None leaves it. A `phase` of "" takes it out of its phase.

    At most one of `status`, `accept` and `reject` (the comment) is given. `resolve` is the comment with
    which the acceptance of the last criterion resolves the issue, too."""

    content: str | None = None
    phase: str | None = None
    position: int | None = None
    note: str | None = None
    status: TodoStatus | None = None
    accept: bool = False
    reject: str | None = None
    resolve: str | None = None


@dataclass(frozen=True, slots=True)
class ChecklistState:
    """An issue with its checklist, whole and in its order."""

    issue: Issue
    rows: list[IssueTodo]
    changed: str | None = None
    """The id of the entry that was changed last."""

    def entry(self, todo_id: str) -> IssueTodo:
        """Return an entry; raise `NotFound`."""
        return required(next((row for row in self.rows if row.id == todo_id), None), todo_id)


class TodoService:
    """Checklists by project and number of their issue, or by the session that is bound to it."""

    def __init__(self, changes: IssueChanges) -> None:
        self._changes = changes
        self._storage = changes.storage

    # -- agents -----------------------------------------------------------------------------

    async def carry_out(self, command: TodoParams, context: ToolCallContext) -> TodoResult:
        """Do what an agent's command says; see `app.tools.planning.todo.IssueTodos`."""
        try:
            found = await self._storage.read(lambda uow: bound_issue(uow, context.session_id))
            if found is None:
                raise no_bound_issue(context.session_id)
            if command.action == "view":
                return listing_of((await self.of_issue(found.project_id, found.number)).rows)

            def statements(uow: UnitOfWork, checklist: Checklist) -> Sequence[Done]:
                bound = bound_issue(uow, context.session_id)
                if bound is None or bound.id != found.id:
                    raise no_bound_issue(context.session_id)  # bound otherwise meanwhile
                proposed = uow.todo_proposals.of_session(context.session_id, state="proposed")
                done = carry_out(checklist, command, origins_of(proposed))
                settle_proposals(uow, proposed, command.items or (), checklist.hand)
                return [done]

            author = Author.of_call(context)
            state = await self.change(found.project_id, found.number, author, statements)
        except KagedError as problem:
            raise as_tool_error(problem) from None
        return listing_of(state.rows)

    async def reminder_for(self, session_id: str, *, has_tool: bool = True) -> str | None:
        """Return the sticky reminder of a session; None without a bound issue or an open entry."""

        def read(uow: UnitOfWork) -> tuple[int, list[IssueTodo]] | None:
            issue = bound_issue(uow, session_id)
            return None if issue is None else (issue.number, uow.issue_todos.open_of_issue(issue.id))

        found = await self._storage.read(read)
        return None if found is None else reminder(*found, has_tool=has_tool)

    # -- operators --------------------------------------------------------------------------

    async def of_issue(self, project_id: str, number: int) -> ChecklistState:
        """Return the whole checklist; raise `NotFound` (`issue_not_found`)."""

        def read(uow: UnitOfWork) -> ChecklistState:
            issue = require_issue(uow, project_id, number)
            return ChecklistState(issue, uow.issue_todos.of_issue(issue.id))

        return await self._storage.read(read)

    async def add(
        self,
        project_id: str,
        number: int,
        content: str,
        author: Author,
        *,
        kind: TodoKind = "step",
        phase: str | None = None,
        position: int | None = None,
    ) -> IssueTodo:
        """Append one entry, or put it at a position, and return it.

        Raises `Conflict` (`todo_exists`) when an open entry has the same text."""
        made: list[str] = []

        def statements(_: UnitOfWork, checklist: Checklist) -> Sequence[Done]:
            new = checklist.add([content], kind=kind, phase=phase, field="content")
            if not new:
                raise Conflict("The list has an open entry of this text already.", reason="todo_exists")
            made.append(new[0].id)
            if position is not None:
                checklist.place(new[0], position)
            return [Done("added", {**done_to("added", new[0]).data, "count": 1})]

        state = await self.change(project_id, number, author, statements)
        return state.entry(made[-1])

    async def edit(
        self, project_id: str, number: int, todo_id: str, edit: TodoEdit, author: Author
    ) -> IssueTodo:
        """Change one entry and return it as it is then.

        Raises `NotFound`, `ValidationFailed`, or `Conflict` (`invalid_transition`, `not_a_criterion`,
        `criteria_open`)."""
        _check(edit)

        def statements(_: UnitOfWork, checklist: Checklist) -> Sequence[Done]:
            done = _edited(checklist, todo_id, edit)
            left = [row for row in checklist.rows if is_unaccepted(row)]
            if edit.resolve is not None and left:
                raise _criteria_open(left)
            return done

        state = await self.change(project_id, number, author, statements, resolve=edit.resolve)
        return state.entry(todo_id)

    async def drop(self, project_id: str, number: int, todo_id: str, author: Author) -> None:
        """Abandon an entry, a criterion too; it stays in the list's history."""
        await self.edit(project_id, number, todo_id, TodoEdit(status="abandoned"), author)

    # -- the one way to change --------------------------------------------------------------

    async def change(
        self,
        project_id: str,
        number: int,
        author: Author,
        statements: Statements,
        *,
        resolve: str | None = None,
    ) -> ChecklistState:
        """Run `statements` on the checklist of an issue, store what it has changed, and publish it.

        With `resolve` the issue is resolved in the same unit, with that comment."""

        def unit(uow: UnitOfWork) -> Changed[ChecklistState]:
            issue = require_issue(uow, project_id, number)
            hand = Hand(author.name, now_ms())
            checklist = Checklist(issue.id, uow.issue_todos.of_issue(issue.id), hand)
            done = statements(uow, checklist)
            events: list[EventPayload] = []
            if checklist.changed:
                checklist.store(uow)
                events.append(todo_event(issue, checklist.rows, done[-1].change, author.name))
                for one in done:
                    self._changes.audit(uow, f"kaged.todo.{one.change}", author, issue, one.data)
            if resolve is not None:
                issue = self._resolve(uow, issue, author, resolve)
                events.append(changed_event(issue, "transitioned", author))
            changed = done[-1].data.get("todo_id") if done else None
            return Changed(ChecklistState(issue, checklist.rows, changed), events)

        return await self._changes.store(project_id, number, unit)

    def _resolve(self, uow: UnitOfWork, issue: Issue, author: Author, comment: str) -> Issue:
        moved = move_issue(uow, issue, IssueState.RESOLVED, author, comment=comment)
        self._changes.audit_move(uow, issue, moved, author)
        return moved


def bound_issue(uow: UnitOfWork, session_id: str) -> Issue | None:
    """Return the issue that a session is bound to."""
    session = uow.sessions.get(session_id)
    if session is None or session.issue_number is None:
        return None
    return uow.issues.by_number(session.project_id, session.issue_number)


def required(row: IssueTodo | None, todo_id: str) -> IssueTodo:
    """Return the entry; raise `NotFound` (`todo_not_found`) when there is none."""
    if row is None:
        raise NotFound(
            f"There is no entry {todo_id[:64]} on the checklist of this issue.", reason="todo_not_found"
        )
    return row


def is_unaccepted(row: IssueTodo) -> bool:
    """Tell whether an entry is a criterion that stands and that no operator has accepted."""
    return row.kind == "criterion" and row.status != "abandoned" and row.accepted_at is None


def _check(edit: TodoEdit) -> None:
    asked = [edit.status is not None, edit.accept, edit.reject is not None]
    if sum(asked) > 1:
        raise wrong("status", "give only one of status, accept and reject")
    if edit.resolve is not None and not edit.accept:
        raise wrong("resolve", "goes with accept: the acceptance of the last criterion resolves the issue")
    if edit == TodoEdit():
        raise wrong("body", "changes nothing: give what is to be changed")


def _edited(checklist: Checklist, todo_id: str, edit: TodoEdit) -> list[Done]:
    """Make the changes in their order; the words first, so that a note stands before a decision."""
    row = required(checklist.get(todo_id), todo_id)
    done: list[Done] = []
    if edit.content is not None or edit.phase is not None or edit.position is not None:
        if edit.content is not None:
            row = checklist.reword(row, edit.content)
        if edit.phase is not None:
            row = checklist.regroup(row, edit.phase)
        if edit.position is not None:
            row = checklist.place(row, edit.position)
        done.append(done_to("edited", row))
    if edit.note is not None:
        row = checklist.note(row, edit.note)
        done.append(Done("noted", {"todo_id": row.id}))
    if edit.status is not None:
        done.append(_moved(checklist, row, edit.status))
    if edit.accept:
        done.append(done_to("accepted", checklist.accept(row)))
    if edit.reject is not None:
        done.append(done_to("rejected", checklist.reject(row, edit.reject)))
    return done


def _moved(checklist: Checklist, row: IssueTodo, status: TodoStatus) -> Done:
    match status:
        case "pending":
            return done_to("reopened", checklist.put_back(row))
        case "in_progress":
            return done_to("started", checklist.start(row))
        case "completed":
            return done_to("completed", checklist.complete(row))
        case "abandoned":
            return done_to("dropped", checklist.abandon(row))


def _criteria_open(left: Sequence[IssueTodo]) -> Conflict:
    names = [row.content for row in left]
    return Conflict(
        f"{len(left)} criteria are not accepted yet, so the issue is not resolved: {'; '.join(names)[:500]}. "
        "Accept them first, or leave resolve out.",
        reason="criteria_open",
        details={"criteria": names},
    )
