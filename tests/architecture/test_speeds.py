"""The two speeds of the tests: what is slow is named once, and exists."""

from __future__ import annotations

from tests.architecture.source_tree import ROOT
from tests.speeds import (
    CASES_BY_DAY,
    COLD_STARTS,
    NIGHTLY,
    REPEATED,
    SLOW,
    absent_cases,
    speed,
    without_tests,
)

BY_DAY = [f"{place}::{name}" for place, names in CASES_BY_DAY.items() for name in names]


def test_every_name_of_a_slow_test_is_that_of_a_test() -> None:
    for name in (*SLOW, *NIGHTLY, *REPEATED, *COLD_STARTS, *BY_DAY):
        place, _, test = name.partition("::")
        assert (ROOT / place).exists(), name
        if test:
            assert f"def {test.partition('[')[0]}(" in (ROOT / place).read_text(), name


def test_a_name_stands_for_a_folder_a_file_or_a_test_and_not_for_longer_words() -> None:
    assert speed(SLOW[0]) == speed(f"{SLOW[0]}::test_one") == "slow"
    assert speed(f"{SLOW[0]}x") is None
    assert speed("tests/architecture/test_speeds.py::test_one") is None


def test_a_case_by_day_that_is_not_there_is_named() -> None:
    """Else a case that got another name would take all cases of its test into the night."""
    place, names = next(iter(CASES_BY_DAY.items()))
    name, cases = next(iter(names.items()))
    test = f"{place}::{name}"
    whole = [*(f"{test}[{case}]" for case in cases), f"{test}[another]"]
    assert absent_cases(whole) == absent_cases(["tests/a.py::test_a", "tests/a.py::test_a[b]"]) == []
    assert absent_cases(whole[1:]) == whole[:1]


def test_the_other_cases_of_such_a_test_run_at_night() -> None:
    place, names = next(iter(CASES_BY_DAY.items()))
    name, cases = next(iter(names.items()))
    assert speed(f"{place}::{name}[{cases[0]}]") == speed(f"{place}::{name}") == "slow"
    assert speed(f"{place}::{name}[another]") == "nightly"


def test_a_program_that_has_no_test_by_day_is_named() -> None:
    programs = {("tests/a/", "tests/c.py"): ("gdb", "lldb-dap", "sql")}
    tests = ["tests/a/test_one.py::test_it[caged-lldb-dap]", "tests/b/test_two.py::test_it[gdb]"]
    lacking = [f"{name} (tests/a/, tests/c.py)" for name in ("gdb", "sql")]
    assert without_tests(tests, programs) == lacking
    assert without_tests([*tests, "tests/a/test_sql.py::test_it", "tests/c.py::test_a[gdb]"], programs) == []
    assert (
        without_tests([*tests, "tests/a/test_mysql.py::test_it", "tests/c.py::t[gdbx]"], programs) == lacking
    )
