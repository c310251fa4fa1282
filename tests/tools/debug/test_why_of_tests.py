"""why, for tests: it is the runner that tells what has failed, however much is thrown and caught before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.debug_desk import DebugDesk, debug_desk

MANY = (
    "import logging\nfrom concurrent.futures import Future\n\nlogging.disable(logging.CRITICAL)\n\n\n"
    "def refuse(done):\n    raise KeyError(done.result())\n\n\n"
    "def caught(count):\n    for number in range(count):\n        future = Future()\n"
    "        future.add_done_callback(refuse)\n        future.set_result(number)\n"
)
FAILS = "import many\n\n\ndef total():\n    many.caught({count})\n    found = 6\n    assert found == 3\n"
CASES: dict[str, tuple[dict[str, str], str, str, str, int]] = {
    "pytest": (
        {"tests/checks.py": FAILS.format(count=3_000) + "\n\ndef test_total():\n    total()\n"},
        *("tests/checks.py::test_total", "assert 6 == 3", "tests/checks.py", 7),
    ),
    "unittest": (
        {
            "checks.py": "import unittest\n\nimport many\n\n\nclass Case(unittest.TestCase):\n"
            "    def test_total(self):\n        many.caught(3_000)\n        self.assertEqual(6, 3)\n"
        },
        *("checks.Case.test_total", "6 != 3", "checks.py", 9),
    ),
    "subtest": (
        {
            "checks.py": "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_all(self):\n"
            "        for one in (3, 6):\n            with self.subTest(one=one):\n"
            "                self.assertEqual(one, 3)\n"
        },
        *("checks.Case.test_all", "6 != 3", "checks.py", 8),
    ),
    "setup-of-class": (
        {
            "checks.py": "import unittest\n\n\nclass Case(unittest.TestCase):\n    @classmethod\n"
            "    def setUpClass(cls):\n        cls.shop = {}['shop']\n\n"
            "    def test_all(self):\n        pass\n"
        },
        *("checks.Case.test_all", "'shop'", "checks.py", 7),
    ),
    "unittest-import": (
        {"checks.py": "import unittest\n\nimport nothing_of_this_name\n"},
        *("checks.Case.test_all", "No module named 'nothing_of_this_name'", "checks.py", 3),
    ),
    "pytest-import": (
        {"checks.py": "import nothing_of_this_name\n"},
        *("checks.py::test_all", "No module named 'nothing_of_this_name'", "checks.py", 1),
    ),
    "conftest": (
        {"conftest.py": "limit = int('none')\n", "checks.py": "def test_all():\n    pass\n"},
        *("checks.py::test_all", "invalid literal for int() with base 10: 'none'", "conftest.py", 1),
    ),
    "fixture": (
        {
            "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef shop():\n    yield {}\n"
            "    assert not 6\n",
            "checks.py": "def test_all(shop):\n    pass\n",
        },
        *("checks.py::test_all", "assert not 6", "conftest.py", 7),
    ),
    "workers": (
        {
            "pytest.ini": "[pytest]\naddopts = -n 2\n",
            "checks.py": "def test_all():\n    assert 6 == 3\n",
        },
        *("checks.py::test_all", "assert 6 == 3", "checks.py", 2),
    ),
}
PASSES = (
    "import pytest\n\n\n@pytest.mark.xfail\ndef test_expected():\n    assert 6 == 3\n\n\n"
    "def test_skipped():\n    pytest.skip('not here')\n\n\n"
    "def test_raises():\n    with pytest.raises(ValueError):\n        int('x')\n"
)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path) as opened:
        opened.put("many.py", MANY)
        yield opened


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize(("files", "test", "message", "path", "line"), CASES.values(), ids=CASES)
async def test_it_is_what_the_runner_reports(
    desk: DebugDesk, files: dict[str, str], test: str, message: str, path: str, line: int
) -> None:
    for name, text in files.items():
        desk.put(name, text)
    runner: dict[str, Any] = {} if "::" not in test else {"runner": "pytest"}
    found = await desk.debug("why", test=test, timeout=120_000, **runner)
    assert found["outcome"] == "failed", found
    assert found["exception"]["message"].startswith(message), found
    frame = found["project_frames"][0]
    assert (frame["path"], frame["line"]) == (f"./{path}", line) and frame["locals"] is not None


@pytest.mark.requirement("debugger.why")
async def test_expected_failures_and_skips_are_none(desk: DebugDesk) -> None:
    desk.put("checks.py", PASSES)
    for name in ("", "::test_expected", "::test_skipped"):
        found = await desk.debug("why", test=f"checks.py{name}", timeout=120_000)
        assert (found["outcome"], found["exit_code"]) == ("passed", 0) and "exception" not in found, found


@pytest.mark.requirement("debugger.why")
async def test_of_many_failing_tests_one_is_told(desk: DebugDesk) -> None:
    cases = "".join(f"\n\ndef test_{number}():\n    assert {number} < 0\n" for number in range(60))
    desk.put("checks.py", cases)
    found = await desk.debug("why", test="checks.py", timeout=120_000)
    assert found["outcome"] == "failed" and found["exception"]["message"].startswith("assert ")


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize(
    ("end", "message"), [("{}['shop']\n", "'shop'"), ("sys.exit(3)\n", None)], ids=["uncaught", "exit"]
)
async def test_a_program_that_throws_hundreds_of_exceptions_is_run_to_its_end(
    desk: DebugDesk, end: str, message: str | None
) -> None:
    desk.put("app.py", f"import sys\n\nimport many\n\nmany.caught(400)\n{end}")
    found = await desk.debug("why", command="python app.py", timeout=120_000)
    assert found["outcome"] == "failed" and found["exit_code"] == (1 if message else 3)
    if message:
        assert found["exception"]["message"] == message and found["project_frames"][0]["line"] == 6
    else:
        assert "exception" not in found and "200" in found["note"]


@pytest.mark.requirement("debugger.why")
async def test_an_exception_among_the_first_is_answered_with_a_note(desk: DebugDesk) -> None:
    desk.put("app.py", "import sys\n\nimport many\n\nmany.caught(400)\nprint('0')\nsys.exit(3)\n")
    found = await desk.debug("why", command="python app.py", timeout=120_000)
    assert (found["exit_code"], found["exception"]) == (3, {"type": "KeyError", "message": "0"}), found
    assert "one of the first 200" in found["note"]
