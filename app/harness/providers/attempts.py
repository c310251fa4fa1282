"""What has gone wrong while one answer was asked for, and what is worth trying next.

Owns: the memory of failures within one call, and the error that sums them up. Never: calling.
"""

from __future__ import annotations

import time

from app.harness.providers.errors import RETRYABLE, ProviderError
from app.harness.providers.retry import RetryPolicy
from app.harness.providers.route import AttemptFailed, Candidate, Route


class Failures:
    """The failures of one answer, the last one for each candidate."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.by_candidate: dict[Candidate, ProviderError] = {}
        self._policy = policy
        self._ready_at: dict[Candidate, float] = {}
        self._first_at: float | None = None
        self._rounds = 0

    def add(self, candidate: Candidate, error: ProviderError) -> None:
        """Note that a candidate failed before its first delta."""
        now = time.monotonic()
        self.by_candidate[candidate] = error
        self._ready_at[candidate] = now + (error.retry_after or 0.0)
        self._first_at = now if self._first_at is None else self._first_at

    def next_round(self) -> tuple[list[Candidate], float | None]:
        """Return the candidates worth another try and the pause before it in seconds. When there are
        none, the list is empty and the pause None. One that asked for a longer wait sits out."""
        self._rounds += 1
        hopeful = [one for one, error in self.by_candidate.items() if error.kind in RETRYABLE]
        if not hopeful:
            return [], None
        now = time.monotonic()
        hint = max(0.0, min(self._ready_at[one] for one in hopeful) - now)
        delay = self._policy.delay(self._rounds, hint=hint, elapsed=now - (self._first_at or now))
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
) -> AttemptFailed:
    """Return the note for the candidate's latest failure."""
    error = failures.by_candidate[candidate]
    return AttemptFailed(attempt, candidate.provider, candidate.model, error, delay, fallback_to)


def combined_error(route: Route, failures: Failures) -> ProviderError:
    """Return the error of a call that nobody answered; one candidate's error stays as it is."""
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
