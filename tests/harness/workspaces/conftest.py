"""A daemon with a user's repository as its project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.workspaces import write_repository


@pytest.fixture
def project_root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "shop")
