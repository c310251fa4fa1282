"""A daemon with the project of workflows, and the tool that waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import Shop, write_shop


@pytest.fixture
async def shop(lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Shop]:
    root = write_shop(tmp_path / "shop")
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        driver = Shop(daemon, client)
        await driver.load(root)
        yield driver
