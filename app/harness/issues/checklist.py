"""The checklist of one issue while a unit of work changes it.

Owns: what each command does, and the rules of a list: one entry in progress, legal moves, unique positions.
Never: storing, or finding an entry by its text. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import Conflict
from app.harness.issues.fields import wrong
from app.harness.issues.matching import folded, is_live, is_open, one_line
from app.ids import new_id
from app.states import ISSUE_TODO_MOVES, IssueTodoState
from app.storage.models import IssueTodo
from app.storage.text import storable
from app.storage.unit_of_work import UnitOfWork

MAX_CONTENT = 2_000
MAX_NOTE = 2_000
MAX_PHASE = 100
MAX_NOTES = 50
MAX_LIVE = 200
MAX_ENTRIES = 2_000

PENDING, IN_PROGRESS = IssueTodoState.PENDING.value, IssueTodoState.IN_PROGRESS.value
COMPLETED, ABANDONED = IssueTodoState.COMPLETED.value, IssueTodoState.ABANDONED.value
AGENT = "agent:"
CRITERIA_ARE_THE_OPERATORS = "Only the operator can drop acceptance criteria."


@dataclass(frozen=True, slots=True)
class Hand:
    """The author and time (milliseconds) of a change to a checklist."""

    author: str
    at: int

    @property
    def is_agent(self) -> bool:
        return self.author.startswith(AGENT)


class Checklist:
    """The entries of one issue. Every method that changes one returns it as it is then."""

    def __init__(self, issue_id: str, rows: Iterable[IssueTodo], hand: Hand) -> None:
        self._issue_id = issue_id
        self.hand = hand
        self._rows = {row.id: row for row in rows}
        self._new: set[str] = set()
        self._values: dict[str, dict[str, Any]] = {}

    @property
    def rows(self) -> list[IssueTodo]:
        """All entries in their order, what was abandoned included."""
        return sorted(self._rows.values(), key=lambda row: (row.position, row.id))

    @property
    def changed(self) -> bool:
        return bool(self._new or self._values)

    def get(self, todo_id: str) -> IssueTodo | None:
        return self._rows.get(todo_id)

    def store(self, uow: UnitOfWork) -> None:
        """Store what is new and what has changed."""
        for todo_id, values in self._values.items():
            uow.issue_todos.update(todo_id, **values)
        uow.issue_todos.add_many(row for row in self.rows if row.id in self._new)

    # -- the whole list ---------------------------------------------------------------------

    def add(
        self,
        items: Sequence[str],
        *,
        kind: str = "step",
        phase: str | None = None,
        origins: Mapping[str, str] | None = None,
        field: str | None = None,
    ) -> list[IssueTodo]:
        """Append entries and return the new ones. What is on the list and open already is not added
        twice. `origins` maps folded texts to the subagents that proposed them. `field` is what errors
        name; `items.<number>` unless given.

        Raises `ValidationFailed` for empty or too long texts, and when the list is full."""
        known = {folded(row.content): row for row in self._rows.values() if is_open(row)}
        made = []
        for number, text in enumerate(items):
            at = field or f"items.{number}"
            content = _content(text, at)
            same = known.get(folded(content))
            if same is not None and same.kind != kind:
                raise wrong(at, f"is on the list as a {same.kind} already: word one of them differently")
            if same is None:
                row = self._made(content, kind, phase, (origins or {}).get(folded(content)))
                known[folded(content)] = row
                made.append(row)
        return made

    def replace(
        self,
        items: Sequence[str],
        *,
        kind: str = "step",
        phase: str | None = None,
        origins: Mapping[str, str] | None = None,
    ) -> list[IssueTodo]:
        """Abandon what is open and append entries; return the new ones.

        What is completed stays as it is. So does, for an agent, every criterion, its own too: an agent
        gives up none (`abandon`)."""
        for row in self.rows:
            if is_open(row) and not (self.hand.is_agent and row.kind == "criterion"):
                self._move(row, ABANDONED)
        return self.add(items, kind=kind, phase=phase, origins=origins)

    # -- one entry --------------------------------------------------------------------------

    def start(self, row: IssueTodo) -> IssueTodo:
        """Put an entry in progress; the one that was goes back to pending."""
        if row.status == IN_PROGRESS:
            return row
        self._not_signed_off(row)
        self._alone(row)
        self._room_for(row)
        for other in self.rows:
            if other.status == IN_PROGRESS:
                self._move(other, PENDING)
        return self._move(row, IN_PROGRESS)

    def complete(self, row: IssueTodo) -> IssueTodo:
        """Mark an entry as done; of a criterion that is a claim."""
        if row.status == COMPLETED:
            return row
        if row.status == ABANDONED:
            raise _illegal(row, f'"{row.content}" was abandoned: start it again before it can be done.')
        return self._move(row, COMPLETED)

    def put_back(self, row: IssueTodo) -> IssueTodo:
        """Make an entry pending again."""
        if row.status == PENDING:
            return row
        self._not_signed_off(row)
        self._alone(row)
        self._room_for(row)
        return self._move(row, PENDING)

    def abandon(self, row: IssueTodo) -> IssueTodo:
        """Give an entry up; it stays in the list's history. Raises `Conflict` for an agent's try to give
        up a criterion."""
        if row.kind == "criterion" and self.hand.is_agent:
            raise _illegal(
                row, f"{CRITERIA_ARE_THE_OPERATORS} Ask the operator, or leave it open and say why in a note."
            )
        return row if row.status == ABANDONED else self._move(row, ABANDONED)

    def note(self, row: IssueTodo, text: str) -> IssueTodo:
        """Append a note. Raises `ValidationFailed` when it is empty, too long, or one too many."""
        if not text.strip():
            raise wrong("text", "is empty: write the note")
        if len(text) > MAX_NOTE:
            raise wrong("text", f"has {len(text)} characters; at most {MAX_NOTE}: say it shorter")
        if len(row.notes) >= MAX_NOTES:
            raise wrong("text", f"the task has {MAX_NOTES} notes already: comment on the issue instead")
        note = {"author": self.hand.author, "text": storable(text).strip(), "created_at": self.hand.at}
        return self._set(row, {"notes": [*row.notes, note]})

    def reword(self, row: IssueTodo, content: str) -> IssueTodo:
        """Give an entry another text; what it was before is kept as a note."""
        text = _content(content, "content")
        if text == row.content:
            return row
        if any(folded(one.content) == folded(text) for one in self.rows if one.id != row.id and is_open(one)):
            raise wrong("content", "is on the list already")
        before = row.content
        return self._remember(self._set(row, {"content": text}), f"Reworded; it was: {before}")

    def regroup(self, row: IssueTodo, phase: str | None) -> IssueTodo:
        """Put an entry into another phase of the work, or in none."""
        return self._set(row, {"phase": _phase(phase)})

    def place(self, row: IssueTodo, position: int) -> IssueTodo:
        """Move an entry to a place in the whole list, from 0; the others make room."""
        order = [one for one in self.rows if one.id != row.id]
        order.insert(max(0, min(position, len(order))), row)
        for number, one in enumerate(order):
            if one.position != number:
                self._set(one, {"position": number})
        return self._rows[row.id]

    # -- sign-off ---------------------------------------------------------------------------

    def accept(self, row: IssueTodo) -> IssueTodo:
        """Sign a criterion off; one that nobody claimed is completed with it."""
        _must_be_criterion(row)
        if row.accepted_at is not None:
            return row
        done = self.complete(row)
        return self._set(done, {"accepted_at": self.hand.at, "accepted_by": self.hand.author})

    def reject(self, row: IssueTodo, comment: str) -> IssueTodo:
        """Make a claimed criterion pending again, with the reason as a note."""
        _must_be_criterion(row)
        if row.status != COMPLETED:
            raise _illegal(row, f'"{row.content}" is {row.status}: only a claim (completed) can be rejected.')
        if not comment.strip():
            raise wrong("reject.comment", "is empty: say what is missing")
        self._alone(row)
        return self._remember(self._move(row, PENDING), comment.strip())

    # -- inside -----------------------------------------------------------------------------

    def _made(self, content: str, kind: str, phase: str | None, origin: str | None) -> IssueTodo:
        self._room_for(None)
        row = IssueTodo(
            id=new_id("todo"),
            issue_id=self._issue_id,
            content=content,
            kind=kind,
            phase=_phase(phase),
            position=max((one.position for one in self._rows.values()), default=-1) + 1,
            origin_agent=origin,
            created_by=self.hand.author,
            created_at=self.hand.at,
            updated_at=self.hand.at,
        )
        self._rows[row.id] = row
        self._new.add(row.id)
        return row

    def _room_for(self, row: IssueTodo | None) -> None:
        """Raise `ValidationFailed` when one more entry is too many."""
        if row is not None and is_live(row):
            return
        if sum(map(is_live, self._rows.values())) >= MAX_LIVE:
            raise wrong("items", f"the list has {MAX_LIVE} entries: drop what is not needed first")
        if row is None and len(self._rows) >= MAX_ENTRIES:
            raise wrong("items", f"{MAX_ENTRIES} entries were made for this issue: go on in a new issue")

    def _alone(self, row: IssueTodo) -> None:
        """Raise `Conflict` when an entry that is to be open again has the text of one that is open: an
        agent could not distinguish them."""
        same = folded(row.content)
        if any(one.id != row.id and is_open(one) and folded(one.content) == same for one in self.rows):
            raise Conflict(
                f'"{row.content}" is on the list a second time, and that entry is open: '
                "go on with that one, or reword or drop it first.",
                reason="todo_exists",
                details={"todo_id": row.id},
            )

    def _not_signed_off(self, row: IssueTodo) -> None:
        if row.accepted_at is not None and self.hand.is_agent:
            raise _illegal(
                row, f'The operator has accepted "{row.content}": only the operator can open it again.'
            )

    def _move(self, row: IssueTodo, status: str) -> IssueTodo:
        legal = ISSUE_TODO_MOVES[IssueTodoState(row.status)]
        if IssueTodoState(status) not in legal:
            raise _illegal(row, f'"{row.content}" is {row.status} and cannot become {status}.')
        done = status == COMPLETED
        return self._set(
            row,
            {
                "status": status,
                "completed_at": self.hand.at if done else None,
                "completed_by": self.hand.author if done else None,
                "accepted_at": None,
                "accepted_by": None,
            },
        )

    def _remember(self, row: IssueTodo, text: str) -> IssueTodo:
        """Append a note that must not fail: the oldest makes room for it."""
        note = {"author": self.hand.author, "text": storable(text)[:MAX_NOTE], "created_at": self.hand.at}
        return self._set(row, {"notes": [*row.notes[-(MAX_NOTES - 1) :], note]})

    def _set(self, row: IssueTodo, values: Mapping[str, Any]) -> IssueTodo:
        current = self._rows[row.id]
        new = {name: value for name, value in values.items() if getattr(current, name) != value}
        if not new:
            return current
        new["updated_at"] = self.hand.at
        self._rows[row.id] = current.model_copy(update=new)
        if row.id not in self._new:
            self._values.setdefault(row.id, {}).update(new)
        return self._rows[row.id]


def _must_be_criterion(row: IssueTodo) -> None:
    if row.kind != "criterion":
        raise Conflict(
            f'"{row.content}" is a step: only criteria are accepted or rejected.',
            reason="not_a_criterion",
            details={"todo_id": row.id},
        )


def _content(text: str, field: str) -> str:
    content = one_line(storable(text))
    if not content:
        raise wrong(field, "is empty: say what is to be done")
    if len(content) > MAX_CONTENT:
        raise wrong(field, f"has {len(content)} characters; at most {MAX_CONTENT}: say it shorter")
    return content


def _phase(phase: str | None) -> str | None:
    name = one_line(storable(phase or ""))
    if len(name) > MAX_PHASE:
        raise wrong("phase", f"has {len(name)} characters; at most {MAX_PHASE}")
    return name or None


def _illegal(row: IssueTodo, message: str) -> Conflict:
    legal = sorted(state.value for state in ISSUE_TODO_MOVES[IssueTodoState(row.status)])
    details = {"todo_id": row.id, "state": row.status, "legal": legal}
    return Conflict(message, reason="invalid_transition", details=details)
