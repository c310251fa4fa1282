"""Names of files as the engine without ripgrep compares them."""

from __future__ import annotations

import pytest

from app.tools.search.python_engine import _name_test


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*", "x", True), ("*.py", "a.py", True), ("*.py", ".py", True), ("*.py", "a.pyi", False),
        ("a*b*c", "a1b2c", True), ("a*b*c", "abcbc", True), ("a*b*c", "abc1", False), ("a*a", "a", False),
        ("*b*b", "bb", True), ("*ab*ab*", "xabyab", True), ("a?c", "abc", True), ("a?c", "ac", False),
        (r"a\*c", "a*c", True), (r"a\*c", "abc", False), ("**", "x\ny", True),
        ("", "", True), ("", "x", False),
    ],
)  # fmt: skip
def test_a_name_fits(pattern: str, name: str, fits: bool) -> None:
    assert _name_test([pattern])(name) is fits


def test_no_name_takes_long() -> None:
    assert not _name_test(["*a" * 20 + "b"])("a" * 250)
