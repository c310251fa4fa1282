"""The two speeds of the tests: what is slow is named once, and exists."""

from __future__ import annotations

from tests.architecture.source_tree import ROOT
from tests.speeds import NIGHTLY, REPEATED, SLOW, speed


def test_every_name_of_a_slow_test_is_that_of_a_test() -> None:
    for name in (*SLOW, *NIGHTLY, *REPEATED):
        place, _, test = name.partition("::")
        assert (ROOT / place).exists(), name
        if test:
            assert f"def {test.partition('[')[0]}(" in (ROOT / place).read_text(), name


def test_a_name_stands_for_a_folder_a_file_or_a_test_and_not_for_longer_words() -> None:
    assert speed(SLOW[0]) == speed(f"{SLOW[0]}::test_one") == "slow"
    assert speed(f"{SLOW[0]}x") is None
    assert speed("tests/architecture/test_speeds.py::test_one") is None
