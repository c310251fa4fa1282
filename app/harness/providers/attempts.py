"""What has gone wrong while one answer was asked for, and what is worth trying next.

Owns: the memory of failures within one call, the error that sums them up, and the arithmetic of back-off.
Never: calling, or sleeping.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.harness.providers.errors import RETRYABLE, ProviderError
from app.harness.providers.route import AttemptFailed, Candidate, Route


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter; all times are seconds.

    `total_seconds` bounds the time from the start of the call, or from when its answer broke off, to the
    start of the last try; `rounds` the number of times a chain is walked. `fraction` gives numbers in
    [0, 1)."""

    base_seconds: float = 0.5
    longest_seconds: float = 20.0
    total_seconds: float = 60.0
    rounds: int = 8
    fraction: Callable[[], float] = random.random

    def delay(self, failed_rounds: int, *, hint: float | None, elapsed: float) -> float | None:
        """Return how long to wait after round `failed_rounds` (1 is the first), or None to give up.

        `hint` is the provider's Retry-After: never wait less. A hint beyond what is left of the
        total means giving up now, because a try before it would fail."""
        if failed_rounds >= self.rounds:
            return None
        ceiling = min(self.longest_seconds, self.base_seconds * 2 ** (failed_rounds - 1))
        wait = max(self.fraction() * ceiling, hint or 0.0)
        return wait if elapsed + wait <= self.total_seconds else None


class Failures:
    """The failures of one answer, the last one for each candidate."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.began: Candidate | None = None
        """Who has begun an answer that broke off: nobody else is asked for the rest of the call."""
        self.by_candidate: dict[Candidate, ProviderError] = {}
        self._policy = policy
        self._ready_at: dict[Candidate, float] = {}
        self._began_at = time.monotonic()
        self._rounds = 0

    def add(self, candidate: Candidate, error: ProviderError, *, begun: bool = False) -> None:
        """Note that a candidate failed; `begun`: after its first delta."""
        now = time.monotonic()
        if begun and self.began is None:
            self.began, self._began_at = candidate, now  # what was streamed until now is no waiting
        self.by_candidate[candidate] = error
        self._ready_at[candidate] = now + (error.retry_after or 0.0)

    def next_round(self) -> tuple[list[Candidate], float | None]:
        """Return the candidates worth another try and the pause before it in seconds. When there are
        none, the list is empty and the pause None. One that asked for a longer wait sits out."""
        self._rounds += 1
        hopeful = [one for one, error in self.by_candidate.items() if error.kind in RETRYABLE]
        if self.began is not None:
            hopeful = [one for one in hopeful if one == self.began]
        if not hopeful:
            return [], None
        now = time.monotonic()
        hint = max(0.0, min(self._ready_at[one] for one in hopeful) - now)
        delay = self._policy.delay(self._rounds, hint=hint, elapsed=now - self._began_at)
        if delay is None:
            return [], None
        return [one for one in hopeful if self._ready_at[one] <= now + delay], delay


def failed(
    attempt: int,
    candidate: Candidate,
    failures: Failures,
    *,
    delay: float | None = None,
    fallback_to: str | None = None,
    begun: bool = False,
) -> AttemptFailed:
    """Return the note for the candidate's latest failure."""
    error = failures.by_candidate[candidate]
    return AttemptFailed(attempt, candidate.provider, candidate.model, error, delay, fallback_to, begun)


def combined_error(route: Route, failures: Failures) -> ProviderError:
    """Return the error of a call that nobody answered; one candidate's error stays as it is, and so does
    that of who had begun."""
    if failures.began is not None:
        return failures.by_candidate[failures.began]
    errors = list(failures.by_candidate.values())
    last = errors[-1]
    if len(errors) == 1:
        return last
    kinds = {error.kind for error in errors}
    rate_limited = kinds == {"rate_limited"}
    opening = "All providers rate-limited" if rate_limited else "All providers failed"
    words = "; ".join(f"[{candidate}] {error.message}" for candidate, error in failures.by_candidate.items())
    hints = [error.retry_after for error in errors if error.retry_after is not None]
    return ProviderError(
        last.kind,
        f"{opening} for {route.alias!r}: {words}",
        provider=last.provider,
        model=last.model,
        status=last.status,
        retry_after=min(hints) if hints else None,
    )
