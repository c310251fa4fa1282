"""A request with an idempotency key: its answer is stored in the unit of work that has its effect.

Owns: the row of the key until that unit has stored it, and which unit that is. Never: what an answer
looks like (the route says that with `answer_with`), or what a repeat is told (`api.idempotency`).

A route says of which kind the result of its effect is. The first unit that is marked with `effect` and
has such a result stores the key as well, so that without the row nothing has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from pydantic import BaseModel

from app.errors import Conflict
from app.storage.models import IdempotencyKey
from app.storage.unit_of_work import UnitOfWork

T = TypeVar("T")


class KeyedEffect:
    """The effect of one request; `stored` is the row once a unit has stored it."""

    def __init__(self, row: IdempotencyKey) -> None:
        self.stored: IdempotencyKey | None = None
        self.over = False
        self._row = row
        self._kind: type = type(self)  # no unit has such a result
        self._answer: Callable[[Any], tuple[int, BaseModel]] | None = None

    def answer_with(self, kind: type[T], answer: Callable[[T], tuple[int, BaseModel]]) -> None:
        """Set what the effect's result is, and how the answer is made of it."""
        self._kind, self._answer = kind, answer

    def store(self, uow: UnitOfWork, result: object) -> None:
        """Store the key with the answer, when this is the result of the effect.

        Raises `Conflict` when another request with the key has had its effect meanwhile."""
        if self._answer is None or not isinstance(result, self._kind):
            return
        status, body = self._answer(result)
        response = body.model_dump_json(by_alias=True).encode()
        row = self._row.model_copy(update={"status": status, "response": response})
        if uow.access.claim_key(row.model_copy()):
            self.stored = row
        elif self.stored is None:
            raise Conflict("Another request with this Idempotency-Key came first.", reason="in_progress")


_PRESENT: ContextVar[KeyedEffect | None] = ContextVar("keyed_effect", default=None)


@contextmanager
def keyed(row: IdempotencyKey) -> Iterator[KeyedEffect]:
    """Let what runs in the block, and the tasks that it starts, store their effect with the key of `row`.

    Tasks that go on after the block store nothing with it."""
    present = KeyedEffect(row)
    token = _PRESENT.set(present)
    try:
        yield present
    finally:
        _PRESENT.reset(token)
        present.over = True


def answer_with(kind: type[T], answer: Callable[[T], tuple[int, BaseModel]]) -> None:
    """Say how the present request is answered: by the status and body that `answer` makes of the result of
    its effect, which is of `kind`. `answer` is called on the writer's thread and must be pure."""
    present = _PRESENT.get()
    if present is not None:
        present.answer_with(kind, answer)


def effect(
    statements: Callable[[UnitOfWork], T], result: Callable[[T], object] = lambda done: done
) -> Callable[[UnitOfWork], T]:
    """Mark a unit of work as what a request may have asked for: a key that is present is stored with it.

    `result` makes what the route answers from of the return value of `statements`. Call it at the
    submission."""
    present = _PRESENT.get()
    if present is None or present.over:
        return statements

    def unit(uow: UnitOfWork) -> T:
        done = statements(uow)
        present.store(uow, result(done))
        return done

    return unit
