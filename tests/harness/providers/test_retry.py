"""The arithmetic of back-off."""

from __future__ import annotations

import pytest

from app.harness.providers.attempts import RetryPolicy

pytestmark = pytest.mark.requirement("providers.retry")


@pytest.mark.parametrize(
    ("fraction", "rounds", "expected"), [(0.0, 1, 0.0), (0.5, 1, 0.5), (0.5, 3, 2.0), (0.999, 9, 19.98)]
)
def test_the_pause_is_a_fraction_of_a_doubling_ceiling(fraction: float, rounds: int, expected: float) -> None:
    policy = RetryPolicy(base_seconds=1, longest_seconds=20, rounds=10, fraction=lambda: fraction)
    assert policy.delay(rounds, hint=None, elapsed=0) == pytest.approx(expected)


def test_a_hint_is_never_undercut() -> None:
    assert RetryPolicy(fraction=lambda: 0.0).delay(1, hint=12.5, elapsed=0) == 12.5


@pytest.mark.parametrize(("hint", "elapsed"), [(61.0, 0.0), (10.0, 51.0), (None, 60.5)])
def test_no_try_begins_after_the_total(hint: float | None, elapsed: float) -> None:
    assert RetryPolicy(fraction=lambda: 0.0).delay(1, hint=hint, elapsed=elapsed) is None


def test_the_number_of_rounds_is_bounded() -> None:
    policy = RetryPolicy(rounds=3, fraction=lambda: 0.0)
    assert policy.delay(2, hint=None, elapsed=0) == 0.0
    assert policy.delay(3, hint=None, elapsed=0) is None
