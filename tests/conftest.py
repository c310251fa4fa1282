"""What holds for every test: a skipped test is a failed test where everything must run (CI)."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest

pytest_plugins = ["tests.storage_fixtures"]

LONGEST = (
    "tests/attacks/test_attacks.py",
    "tests/e2e/test_kill.py",
    "tests/harness/delegation/test_tree.py",
    "tests/harness/compaction/test_soak.py",
    "tests/e2e/test_kill_tree.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/bridges/dap/test_lifecycle.py",
    "tests/tools/code/test_every_server.py",
    "tests/bridges/lsp/test_freshness.py",
    "tests/e2e/test_web_page.py",
    "tests/api/test_document_fuzz",
    "tests/bridges/sandbox/",
    "tests/workspace/test_path_races.py",
)
"""Begun first, so that the processes which share the tests end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """What is loaded and collected stays: no test's garbage collection need walk it."""
    gc.collect()
    gc.freeze()


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
