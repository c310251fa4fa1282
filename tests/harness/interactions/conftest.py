"""A daemon over a project whose agent may ask questions, and has tools that wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, driven, write_project
from tests.harness.interactions.asking import ASKING_YAML
from tests.harness.laboratory import Laboratory


@pytest.fixture
def asking_root(tmp_path: Path) -> Path:
    return write_project(tmp_path / "shop", ASKING_YAML)


@pytest.fixture
async def asked(
    lab: Laboratory, asking_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", asking_root, **settings_overrides) as driver:
        yield driver
