"""How many sessions may run at once, by project, by operator and in an overload; who waits goes first.

Owns: the counts and the queue of waiting sessions. Never: starting a run (the callback does).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.errors import RateLimited
from app.storage.models import Session

OVERLOAD_SECONDS = 5
"""After how long a client that an overload refused may try again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a running session counts against."""

    session_id: str
    project_id: str
    operator: str

    @classmethod
    def of(cls, row: Session) -> Claim:
        return cls(row.id, row.project_id, row.created_by)


class Capacity:
    """Limits of zero let nothing run: every session waits."""

    def __init__(self, *, per_project: int, per_operator: int) -> None:
        self._per_project = per_project
        self._per_operator = per_operator
        self._held: dict[str, Claim] = {}
        self._projects: Counter[str] = Counter()
        self._operators: Counter[str] = Counter()
        self._waiting: OrderedDict[str, tuple[Claim, Callable[[], None]]] = OrderedDict()
        self._ceiling: int | None = None

    @property
    def running(self) -> int:
        """How many sessions have a place."""
        return len(self._held)

    @property
    def ceiling(self) -> int | None:
        """How many sessions may run because of an overload; None: as many as the other limits allow."""
        return self._ceiling

    def limit_to(self, ceiling: int | None) -> None:
        """Set how many sessions may run in all. Those that run go on, also when they are more."""
        self._ceiling = ceiling
        self._serve()

    def refuse_beyond_queue(self) -> None:
        """Raise `RateLimited` when, in an overload, as many sessions wait as may run."""
        if self._ceiling is not None and self._ceiling <= len(self._waiting):
            raise RateLimited(
                f"The daemon is overloaded: {len(self._held)} sessions run and {len(self._waiting)} wait. "
                f"Retry in {OVERLOAD_SECONDS} s.",
                reason="overloaded",
                details={"retry_after_seconds": OVERLOAD_SECONDS},
            )

    def try_acquire(self, claim: Claim) -> bool:
        """Take a place; True also when the session already has one."""
        if claim.session_id in self._held:
            return True
        if not self._free(claim):
            return False
        self._hold(claim)
        return True

    def wait(self, claim: Claim, start: Callable[[], None]) -> int:
        """Queue for a place; `start` is called once it is held. Returns the place in the queue."""
        self._waiting.setdefault(claim.session_id, (claim, start))
        self._serve()
        return list(self._waiting).index(claim.session_id) + 1 if claim.session_id in self._waiting else 0

    def withdraw(self, session_id: str) -> None:
        """Leave the queue."""
        self._waiting.pop(session_id, None)

    def release(self, session_id: str) -> None:
        """Give the place back and let the next waiting session in."""
        claim = self._held.pop(session_id, None)
        if claim is not None:
            self._projects[claim.project_id] -= 1
            self._operators[claim.operator] -= 1
            self._serve()

    def force(self, claim: Claim) -> None:
        """Take a place beyond the limits: an operator's explicit wish."""
        self.withdraw(claim.session_id)
        if claim.session_id not in self._held:
            self._hold(claim)

    def _free(self, claim: Claim) -> bool:
        return (
            (self._ceiling is None or len(self._held) < self._ceiling)
            and self._projects[claim.project_id] < self._per_project
            and self._operators[claim.operator] < self._per_operator
        )

    def _hold(self, claim: Claim) -> None:
        self._held[claim.session_id] = claim
        self._projects[claim.project_id] += 1
        self._operators[claim.operator] += 1

    def _serve(self) -> None:
        for session_id, (claim, start) in list(self._waiting.items()):
            if self._free(claim):
                del self._waiting[session_id]
                self._hold(claim)
                start()
