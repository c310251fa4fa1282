"""A daemon with a scripted model, and a watcher that collects what a session's socket says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.sessions import Driver, driven, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import LAB_YAML, Laboratory


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


@pytest.fixture
def settings_overrides(fake: FakeProvider) -> dict[str, Any]:
    """The alias `main` is the scripted model; tests override parts of it."""
    provider = {"driver": "openai", "base_url": f"{fake.base_url}/v1", "api_key": "sk-test-secret"}
    return {"models": {"main": ["fake:model-a"]}, "providers": {"fake": provider}}


@pytest.fixture
def project_root(tmp_path: Path) -> Path:
    return write_project(tmp_path / "shop")


@pytest.fixture
async def daemon(tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path / "data", **settings_overrides) as running:
        yield running


@pytest.fixture
async def driver(daemon: Daemon, project_root: Path) -> AsyncIterator[Driver]:
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        await driver.new_session()
        yield driver


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """Tools that wait or break, in the registry of every daemon that the test starts."""
    laboratory = Laboratory()
    monkeypatch.setattr("app.daemon.lifespan.build_registry", laboratory.build_registry)
    return laboratory


@pytest.fixture
async def lab_driver(
    lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "lab", LAB_YAML)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver
