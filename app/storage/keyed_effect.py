"""Idempotency keys: the answer of a request is stored in the unit of work that has its effect.

Owns: the row of the key until a unit stores it. Never: answers (`answer_with` of a route) or repeats
(`api.idempotency`).

A route names the type of its effect's result. The first unit marked with `effect` that returns such a result
also stores the key: without the row nothing has happened.
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
        self.ended = False
        self._row = row
        self._kind: type = type(self)  # no unit has such a result
        self._answer: Callable[[Any], tuple[int, BaseModel]] | None = None

    def answer_with(self, kind: type[T], answer: Callable[[T], tuple[int, BaseModel]]) -> None:
        """Set the type of the effect's result, and how to make the answer."""
        self._kind, self._answer = kind, answer

    def store(self, uow: UnitOfWork, result: object) -> None:
        """Store the key with the answer if this is the result of the effect. Raises `Conflict` when another
        request with the key came first."""
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
    """Store the effect of the block, and of tasks started in it, with the key of `row`, until the block
    ends."""
    present = KeyedEffect(row)
    token = _PRESENT.set(present)
    try:
        yield present
    finally:
        _PRESENT.reset(token)
        present.ended = True


def answer_with(kind: type[T], answer: Callable[[T], tuple[int, BaseModel]]) -> None:
    """Answer the present request with the status and body that `answer` makes of its effect's result, an
    instance of `kind`. `answer` runs on the writer's thread and must be pure."""
    present = _PRESENT.get()
    if present is not None:
        present.answer_with(kind, answer)


def effect(
    statements: Callable[[UnitOfWork], T], result: Callable[[T], object] = lambda done: done
) -> Callable[[UnitOfWork], T]:
    """Return a unit of work that also stores the key of the present request. `result` maps its return value
    to what the route answers. Call it at the submission."""
    present = _PRESENT.get()
    if present is None or present.ended:
        return statements

    def unit(uow: UnitOfWork) -> T:
        done = statements(uow)
        present.store(uow, result(done))
        return done

    return unit
