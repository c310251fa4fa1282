"""How much of a list fits into a bound, by the JSON of its items."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from app.tools.contract.output import first_fitting

ITEMS = [{"text": "x" * (number * 7 % 23)} for number in range(40)]


def fits(items: list[dict[str, str]], most_bytes: int) -> bool:
    """Tell whether a list of items fits, without the brackets, each with a comma."""
    return sum(len(orjson.dumps(one)) + 1 for one in items) <= most_bytes


@pytest.mark.requirement("grep.cap")
@pytest.mark.parametrize("batch", [1, 7, 40, 64])
@pytest.mark.parametrize("most_bytes", [0, 12, 13, 100, 500, 897, 10_000])
def test_as_many_as_fit_and_not_one_more(most_bytes: int, batch: int) -> None:
    shown = first_fitting(ITEMS, most_bytes, orjson.dumps, batch=batch)
    assert shown == ITEMS[: len(shown)]
    assert fits(shown, most_bytes)
    assert len(shown) == len(ITEMS) or not fits(ITEMS[: len(shown) + 1], most_bytes)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_the_first_is_shown_whatever_its_size(batch: int) -> None:
    large = [{"text": "x" * 1_000}, *ITEMS]
    assert first_fitting(large, 100, orjson.dumps, batch=batch) == []
    assert first_fitting(large, 100, orjson.dumps, batch=batch, one_at_least=True) == large[:1]
    assert first_fitting([], 100, orjson.dumps, batch=batch, one_at_least=True) == []


def test_what_does_not_fit_is_not_made() -> None:
    """What an item costs may be a file that is read for it."""
    made: list[int] = []

    def items() -> Iterator[dict[str, str]]:
        for number, one in enumerate(ITEMS):
            made.append(number)
            yield one

    shown = first_fitting(items(), 100, orjson.dumps, batch=8)
    assert len(shown) < len(made) <= 16
