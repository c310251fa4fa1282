"""The sources of the page, with the packages of their lock file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.npm_packages import INSTALL_SECONDS, install

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "web"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of this folder also installs, which may take longer than a test may."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(INSTALL_SECONDS + 180))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with their packages, beside the client that they import."""
    root = tmp_path_factory.mktemp("kaged")
    (root / "clients").symlink_to(ROOT / "clients")
    return install(SOURCE, root / "web", locked=True)
