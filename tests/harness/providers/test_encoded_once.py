"""Bytes that are remembered, also while several threads ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.harness.providers.provider import EncodedOnce


@dataclass(frozen=True)
class Meddling:
    """A source that is compared for so long that another thread's source comes in between."""

    cache: EncodedOnce[Any]

    def __eq__(self, other: object) -> bool:
        self.cache(object())
        return other is self

    __hash__ = None  # type: ignore[assignment]


def test_a_source_that_comes_while_another_is_compared_is_no_failure() -> None:
    cache: EncodedOnce[Any] = EncodedOnce(lambda source: str(source).encode())
    for number in range(3):
        cache(number)
    assert cache(Meddling(cache)).startswith(b"Meddling")
    assert cache(2) == b"2"
