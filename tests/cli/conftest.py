"""Fixtures of the command line's tests: one daemon for a file of tests, or a home without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.kaged import DaemonProcess, Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home in which no daemon runs."""
    return Home(tmp_path)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon with the project loaded, shared by the tests of one file."""
    with DaemonProcess(Home(tmp_path_factory.mktemp("home"))).start() as running:
        yield running
