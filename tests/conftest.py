"""What holds for every test: one that needs what the machine has not is skipped, and told of at the end; a
skipped test is a failed test where everything must run (CI)."""

from __future__ import annotations

import gc
import math
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.driver import machine
from tests.driver.compiled_statements import share_compiled_statements
from tests.driver.debug_adapters import ADAPTERS
from tests.driver.language_servers import SERVERS
from tests.driver.rounds import NIGHT
from tests.driver.warm_start import WARM
from tests.speeds import ALL, COLD_STARTS, FAST, REPEATED, SLOW, absent_cases, begins, speed, without_tests

pytest_plugins = ["tests.driver.storage_fixtures"]

settings.register_profile(
    "kaged", deadline=None, derandomize=not NIGHT, suppress_health_check=[HealthCheck.too_slow]
)
"""By day the examples are always the same ones, by night others. On a busy machine one example takes longer
than the 200 ms of hypothesis, whatever it does, and making some takes longer than hypothesis thinks sound."""
settings.load_profile("kaged")
if not NIGHT:
    # It mixes in constants of the modules that are loaded, which depend on the tests before.
    providers._get_local_constants = Constants

share_compiled_statements()

PROGRAMS = {
    ("tests/tools/debug/test_matrix.py", "tests/tools/debug/test_caged_adapters.py"): ADAPTERS,
    ("tests/tools/code/",): SERVERS,
}
"""Where each of them has a test by day, whatever else of it follows at night."""

_SAID = pytest.StashKey[list[str]]()
_TESTS_PER_MINUTE = {FAST: 640}
_SLOW_PER_MINUTE = 170
"""How many tests one core does, by what is given as `-m`; the second where nothing is told of that."""
_MODULE_SECONDS = 8
"""A file of tests that takes longer in `make test` is named at the end, for `tests/speeds.py`."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of which nothing is to run need not be read: that is most of the time to collect."""
    if collection_path.suffix != ".py" or not (expression := config.option.markexpr):
        return None
    place = collection_path.relative_to(config.rootpath).as_posix()
    return True if f"not {speed(place)}" in expression else None


def pytest_report_header(config: pytest.Config) -> str | None:
    """Thousands of tests take a minute to collect, on a busy machine more: the first lines say so."""
    if not config.getoption("numprocesses", None):
        return None  # their number does not follow either
    return "collecting the tests; their number and time follow (a minute, on a busy machine several) ..."


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    whole_files = not any("::" in given for given in config.args)
    if whole_files and (absent := absent_cases(item.nodeid for item in items)):
        raise pytest.UsageError(f"tests/speeds.py names cases that do not exist: {', '.join(absent)}")
    for item in items:
        if (marker := speed(item.nodeid)) is not None:
            item.add_marker(marker)
        if NIGHT and begins(item.nodeid, REPEATED) is not None:
            item.add_marker("nightly")
    if config.option.markexpr == ALL and [Path(given).name for given in config.args] == ["tests"]:
        by_day = [item.nodeid for item in items if item.get_closest_marker("nightly") is None]
        if lacking := without_tests(by_day, PROGRAMS):
            raise pytest.UsageError(f"tests/speeds.py leaves no test by day: {', '.join(lacking)}")
    last = len(SLOW)
    items.sort(key=lambda item: last if (place := begins(item.nodeid, SLOW)) is None else place)


def pytest_collection_finish() -> None:
    """What is loaded and collected stays: no test's garbage collection need walk it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    WARM.cold = NIGHT or begins(item.nodeid, COLD_STARTS) is not None
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            machine.need(name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """The processes that share the tests collect the same ones: the first says how many there are."""
    if not (said := node.config.stash.setdefault(_SAID, [])):
        rate = _TESTS_PER_MINUTE.get(node.config.option.markexpr, _SLOW_PER_MINUTE)
        minutes = max(1, math.ceil(len(ids) / rate / (os.cpu_count() or 1)))
        said.append(f"\n{len(ids)} tests: up to {minutes} minutes on this machine, where nothing is missing.")
        node.config.get_terminal_writer().line(said[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", ())
    lines = machine.summary(str(one.longrepr[2]) for one in skipped if isinstance(one.longrepr, tuple))
    if lines:
        terminalreporter.section("not tested")
        for line in lines:
            terminalreporter.line(line)
    if terminalreporter.config.option.markexpr == FAST and (slow := _slow_files(terminalreporter)):
        terminalreporter.section("slow files in make test")
        for path, seconds in slow:
            terminalreporter.line(f"{seconds:4.0f} s  {path}")
        terminalreporter.line("On a quiet machine: make them faster, or name them in tests/speeds.py.")


def _slow_files(terminalreporter: pytest.TerminalReporter) -> list[tuple[str, float]]:
    took: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.partition("::")[0]] += report.duration
    return [(path, seconds) for path, seconds in took.most_common() if seconds > _MODULE_SECONDS]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"
    return report
