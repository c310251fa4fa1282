"""A project with instruction files and skills, and its user's home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, write_project

GUIDED_YAML = PROJECT_YAML + '    skill: { enabled: true }\n    "search.*": { enabled: true }\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def guided(settings_overrides: dict[str, Any], home: Path) -> dict[str, Any]:
    """Settings with which the user's own files count."""
    return {**settings_overrides, "instructions": {"user": True}}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_project(tmp_path / "mono" / "shop", GUIDED_YAML)
    (tmp_path / "mono" / ".git").mkdir()
    return root
