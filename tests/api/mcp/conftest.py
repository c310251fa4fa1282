"""Fixtures: the daemon with the project of `tests.driver.mcp_client` in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.mcp_client import write_shop


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_shop(tmp_path / "shop")


@pytest.fixture
async def daemon(tmp_path: Path, shop: Path, model_settings: dict[str, Any]) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path / "data", **model_settings) as running, running.client() as client:
        loaded = await client.post("/api/v1/projects/load", json={"path": str(shop)})
        assert loaded.status_code == 200, loaded.text
        yield running
