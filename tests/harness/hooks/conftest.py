"""A project that plugins can be added to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.hooks.plugged import PluggedProject


@pytest.fixture
def plugged(tmp_path: Path) -> PluggedProject:
    return PluggedProject(tmp_path / "shop")
