"""Fixtures of the interface's tests: a daemon, a project in it, a scripted model behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import Daemon, running_daemon, write_project
from tests.driver.file_reader import FileReader
from tests.fakes.provider_server import FakeProvider


@pytest.fixture
async def model() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as fake:
        yield fake


@pytest.fixture
def model_settings(model: FakeProvider) -> dict[str, Any]:
    """Settings under which the alias `main` is the scripted model."""
    return {
        "models": {"main": ["fake:model-a"]},
        "providers": {"fake": {"driver": "openai", "base_url": f"{model.base_url}/v1", "api_key": "sk-test"}},
    }


@pytest.fixture
async def daemon(tmp_path: Path, model_settings: dict[str, Any]) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path / "data", **model_settings) as running:
        yield running


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[httpx2.AsyncClient]:
    async with daemon.client() as connected:
        yield connected


@pytest.fixture
async def project_id(client: httpx2.AsyncClient, tmp_path: Path) -> str:
    """The id of a loaded project."""
    root = write_project(tmp_path / "shop")
    answer = await client.post("/api/v1/projects/load", json={"path": str(root)})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


@pytest.fixture
async def session_id(client: httpx2.AsyncClient, project_id: str) -> str:
    answer = await client.post("/api/v1/sessions", json={"project_id": project_id, "title": "A test"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture
def shop(tmp_path: Path, project_id: str) -> Path:
    """The folder of the loaded project."""
    return tmp_path / "shop"


@pytest.fixture
def files(client: httpx2.AsyncClient, project_id: str) -> FileReader:
    return FileReader(client, project_id)
